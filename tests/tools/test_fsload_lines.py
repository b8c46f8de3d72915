# SPDX-License-Identifier: MIT
"""fsload's JSON lines: every number is held against the others."""

from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools.registry import parse

SAMPLES = Path(__file__).parents[1] / "samples"
TEXT = (SAMPLES / "fsload-0.1.0.jsonl").read_text()
FALLOCATE2 = (SAMPLES / "fsload-0.1.0-fallocate2.jsonl").read_text()
TRUNCATE_ORPHAN = (SAMPLES / "fsload-0.1.0-truncate_orphan.jsonl").read_text()
LATENCIES = (SAMPLES / "fsload-0.2.0.jsonl").read_text()
CONTAINERS = (SAMPLES / "fsload-0.2.0-containers.jsonl").read_text()
CREAT_CLO = (SAMPLES / "fsload-0.2.0-creat_clo.jsonl").read_text()


def test_rows_by_hand():
    rows = parse(TEXT).rows
    assert {(row.threads, row.iteration, row.unit) for row in rows} == {(3, 1, "ops/s")}
    assert [(row.test, row.statistic, row.value) for row in rows[:2]] == [
        ("create", "total", 100602.677),  # 300 / (1878.618200337 - 1878.615218309)
        ("create", "slowest_rank", 100602.677),  # process 0 was the first and the last
    ]
    assert [(row.test, row.statistic, row.value) for row in rows[5:7]] == [
        ("remove", "total", 151578.309),  # 300 / (1878.620181851 - 1878.618202676)
        ("remove", "slowest_rank", 237491.332),  # 3 x 100 / 0.001263204
    ]
    assert [row.statistic for row in rows[7:]] == ["rank0", "rank1", "rank2"]
    assert rows[8].value == pytest.approx(100 / 0.001263204)


def test_rows_of_the_other_cases_by_hand():
    for text, test, total, slowest in [
        (FALLOCATE2, "fallocate", 6821.326, 6821.326),  # 600 / 0.087959435; process 0: first and last
        (TRUNCATE_ORPHAN, "truncate", 542955.470, 1109773.218),  # 600 / 0.001105063; 600 / 0.000540651
    ]:
        rows = parse(text).rows
        assert {(row.test, row.threads, row.iteration, row.unit) for row in rows} == {(test, 2, 1, "ops/s")}
        assert [row.statistic for row in rows] == ["total", "slowest_rank", "rank0", "rank1"]
        assert [row.value for row in rows[:2]] == [total, slowest]


def test_rows_with_latencies_by_hand():
    parsed = parse(LATENCIES)
    assert parsed.version == "0.2.0"
    assert {(row.threads, row.iteration) for row in parsed.rows} == {(2, 1)}
    create = [row for row in parsed.rows if row.test == "create"]
    assert [(row.statistic, row.unit, row.value) for row in create[:2]] == [
        ("total", "ops/s", 21174.709),  # 120 / (47537.297923454 - 47537.292256316)
        ("slowest_rank", "ops/s", 29060.686),  # 2 x 60 / 0.004129290
    ]
    assert [(row.metric, row.statistic, row.unit, row.value) for row in create[4:]] == [
        ("latency", "total_p50", "ns", 41728),  # the 60th of 120 is in the bin from 41472 to 41983
        ("latency", "total_p90", "ns", 71168),  # the 108th
        ("latency", "total_p99", "ns", 148480),  # the 119th: the middle of 147456 to 149503
        ("latency", "total_p99.9", "ns", 542036),  # the last: the middle of its bin is more than the maximum
        ("latency", "total_max", "ns", 542036),
    ]


def test_rows_of_threads_in_containers_by_hand():
    rows = parse(CONTAINERS).rows
    threads = {row.statistic: row.threads for row in rows}
    assert threads.pop("per_container") == 2  # containers, of two threads each
    assert ({row.test for row in rows}, {*threads.values()}) == ({"fallocate_threads"}, {4})
    found = {row.statistic: row.value for row in rows}
    assert [*found][:5] == ["total", "slowest_rank", "container0", "container1", "rank0"]
    assert found["container0"] == 421981.187  # (2699 + 2847) / (47537.325961688 - 47537.312818922)
    assert found["container1"] == 463874.828  # (2304 + 3683) / (47537.325925528 - 47537.313019029)
    assert found["per_container"] == 442928.007  # their mean
    assert found["slowest_rank"] == 821440.479  # 4 x 2699 / 0.013142766, the least of four rates
    assert found["rank3"] == pytest.approx(3683 / 0.012576079)


def test_an_unknown_version_is_refused_by_name():
    with pytest.raises(BadInput, match=r"fsload 9\.9\.9 is not known"):
        parse(TEXT.replace("0.1.0", "9.9.9"))


def test_bins_of_another_width_are_refused_by_name():
    with pytest.raises(BadInput, match="not in 64 bins per octave"):
        parse(LATENCIES.replace('"bins_per_octave":64', '"bins_per_octave":32'))


def test_a_run_without_one_of_its_containers_or_its_latencies_is_not_whole():
    for start in ('{"phase":"fallocate","container":1', '{"phase":"fallocate","latency"'):
        lines = [line for line in CONTAINERS.split("\n") if not line.startswith(start)]
        with pytest.raises(BadInput, match="no complete phase"):
            parse("\n".join(lines))


def test_two_runs_in_one_file_are_refused():
    with pytest.raises(BadInput):
        parse(TEXT + TEXT)


def test_a_process_twice_is_refused():
    line = TEXT.split("\n")[2]
    with pytest.raises(BadInput, match="repeated"):
        parse(TEXT.replace(line, f"{line}\n{line}"))


def test_a_test_that_does_not_time_that_phase_is_refused():
    for wrong in (TEXT.replace("create_unlink", "fallocate2"), FALLOCATE2.replace("fallocate2", "open")):
        with pytest.raises(BadInput, match=r"not those of fallocate2|'open' is not known"):
            parse(wrong)
