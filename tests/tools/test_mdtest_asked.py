# SPDX-License-Identifier: MIT
"""The command line that mdtest repeats says which phases, how often and what is printed."""

import pytest

from lockscale.errors import BadInput
from lockscale.tools.mdtest_command import read_command


@pytest.mark.parametrize("flags", ["-i 3 -v -C -r", "-i=3 -vCr", "-i3 -V=2 -Cr", "-i 3 -V 1 -C -r"])
def test_each_way_to_write_an_option(flags):
    asked = read_command(f"mdtest -n 100 -F {flags} -d /mnt/test", "4.0.0")
    assert (asked.repeats, asked.verbose, asked.tests) == (3, True, {"create", "remove"})


def test_without_a_phase_all_run_and_renaming_from_4_on():
    files, folders = {"create", "stat", "read", "remove"}, {"dir_create", "dir_stat", "dir_remove"}
    assert read_command("mdtest -n 10", "3.3.0").tests == files | folders
    assert read_command("mdtest -n 10", "4.0.0").tests == files | folders | {"dir_rename"}
    assert read_command("mdtest -n 10 -D", "4.1.0+dev").tests == folders | {"dir_rename"}
    assert read_command("mdtest -n 10 -D -F", "3.3.0").tests == files | folders
    assert read_command("mdtest -n 10 -D -C -U -r", "4.1.0+dev").tests == folders - {"dir_stat"} | {
        "dir_rename"
    }
    assert read_command("mdtest -C=0 -T", "4.0.0").tests == {"stat", "dir_stat"}


def test_rates_times_or_both():
    assert read_command("mdtest", "4.0.0").metrics == {"rate"}
    assert read_command("mdtest -Z", "4.0.0").metrics == {"time"}
    assert (
        read_command("mdtest -P", "4.0.0").metrics
        == read_command("mdtest -Z -P", "4.0.0").metrics
        == {"rate", "time"}
    )


def test_a_value_behind_its_option_is_no_flag():
    assert read_command("mdtest -dScratch -n10 -F -C", "3.3.0").tests == {"create"}
    assert read_command("mdtest -n 10 -FCd/mnt/T", "3.3.0").tests == {"create"}
    assert not read_command("mdtest -n 10 -dWorst", "4.0.0").by_time


@pytest.mark.parametrize("flag, what", [("-S", "one shared file"), ("-c", "task 0 creates for all")])
def test_another_load_is_refused(flag, what):
    with pytest.raises(BadInput, match=what):
        read_command(f"mdtest -n 10 {flag}", "4.0.0")


@pytest.mark.parametrize("command", ["mdtest '-n", "mdtest -i", "mdtest -i 0", "mdtest -i " + "9" * 16])
def test_a_damaged_command_line_is_refused(command):
    with pytest.raises(BadInput, match="damaged"):
        read_command(command, "4.0.0")
