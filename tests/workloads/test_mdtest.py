# SPDX-License-Identifier: MIT
"""mdtest's numbers mean different things in each version; the rows say which."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from damaged_output import Survives, damaged
from lockscale.errors import BadInput
from lockscale.workloads import mdtest, parse, recognise
from lockscale.workloads.mdtest_lines import is_summary_of

SAMPLES = Path(__file__).parents[1] / "samples"
TEXTS = {path.stem: path.read_text() for path in sorted(SAMPLES.glob("mdtest-*.txt"))}


def values(name, statistic, test="create"):
    parsed = parse(TEXTS[name])
    return [row.value for row in parsed.rows if (row.statistic, row.test) == (statistic, test)]


def test_3_2_iterations_are_totals_and_its_summary_is_refused():
    parsed = parse(TEXTS["mdtest-3.2.1"])
    assert values("mdtest-3.2.1", "total") == [16613.299, 5408.483, 3145.024]
    assert values("mdtest-3.2.1", "total", "remove") == [409389.093, 195924.880, 189738.325]
    assert [row.iteration for row in parsed.rows] == [1, 1, 2, 2, 3, 3]
    assert {row.threads for row in parsed.rows} == {4}
    assert parsed.version == "1.9.3" and "wrong for -i > 1" in parsed.warnings[0]


def test_3_2_without_v_has_nothing_that_is_right():
    text = "\n".join(
        line.replace(' "-v"', "")
        for line in TEXTS["mdtest-3.2.1"].split("\n") if "ops/sec" not in line
    )  # fmt: skip
    with pytest.raises(BadInput, match="wrong for -i > 1"):
        parse(text)


def test_3_3_summary_is_over_ranks_and_iterations():
    assert values("mdtest-3.3.0", "total") == [10837.878, 9280.603, 8389.149]
    assert values("mdtest-3.3.0", "ranks_mean") == [9626.343]
    assert values("mdtest-3.3.0", "ranks_max", "remove") == [1136403.023]
    assert values("mdtest-3.3.0-quiet", "ranks_sd") == [175.144]
    assert parse(TEXTS["mdtest-3.3.0"]).warnings == ()


def test_4_iterations_are_rank_0_alone_and_its_summary_the_slowest_rank():
    assert values("mdtest-4.0.0", "rank0") == [718.938, 655.081, 949.774]
    assert values("mdtest-4.0.0", "slowest_rank_mean") == [3097.073]
    assert values("mdtest-4.0.0", "slowest_rank_min", "remove") == [168988.880]
    assert values("mdtest-4.1.0", "slowest_rank_sd") == [15460.361]
    assert values("mdtest-4.1.0", "total") == []
    assert parse(TEXTS["mdtest-4.1.0"]).version == "4.1.0+dev"


def test_phases_that_were_not_asked_for_have_no_rows():
    rows = parse(TEXTS["mdtest-4.1.0-create"]).rows
    assert [(row.test, row.statistic, row.value) for row in rows] == [
        ("create", "rank0", 867.433),
        ("create", "slowest_rank", 3468.863),
    ]


def test_an_unknown_version_is_refused_by_name():
    with pytest.raises(BadInput, match=r"mdtest 3\.4\.0\+dev is not known"):
        parse(TEXTS["mdtest-3.3.0"].replace("mdtest-3.3.0", "mdtest-3.4.0+dev"))


def test_the_summary_of_times_is_not_taken_for_rates():
    text = TEXTS["mdtest-4.1.0-create"]
    again = text.replace("SUMMARY rate (in ops/sec)", "SUMMARY time (in ms/op)")
    assert [row.statistic for row in parse(again).rows] == ["rank0"]
    assert any("times" in warning for warning in parse(again).warnings)


def test_a_cut_run_says_that_it_is():
    text = TEXTS["mdtest-4.1.0"]
    parsed = parse(text[: text.index("SUMMARY")])
    assert {row.statistic for row in parsed.rows} == {"rank0"}
    assert "the output ends before mdtest finished" in parsed.warnings


def test_an_iteration_out_of_order_is_refused():
    text = TEXTS["mdtest-4.0.0"]
    first = text[: text.index("main: * iteration 2 *")]
    assert {row.iteration for row in parse(first).rows} == {1}
    with pytest.raises(BadInput, match="iteration 2 follows 0"):
        parse(first.replace("* iteration 1 *", "* iteration 2 *"))


@pytest.mark.parametrize("name", TEXTS)
def test_cut_at_every_byte(name):
    Survives(TEXTS[name]).truncated_everywhere()


@pytest.mark.parametrize("name", TEXTS)
def test_one_line_or_number_changed(name):
    survives = Survives(TEXTS[name])

    @settings(deadline=None, max_examples=200)
    @given(damaged(TEXTS[name]))
    def check(text):
        survives.check(text)

    check()


@given(st.text())
def test_other_text_is_refused(text):
    with pytest.raises(BadInput):
        parse(text)


@settings(max_examples=300)
@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=9), st.booleans())
def test_the_summary_of_any_rates_is_one(rates, sample_sd):
    ddof = 1 if sample_sd and len(rates) > 1 else 0
    printed = (np.max(rates), np.min(rates), np.mean(rates), np.std(rates, ddof=ddof))
    rounded = [float(f"{value:.3f}") for value in printed]
    assert is_summary_of(len(rates), *rounded, sample_sd=bool(ddof))


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=3), st.integers(0, 3), st.floats(1.01, 9))
@example([1.0, 4.0, 158.0], 0, 1.25)
def test_a_changed_summary_of_up_to_three_is_none_where_the_printed_deviation_shows_it(rates, which, factor):
    printed = [np.max(rates), np.min(rates), np.mean(rates), np.std(rates)]
    printed[which] = printed[which] * factor + 1
    if len(rates) == 3:
        # the third value follows from the other numbers; near two equal ones the deviation is flat
        most, least, mean, sd = printed
        assume(abs(np.std([most, least, 3 * mean - most - least]) - sd) > 0.02)
    assert not is_summary_of(len(rates), *map(float, printed), sample_sd=False)


def test_the_command_is_that_of_s1():
    argv = mdtest.command(48, 30000, "/ext4/mdtest.out", as_root=True)
    assert " ".join(argv) == (
        "mpirun --allow-run-as-root --oversubscribe -np 48 mdtest -n 30000 "
        "-d /ext4/mdtest.out -F -C -r -u -i 1 -v"
    )
    assert "-r" not in mdtest.command(4, 10, "/mnt", phase="create")
    assert "--allow-run-as-root" not in mdtest.command(4, 10, "/mnt", as_root=False)
    with pytest.raises(BadInput, match="no phase stat"):
        mdtest.command(4, 10, "/mnt", phase="stat")


def test_find_needs_both_programs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "mdtest").touch(mode=0o755)
    assert mdtest.find() is None
    (tmp_path / "mpirun").touch(mode=0o755)
    assert mdtest.find() == (tmp_path / "mpirun", tmp_path / "mdtest")


def test_the_tool_is_recognised_or_named():
    fsload_text = (SAMPLES / "fsload-0.1.0.jsonl").read_text()
    assert {recognise(text) for text in TEXTS.values()} == {"mdtest"}
    assert recognise(fsload_text) == "fsload"
    with pytest.raises(BadInput, match="tool blktrace is not known"):
        parse(fsload_text, "blktrace")
    with pytest.raises(BadInput, match="not recognised"):
        parse("")


def test_json_has_the_keys_that_scripts_rely_on():
    value = parse(TEXTS["mdtest-4.0.0"]).to_json()
    assert set(value) == {"tool", "version", "rows", "warnings"}
    keys = {"test", "threads", "iteration", "metric", "unit", "value", "statistic"}
    assert all(set(row) == keys for row in value["rows"])
