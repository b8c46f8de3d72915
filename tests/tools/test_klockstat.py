# SPDX-License-Identifier: MIT
"""klockstat of bcc and of libbpf-tools: both samples follow their sources."""

from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools.registry import profile_of

SAMPLES = Path(__file__).parents[1] / "samples"


def sample(name):
    return (SAMPLES / f"{name}.txt").read_text()


def test_klockstat_has_waits_and_holds_of_each_caller():
    found = profile_of(sample("klockstat-by-hand")).match("get_free_entry")
    assert (found.wait_ns, found.max_ns, found.acquisitions, found.hold_ns) == (5667, 4210, 2, 85_116)
    other = profile_of(sample("klockstat_libbpf-by-hand")).match("get_free_entry")
    assert (other.wait_ns, other.mean_ns, other.hold_ns) == (5700, 2800, 85_100)


def test_the_line_with_which_klockstat_ends_is_no_row():
    profile = profile_of(sample("klockstat_libbpf-by-hand") + "Exiting trace of mutex/sem locks\n")
    assert not any("left out" in one for one in profile.warnings)


def test_klockstat_leaves_a_row_out_whose_total_is_another_rows():
    profile = profile_of(sample("klockstat-by-hand").replace("5468      18379", "5468       5667"))
    assert any("line 4 is left out, its total is not count x average" in one for one in profile.warnings)
    with pytest.raises(BadInput, match="write_cache_pages is not in the profile"):
        profile.match("write_cache_pages")


def test_klockstat_has_a_row_for_each_stack_of_a_caller():
    """bcc's keys are stacks, of which it prints one function."""
    again = "                      get_free_entry+0x22       1833      2       2210       3667\n"
    held = "                      get_free_entry+0x22      14821      5      20446      74106\n"
    text = sample("klockstat-by-hand").replace("\n\n", f"\n{again}\n") + held
    profile = profile_of(text)
    found = profile.match("get_free_entry")
    assert (found.wait_ns, found.max_ns, found.acquisitions) == (5667 + 3667, 4210, 4)
    assert (found.mean_ns, found.hold_ns) == (pytest.approx(9334 / 4), 85_116 + 74_106)
    assert any(
        "2 rows of get_free_entry+0x22, one for each stack, are added up" in one for one in profile.warnings
    )
    with pytest.raises(BadInput, match=r"line 8 is line 7 again: .* no line copied"):
        profile_of(text.replace(again, again * 2))
    waits, _, holds = sample("klockstat-by-hand").partition("\n\n")
    with pytest.raises(BadInput, match=r"line 7 repeats a caller, and the header between the two is missing"):
        profile_of(f"{waits}\n{holds.partition(chr(10))[2]}")
    with pytest.raises(BadInput, match=r"line 7 repeats a caller, and several outputs are in the text"):
        profile_of(text * 2)


def test_klockstat_may_print_a_name_as_bytes():
    """As tools of bcc do with Python 3 where nobody decoded it."""
    bytes_of = sample("klockstat-by-hand").replace("get_free_entry+0x22", "b'get_free_entry'")
    assert profile_of(bytes_of).match("get_free_entry").wait_ns == 5667


def test_klockstat_may_miss_a_stack():
    missed = "                   [Missed Kernel Stack]       3914      1       3914       3914\n"
    profile = profile_of(sample("klockstat-by-hand").replace("\n\n", f"\n{missed}\n"))
    assert profile.entries == profile_of(sample("klockstat-by-hand")).entries
    assert (
        "line 7 is left out, bcc has no stack of it: whose 3914 ns they are is not known" in profile.warnings
    )


def test_stacks_that_klockstat_lost_are_said():
    said = "WARNING: 12 stack traces lost and could not be displayed."
    profile = profile_of(f"{sample('klockstat-by-hand')}\n{said}\n")
    assert any(one.endswith(f": not all is there: {said}") for one in profile.warnings)


def test_klockstat_of_libbpf_tools_does_not_say_whether_a_lock_is_a_mutex():
    """It traces rwsems, too; bcc's traces mutexes alone."""
    kinds = [
        profile_of(sample(f"{name}-by-hand")).match("get_free_entry").kinds
        for name in ("klockstat", "klockstat_libbpf")
    ]
    assert kinds == [("mutex",), ()]
