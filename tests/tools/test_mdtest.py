# SPDX-License-Identifier: MIT
"""mdtest's numbers mean different things in each version; the rows say which."""

import re
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools import mdtest_command
from lockscale.tools.registry import parse, recognise

SAMPLES = Path(__file__).parents[1] / "samples"
TEXTS = {path.stem: path.read_text() for path in sorted(SAMPLES.glob("mdtest-*"))}


def values(name, statistic, test="create"):
    parsed = parse(TEXTS[name])
    return [row.value for row in parsed.rows if (row.statistic, row.test) == (statistic, test)]


def test_3_2_iterations_are_totals_and_its_summary_is_refused():
    parsed = parse(TEXTS["mdtest-3.2.1"])
    assert values("mdtest-3.2.1", "total") == [16613.299, 5408.483, 3145.024]
    assert values("mdtest-3.2.1", "total", "remove") == [409389.093, 195924.880, 189738.325]
    assert [row.iteration for row in parsed.rows] == [1, 1, 2, 2, 3, 3]
    assert {row.threads for row in parsed.rows} == {4}
    assert parsed.version == "1.9.3" and "wrongly for -i > 1" in parsed.warnings[0]


def test_3_2_without_v_has_nothing_that_is_right():
    text = "\n".join(
        line.replace(' "-v"', "")
        for line in TEXTS["mdtest-3.2.1"].split("\n") if "ops/sec" not in line
    )  # fmt: skip
    with pytest.raises(BadInput, match="wrongly for -i > 1"):
        parse(text)


def test_3_3_summary_is_over_ranks_and_iterations():
    assert values("mdtest-3.3.0", "total") == [10837.878, 9280.603, 8389.149]
    assert values("mdtest-3.3.0", "ranks_mean") == [9626.343]
    assert values("mdtest-3.3.0", "ranks_max", "remove") == [1136403.023]
    assert values("mdtest-3.3.0-quiet", "ranks_sd") == [175.144]
    assert parse(TEXTS["mdtest-3.3.0"]).warnings == ()


def test_a_mean_above_the_maximum_is_told():
    text = TEXTS["mdtest-3.3.0"]
    (line,) = [one for one in text.splitlines() if one.startswith("   File creation ")]
    mean, number = line.split()[5], text.splitlines().index(line) + 1
    said = parse(text.replace(line, line.replace(mean, f"9{mean}")))
    assert f"line {number}: the mean is not between the minimum and the maximum" in said.warnings


def test_4_iterations_are_rank_0_alone_and_its_summary_the_slowest_rank():
    assert values("mdtest-4.0.0", "rank0_to_barrier") == [718.938, 655.081, 949.774]
    assert values("mdtest-4.0.0", "slowest_rank_mean") == [3097.073]
    assert values("mdtest-4.0.0", "slowest_rank_min", "remove") == [168988.880]
    assert values("mdtest-4.1.0", "slowest_rank_sd") == [15460.361]
    assert values("mdtest-4.1.0", "total") == []
    assert parse(TEXTS["mdtest-4.1.0"]).version == "4.1.0+dev"


def test_phases_that_were_not_asked_for_have_no_rows():
    rows = parse(TEXTS["mdtest-4.1.0-create"]).rows
    assert [(row.test, row.statistic, row.value) for row in rows] == [
        ("create", "rank0_to_barrier", 867.433),
        ("create", "slowest_rank", 3468.863),
    ]


def test_the_last_3_3_is_read_as_3_3_0_is():
    parsed = parse(TEXTS["mdtest-3.3.1-dirs"])
    assert parsed.version == "3.3.1+dev" and parsed.warnings == ()
    assert values("mdtest-3.3.1-dirs", "ranks_max", "dir_create") == [397322.839]
    assert values("mdtest-3.3.1-dirs", "ranks_sd", "dir_stat") == [1049.696]
    assert {row.test for row in parsed.rows} == {"dir_create", "dir_stat", "dir_remove"}


@pytest.mark.parametrize("version", ["4.0.0rc1", "4.0.1rc1+dev", "4.1.0+dev"])
def test_what_4_0_0_prints_means_the_same_in_its_neighbours(version):
    text = TEXTS["mdtest-4.0.0"]
    assert parse(text.replace("mdtest-4.0.0 ", f"mdtest-{version} ")).rows == parse(text).rows


@pytest.mark.parametrize("version", ["1.8.3", "3.3.0+dev", "4.1.0", "4.2.0"])
def test_an_unknown_version_is_refused_by_name(version):
    with pytest.raises(BadInput, match=re.escape(f"mdtest {version} is not known: this reads 1.9.3")):
        parse(TEXTS["mdtest-3.3.0"].replace("mdtest-3.3.0", f"mdtest-{version}"))


def test_a_version_whose_numbers_changed_their_meaning_is_refused_with_that_reason():
    """IOR's repository from "Increased version number" of June 2020 to "Update version number" of 2023."""
    with pytest.raises(BadInput, match=r"mdtest 3\.4\.0\+dev is what development was called .* a release"):
        parse(TEXTS["mdtest-3.3.0"].replace("mdtest-3.3.0", "mdtest-3.4.0+dev"))


def test_failed_operations_are_said_to_be_in_the_rates():
    text = TEXTS["mdtest-4.1.0-create"]
    said = text.replace("\nSUMMARY", "\nWARNING: unable to stat file /mnt/test/f\n\nSUMMARY")
    assert parse(said).rows == parse(text).rows
    assert "printed 1 warnings or errors, the first in line" in parse(said).warnings[0]
    read_bytes = text.replace("\nSUMMARY", "\nWARNING: Read bytes is 0, thus, a read test\n\nSUMMARY")
    assert parse(read_bytes).warnings == ()


def test_a_cut_run_says_that_it_is():
    text = TEXTS["mdtest-4.1.0"]
    parsed = parse(text[: text.index("SUMMARY")])
    assert {row.statistic for row in parsed.rows} == {"rank0_to_barrier"}
    assert "the output ends before mdtest finished" in parsed.warnings


def test_an_iteration_out_of_order_is_refused():
    text = TEXTS["mdtest-4.0.0"]
    first = text[: text.index("main: * iteration 2 *")]
    assert {row.iteration for row in parse(first).rows} == {1}
    with pytest.raises(BadInput, match="iteration 2 follows 0"):
        parse(first.replace("* iteration 1 *", "* iteration 2 *"))


def test_the_command_is_that_of_s1():
    argv = mdtest_command.command(48, 30000, "/ext4/mdtest.out")
    assert " ".join(argv) == (
        "mpirun --allow-run-as-root --oversubscribe -np 48 mdtest -n 30000 "
        "-d /ext4/mdtest.out -F -C -r -u -i 1 -v"
    )
    assert "-r" not in mdtest_command.command(4, 10, "/mnt", phase="create")
    with pytest.raises(BadInput, match="no phase stat"):
        mdtest_command.command(4, 10, "/mnt", phase="stat")


def test_the_tool_is_recognised_or_named():
    fsload_text = (SAMPLES / "fsload-0.1.0.jsonl").read_text()
    assert {recognise(text) for text in TEXTS.values()} == {"mdtest"}
    assert recognise(fsload_text) == "fsload"
    with pytest.raises(BadInput, match="tool blktrace is not known"):
        parse(fsload_text, "blktrace")
    with pytest.raises(BadInput, match="no known tool prints what begins with '1 2 3'"):
        parse("1 2 3\n")


def test_json_has_the_keys_that_scripts_rely_on():
    value = parse(TEXTS["mdtest-4.0.0"]).to_json()
    assert set(value) == {"tool", "version", "rows", "warnings"}
    keys = {"test", "threads", "iteration", "metric", "unit", "value", "statistic"}
    assert all(set(row) == keys for row in value["rows"])


@pytest.mark.parametrize("name", ["mdtest-3.2.1", "mdtest-3.3.0", "mdtest-4.0.0"])
@pytest.mark.parametrize(
    "line",
    [
        'ior WARNING: [RANK 003]: unlink() of file "/mnt/test/f" failed',
        "V-1: Rank   1 Line   412 WARNING: unable to stat file /mnt/test/f",
        "  WARNING: unlink() failed",
        "mdtest: failed to remove /mnt/test/f",
        "ior ERROR: unlink(): Permission denied",
    ],
)
def test_whatever_way_a_rank_says_that_it_failed_there_is_a_warning(name, line):
    text = TEXTS[name].replace("\nSUMMARY", f"\n{line}\n\nSUMMARY", 1)
    assert parse(text).rows == parse(TEXTS[name]).rows
    assert "the run printed 1 warnings or errors" in parse(text).warnings[0]


def test_a_folder_may_be_called_failed():
    text = TEXTS["mdtest-4.0.0"].replace("/mnt/scratch", "/mnt/failed")
    assert parse(text) == parse(TEXTS["mdtest-4.0.0"])


def test_what_is_behind_the_end_is_said_not_to_be_read():
    behind = TEXTS["mdtest-4.0.0"] + "\nother 1 2 3\n"
    assert parse(behind).rows == parse(TEXTS["mdtest-4.0.0"]).rows
    assert "line 46 and what follows are not mdtest's and are not read" in parse(behind).warnings


def test_an_older_banner_is_refused_by_its_version():
    old = "mdtest-1.8.4 was launched with 4 total task(s) on 1 nodes\n"
    with pytest.raises(BadInput, match=r"mdtest 1\.8\.4 is not known"):
        parse(old)
