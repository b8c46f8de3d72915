# SPDX-License-Identifier: MIT
"""mds-survey: two runs published in LU-9796, and the script's own formatting.

mds-survey-1.* and -2.* were printed by the real script (lustre-iokit/mds-survey/mds-survey of
lustre-release, August 2026) over a stand-in for lctl, which prints what lustre/utils/obd.c does, from
numbers drawn at random: no Lustre was measured.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tables import published
from lockscale.tools.registry import parse

SAMPLES = Path(__file__).parents[1] / "samples"
TEXTS = {path.name: path.read_text() for path in sorted(SAMPLES.glob("mds-survey-*"))}
README = (
    "mdt 1 file  100000 dir    4 thr    4 create 5652.05 [ 999.01,46940.48] "
    "destroy 5797.79 [   0.00,52951.55]"
)


def values(text):
    return {(row.test, row.threads, row.statistic): row.value for row in parse(text).rows}


@pytest.mark.parametrize(("name", "arm"), [("slow", "slow-retry"), ("fast", "fast-retry")])
def test_the_published_runs_are_the_published_table(name, arm):
    table = published("s2_mds_survey")
    expected = table[table.arm == arm].set_index("statistic").value
    parsed = parse(TEXTS[f"mds-survey-lu-9796-{name}.summary"])
    assert {row.statistic: row.value for row in parsed.rows} == {
        "total": expected["overall"],
        "total_interval_min": expected["min"],
        "total_interval_max": expected["max"],
    }
    assert {(row.test, row.threads, row.unit) for row in parsed.rows} == {("create", 48, "ops/s")}
    assert parsed.warnings == ()


def test_the_example_of_the_readme_has_the_older_format():
    assert values(README) == {
        ("create", 4, "total"): 5652.05,
        ("create", 4, "total_interval_min"): 999.01,
        ("create", 4, "total_interval_max"): 46940.48,
        ("destroy", 4, "total"): 5797.79,
        ("destroy", 4, "total_interval_min"): 0.0,
        ("destroy", 4, "total_interval_max"): 52951.55,
    }


def test_over_several_mdts_the_older_script_printed_the_first_ones_rate():
    with pytest.raises(BadInput, match="before LU-3624 this is the rate of the first MDT alone"):
        parse(README.replace("mdt 1", "mdt 2"))


def test_one_mdt_by_hand():
    found = values(TEXTS["mds-survey-1.summary"])
    assert found["lookup", 8, "total"] == 7888.90
    assert (found["create", 4, "total_interval_min"], found["create", 4, "total_interval_max"]) == (
        3340.47,
        8422.02,
    )


def test_a_rate_outside_its_own_seconds_is_left_out_of_the_summary_and_told_by_the_detail():
    """Short runs have one: the seconds count only while all threads work, the rate from start to end."""
    parsed = parse(TEXTS["mds-survey-1.summary"])
    assert ("destroy", 4) not in {(row.test, row.threads) for row in parsed.rows}
    assert parsed.warnings[0] == (
        "line 2: destroy is left out: its rate is outside the minimum and maximum of its seconds"
    )
    assert values(TEXTS["mds-survey-1.detail"])["destroy", 4, "total"] == pytest.approx(10227.52, abs=0.005)


def test_of_several_mdts_the_rate_is_their_mean():
    summary, detail = values(TEXTS["mds-survey-2.summary"]), values(TEXTS["mds-survey-2.detail"])
    assert summary["create", 8, "per_mdt_mean"] == 8418.25
    each = [detail["create", 8, f"mdt{k}"] for k in (0, 1)]
    assert sum(each) / 2 == pytest.approx(8418.25, abs=0.005)
    assert summary["create", 8, "mdt_interval_max"] == 13196.20
    assert max(detail["create", 8, f"mdt{k}_interval_max"] for k in (0, 1)) == pytest.approx(
        13196.2, abs=0.005
    )


def test_a_test_that_failed_has_no_rows_and_a_warning():
    for name, said in (("summary", "mds-survey printed ERROR"), ("detail", "it failed on an MDT")):
        parsed = parse(TEXTS[f"mds-survey-2.{name}"])
        assert not [row for row in parsed.rows if (row.test, row.threads) == ("destroy", 8)]
        assert any("destroy with 8 threads" in warning and said in warning for warning in parsed.warnings)


def test_the_command_line_tells_which_lines_are_lost():
    asked = "thrlo=4 thrhi=16 file_count=30000 dir_count=4 'tests_str=create destroy'"
    text = f"$ env {asked} mds-survey\n{TEXTS['mds-survey-2.summary']}"
    assert not [w for w in parse(text).warnings if "lost" in w or "no line" in w]
    without = "".join(line for line in text.splitlines(keepends=True) if "thr    4" not in line)
    assert "there is no line for 4 threads" in parse(without).warnings
    assert any("a lost one" in warning for warning in parse(TEXTS["mds-survey-2.summary"]).warnings)


def test_two_runs_at_once_are_refused():
    both = TEXTS["mds-survey-lu-9796-slow.summary"] + TEXTS["mds-survey-lu-9796-fast.summary"]
    with pytest.raises(BadInput, match="two mds-survey runs"):
        parse(both)


def detail(mdts, files, threads, seconds):
    """obd.c's lines, and get_stats() of the script, written again: seconds of each MDT in ops/s."""
    out = [f"=======> mdt {mdts} file {files:7d} dir {threads:4d} thr {threads:4d} "]
    sums = []
    for k in range(mdts):
        out.append(f"=============> create -c 0 host:lustre-MDT000{k}_ecc")
        out += [f"{threads}/{threads} Total: {rate:f}/second" for rate in seconds]
        total, elapsed = files // threads * threads, len(seconds) + 0.5
        rate = total / elapsed
        out.append(f"Total: total {total} threads {threads} sec {elapsed:f} {rate:f}/second")
        low, high = (min(seconds), max(seconds)) if seconds else (rate, rate)
        sums.append(f"{len(seconds) + 1} {rate:f} {low:f} {high:f}")
    return "\n".join(
        [*out, "=============> create -c 0 global", *sums, "====> Destroy 4 directories on host:a", ""]
    )


rates = st.lists(st.integers(0, 10**10).map(lambda n: n / 10**4), max_size=4)


@given(st.integers(1, 3), st.integers(1, 64), st.integers(64, 10**6), rates)
def test_any_detail_is_read(mdts, threads, files, seconds):
    found = values(detail(mdts, files, threads, seconds))
    names = ["total"] if mdts == 1 else [f"mdt{k}" for k in range(mdts)]
    for name in names:
        expected = files // threads * threads / (len(seconds) + 0.5)
        assert found["create", threads, name] == pytest.approx(expected, abs=1e-6)
    assert len(found) == len(names) * (3 if seconds else 1)
