# SPDX-License-Identifier: MIT
"""mdtest 4.x gives each process's own rate and time: in its output, and in a csv."""

from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools.registry import parse, recognise

SAMPLES = Path(__file__).parents[1] / "samples"
TEXT = (SAMPLES / "mdtest-4.0.0-processes.txt").read_text()  # 3 ranks, 2 iterations, 3000 items each
CSV = (SAMPLES / "mdtest-4.0.0-ranks.csv").read_text()  # of the same run
CSV_DIRS = (SAMPLES / "mdtest-4.0.0-ranks-dirs.csv").read_text()  # the same with directories
CSV_4_1 = (SAMPLES / "mdtest-4.1.0-ranks.csv").read_text()  # 2 ranks, 3 iterations, 4000 items each
ALONE = ("rank0", "rank1", "rank2")


def table(text):
    return {(r.test, r.metric, r.statistic, r.iteration): r.value for r in parse(text).rows}


def test_each_process_has_its_own_rate_and_time():
    rows = table(TEXT)
    assert rows["create", "rate", "rank1", 1] == 45503.54
    assert rows["create", "time", "rank1", 1] == 0.06592894
    assert rows["remove", "rate", "rank2", 2] == 29087.79
    assert rows["stat", "time", "rank0", 2] == 0.04388618
    assert rows["create", "rate", "slowest_rank_min", None] == 62539.117
    assert rows["create", "time", "ranks_alone_max", None] == 0.121
    assert parse(TEXT).warnings == () and {row.threads for row in parse(TEXT).rows} == {3}


def test_the_statistics_of_ranks_are_those_of_the_processes():
    rows = table(TEXT)
    for test in ("create", "stat", "read", "remove"):
        alone = [rows[test, "rate", whose, i] for whose in ALONE for i in (1, 2)]
        for name, value in (("max", max(alone)), ("min", min(alone)), ("mean", sum(alone) / 6)):
            assert rows[test, "rate", f"ranks_alone_{name}", None] == pytest.approx(value, rel=1e-6)


def test_a_line_that_lacks_a_process_is_left_out():
    cut = TEXT.replace(",7.681500e+04", "", 1)
    rows = table(cut)
    assert cut != TEXT and ("create", "rate", "rank0", 1) not in rows and ("stat", "rate", "rank0", 1) in rows
    assert "values of some processes are missing" in " ".join(parse(cut).warnings)


def test_the_csv_has_what_the_output_has_with_more_digits():
    assert recognise(CSV) == "mdtest" and parse(CSV).version == "4.x"
    text, csv = table(TEXT), table(CSV)
    assert csv["create", "rate", "rank1", 1] == 45503.540354
    assert csv["remove", "time", "rank2", 2] == 1.0313606262e-01
    alone = [key for key in csv if key[2] in ALONE]
    assert len(alone) == 4 * 2 * 3 * 2  # phases, metrics, ranks, iterations
    assert all(csv[key] == pytest.approx(text[key], rel=1e-6) for key in alone)


def test_all_is_the_slowest_rank_of_the_first_iteration():
    text, csv = table(TEXT), table(CSV)
    assert csv["create", "rate", "slowest_rank", 1] == 97223.9032
    assert text["create", "rate", "slowest_rank_max", None] == 97223.903
    assert csv["create", "time", "slowest_rank", 1] == 9.2569828033e-02  # 9000 / 97223.9032
    assert csv["remove", "rate", "slowest_rank", 1] == 90475.078374
    assert {key[3] for key in csv if key[2] == "slowest_rank"} == {1}


def test_all_of_4_0_counts_one_rank_for_two_phases():
    # `all` says 23104.997 directories a second; the summary of that run said 3 x that, 69314.991
    assert "all,3000,2.3104996906e+04" in CSV_DIRS
    rows = table(CSV_DIRS)
    whose = {statistic for test, _, statistic, _ in rows if test in ("dir_create", "dir_stat")}
    assert whose == set(ALONE)
    assert rows["dir_remove", "rate", "slowest_rank", 1] == 83307.923014
    assert "dir_create of all, iteration 1: not of 9000 items" in " ".join(parse(CSV_DIRS).warnings)


def test_directories_are_not_read():
    assert ",inf,0.0000000000e+00," in CSV_DIRS
    assert "dir_read" not in {test for test, *_ in table(CSV_DIRS)}
    line = "iteration: 0\nTest Directory read inf,3.145728e+09,inf"
    assert parse(TEXT.replace("iteration: 0", line)) == parse(TEXT)


def test_the_csv_of_three_iterations():
    rows = table(CSV_4_1)
    assert rows["create", "rate", "rank1", 1] == 138073.85461
    assert rows["create", "rate", "rank1", 3] == 45391.058263
    assert rows["remove", "time", "rank0", 2] == 5.7193040848e-02
    assert {test for test, *_ in rows} == {"create", "remove"}
    assert parse(CSV_4_1).warnings == (
        "the file does not say how many iterations ran: it has 3 complete ones",
    )


@pytest.mark.parametrize("gone", range(2, 7))
def test_a_missing_or_doubled_row_is_refused(gone):
    lines = CSV.split("\n")
    with pytest.raises(BadInput, match="not in order"):
        parse("\n".join(lines[:gone] + lines[gone + 1 :]))
    with pytest.raises(BadInput, match="not in order"):
        parse("\n".join(lines[: gone + 1] + lines[gone:]))


def test_a_row_that_is_there_twice_is_refused_also_of_one_rank():
    one = CSV_4_1.split("\n")
    total = one[1].replace("1.6126433765e+05", "8.0632168823e+04")
    total = total.replace("6.6354807962e+04", "3.3177403981e+04")  # 4000 items, so one rank
    assert {row.threads for row in parse("\n".join([one[0], total, one[2], one[4]])).rows} == {1}
    with pytest.raises(BadInput, match="twice"):
        parse("\n".join([one[0], total, one[2], one[2]]))


def test_a_changed_number_in_the_csv_is_left_out():
    changed = parse(CSV.replace("4.5503540354e+04", "4.5503540355e+04"))
    assert ("create", "rate", "rank1", 1) in table(CSV)
    assert len(changed.rows) == len(parse(CSV).rows)  # the eleventh digit is the rounding's
    changed = parse(CSV.replace("4.5503540354e+04", "4.5503640354e+04"))
    assert len(changed.rows) == len(parse(CSV).rows) - 2
    assert "create of 1, iteration 1: not of 3000 items" in " ".join(changed.warnings)


def test_the_number_of_ranks_must_be_told():
    with pytest.raises(BadInput, match="how many ranks"):
        parse(CSV.replace("all,3000,", "all,3001,"))
