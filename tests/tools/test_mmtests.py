# SPDX-License-Identifier: MIT
"""mmtests' comparison tables, as quoted in public mails and commits.

mmtests-creat_clo.txt: Jan Kara, patch 5/5 of the orphan file (20210816092309.26842-5-jack@suse.cz), as
in data/published. mmtests-kernbench-by-hand.txt and mmtests-netperf-by-hand.txt have made-up numbers.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tables import published
from lockscale.tools import mmtests
from lockscale.tools.parsed_rows import change_fits, runs_averaged
from lockscale.tools.registry import parse

SAMPLES = Path(__file__).parents[1] / "samples"
CREAT_CLO, NETPERF, KERNBENCH = (
    (SAMPLES / f"mmtests-{name}.txt").read_text()
    for name in ("creat_clo", "netperf-by-hand", "kernbench-by-hand")
)


def test_the_published_creat_clo_table_comes_back():
    found = {
        (row.arm, row.threads, row.unit): (row.value, "starred" in row.statistic)
        for row in parse(CREAT_CLO).rows
    }
    table = published("s4_creat_clo")
    # The base's own change, 0.00%, makes no row.
    table = table[(table.metric == "throughput") | (table.arm_published == "Patched")]
    expected = {
        (row.arm_published, row.threads, row.unit): (row.value, str(row.starred).lower() == "true")
        for row in table.itertuples()
    }
    assert found == expected and len(found) == 48
    assert {row.test for row in parse(CREAT_CLO).rows} == {"creat_clo"}


def test_what_the_statistic_is_called():
    rows = parse(CREAT_CLO).rows
    assert {row.statistic for row in rows} == {
        "mean_of_5", "mean_of_5_change", "mean_of_5_change_starred",
    }  # fmt: skip
    unsaid = parse(CREAT_CLO.partition("\n")[2]).rows
    assert {row.statistic for row in unsaid} == {"not stated", "change", "change_starred"}


def test_netperf_by_hand():
    rows = [(r.test, r.threads, r.metric, r.unit, r.value, r.statistic, r.arm) for r in parse(NETPERF).rows]
    assert rows[:3] == [
        ("64", None, "rate", "not stated", 800.00, "hmean", "tip"),
        ("64", None, "rate", "not stated", 788.00, "hmean", "+rwk+fix"),
        ("64", None, "rate", "%", -1.50, "hmean_change_starred", "+rwk+fix"),
    ]
    assert rows[-1] == ("1024", None, "value", "%", -217.00, "stddev_change", "+rwk+fix")
    assert len(rows) == 24


def test_of_times_a_change_above_zero_is_less_time():
    rows = {(r.test, r.statistic): r.value for r in parse(KERNBENCH).rows if r.arm == "resetpcpu-v1r1"}
    assert (rows["elsp-256", "amean"], rows["elsp-256", "amean_change_starred"]) == (120.00, 20.00)
    assert rows["user-256", "amean_change_starred"] == -25.00


def test_columns_of_one_name_take_their_version_too():
    text = KERNBENCH.replace("resetpcpu-v1r1", "       vanilla").replace(
        "5.4.0-rc3              5.4.0-rc3", "5.4.0-rc3              5.5.0-rc1"
    )
    assert {row.arm for row in parse(text).rows} == {"5.4.0-rc3-vanilla", "5.5.0-rc1-vanilla"}
    with pytest.raises(BadInput, match="a different name"):
        parse(text.replace("5.5.0-rc1", "5.4.0-rc3"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("788.00", "789.00"),
        ("-1.50", "-1.60"),
        ("800.00 (   0.00%)", "800.00 (   0.10%)"),
        ("     800.00", "       0.00"),
    ],
)
def test_a_row_whose_change_does_not_follow_from_its_values_is_left_out(old, new):
    parsed = parse(NETPERF.replace(old, new))
    assert ("64", "hmean") not in {(row.test, row.statistic) for row in parsed.rows}
    assert parsed.warnings[0].startswith("line 4 is left out")


def test_another_table_in_the_text_is_not_mixed_in():
    both = f"{KERNBENCH}\nDuration User       39766.24    47802.92\n\n{NETPERF}"
    parsed = parse(both)
    assert len(parsed.rows) == len(parse(KERNBENCH).rows)
    assert any("from another table" in warning for warning in parsed.warnings)


def test_tables_of_other_tools_are_refused():
    assert not mmtests.recognise("| base | 1.00 (  0.00%) |")
    with pytest.raises(BadInput, match="no row of an mmtests table"):
        mmtests.parse("a table\n1 2 3\n")


@given(st.floats(1, 1e6), st.floats(0, 1e6), st.booleans(), st.integers(0, 2))
def test_any_change_fits_rounded_or_truncated(before, after, rounded, digits):
    def shown(value):
        return f"{value:.{digits}f}" if rounded else f"{int(value * 10**digits) / 10**digits:.{digits}f}"

    if float(shown(before)) > 10.0**-digits:
        assert change_fits(shown(before), shown(after), shown((after / before - 1) * 100))


@given(st.integers(10**3, 10**6), st.integers(0, 10**7), st.sampled_from([-1, 1]))
def test_a_change_that_is_one_percent_off_does_not_fit(before, after, sign):
    change = (after / before - 1) * 100 + sign * (1 + 0.2 * after / before)
    assert not change_fits(str(before), str(after), f"{change:.2f}")


def test_the_number_of_runs_is_taken_from_the_prose():
    assert runs_averaged("ramdisk, average of 5 runs:") == "mean_of_5"
    assert runs_averaged("average of 5 runs and average of 3 runs") == "not stated"


@pytest.mark.parametrize("table", [CREAT_CLO, NETPERF, KERNBENCH])
def test_a_quoted_table_is_the_same_table(table: str):
    quoted = "Somebody wrote:\n" + "".join(f"> {line}\n" for line in table.splitlines())
    assert parse(quoted, "mmtests").rows == parse(table, "mmtests").rows
