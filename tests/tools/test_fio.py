# SPDX-License-Identifier: MIT
"""fio: tests/samples/fio-*.json were printed by Debian's fio 3.33 and by 3.42, built from its sources."""

from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools.registry import parse

SAMPLES = Path(__file__).parents[1] / "samples"
FILES, CREATE, RANDRW = (
    (SAMPLES / f"fio-{name}.json").read_text() for name in ("3.33-files", "3.42-create", "3.42-randrw")
)


def values(text):
    return {(row.test, row.statistic, row.metric): row.value for row in parse(text).rows}


def test_the_file_engines_by_hand():
    parsed = parse(FILES)
    assert parsed.version == "3.33" and parsed.warnings == ()
    assert {row.threads for row in parsed.rows} == {2}
    found = values(FILES)
    assert [found[phase, "total", "rate"] for phase in ("create", "stat", "remove")] == [
        2298.850575, 54545.454545, 150000.0,
    ]  # fmt: skip
    assert found["create", "total_mean", "completion_latency"] == 777059.235
    assert found["stat", "total_max", "completion_latency"] == 223527
    assert found["remove", "total_p50", "completion_latency"] == 3376
    assert found["remove", "total_p99", "completion_latency"] == 5536


def test_a_later_version_and_processes_apart():
    assert parse(CREATE).version == "3.42"
    assert values(CREATE)["create", "total", "rate"] == 3875.968992
    found = values(RANDRW)
    assert (
        found["warm read", "rank0", "rate"] == 10000.0 and found["warm write", "rank1", "rate"] == 3666.666667
    )
    assert {row.threads for row in parse(RANDRW).rows} == {2}


def test_other_versions_are_refused_by_name():
    with pytest.raises(BadInput, match=r"'fio-2\.21' is not known"):
        parse(CREATE.replace("fio-3.42", "fio-2.21"))
    assert parse(CREATE.replace("fio-3.42", "fio-3.38-12-g1a2b3c-dirty")).version == "3.38-12-g1a2b3c-dirty"


def test_a_job_that_failed_is_left_out():
    parsed = parse(FILES.replace('"error" : 0', '"error" : 2', 1))
    assert {row.test for row in parsed.rows} == {"stat", "remove"}
    assert parsed.warnings == ("job 1 is left out: fio reported an error for it",)


def test_a_job_without_its_options_is_no_read_of_data():
    parsed = parse(FILES.replace('        "name" : "stat",\n        "ioengine" : "filestat"\n', "", 1))
    assert {row.test for row in parsed.rows} == {"create", "remove"}
    assert parsed.warnings == ("job 2 is left out: its options have another name or none",)


def test_two_jobs_without_the_lines_between_are_not_the_second():
    between = '      "latency_window" : 0\n    },\n    {\n'
    assert between in FILES
    with pytest.raises(BadInput, match="this is not fio's JSON, or not all of it"):
        parse(FILES.replace(between, "", 1))


def test_an_option_that_was_given_twice_has_its_last_value():
    twice = CREATE.replace('"nrfiles" : "500"', '"nrfiles" : "7",\n"nrfiles" : "500"')
    assert values(twice) == values(CREATE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"nrfiles" : "300"', '"nrfiles" : "301"'),
        ('"numjobs" : "2"', '"numjobs" : "3"'),
        ('"group_reporting" : "1"', '"group_reporting" : "0"'),
        ('"total_ios" : 600', '"total_ios" : 601'),
        ('"N" : 600', '"N" : 599'),
    ],
)
def test_operations_that_do_not_fit_are_left_out(old, new):
    with pytest.raises(BadInput, match="job 1 is left out"):
        parse(FILES.replace(old, new))


def test_with_other_engines_grouped_jobs_may_be_any_number():
    grouped = RANDRW.replace('"numjobs" : "2"', '"numjobs" : "2",\n"group_reporting" : "1"')
    first = parse(grouped)
    assert {(row.threads, row.statistic.split("_")[0]) for row in first.rows} == {(None, "total")}
    assert "job 2 is left out: an earlier job has the same name and position" in first.warnings


def test_percentiles_of_the_users_own_choice_are_no_damage():
    without = RANDRW.replace('"50.000000"', '"51.000000"')
    with pytest.raises(BadInput, match=r"50\.000000 is missing"):
        parse(without)
    asked = without.replace('"numjobs" : "2"', '"numjobs" : "2",\n"percentile_list" : "51:99"')
    assert "rank0_p99" in {row.statistic for row in parse(asked).rows}


def test_notes_around_the_json_are_pointed_out():
    parsed = parse(f"fio: pid=0, err=0\n{CREATE}")
    assert parsed.warnings == ("fio printed messages around its JSON: read them",)
    assert len(parsed.rows) == len(parse(CREATE).rows)
