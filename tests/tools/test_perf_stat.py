# SPDX-License-Identifier: MIT
"""perf stat's counts as JSON and separated; what could not be counted is said, never zero."""

import json
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools import perf_record, perf_stat
from lockscale.tools.seal import UNSEALED, seal

SAMPLES = Path(__file__).parents[1] / "samples"
LINE = (
    '{"counter-value" : "1000000.000000", "unit" : "", "event" : "cycles", "event-runtime" : 400000, '
    '"pcnt-running" : 40.00, "metric-value" : 0.000000, "metric-unit" : ""}\n'
)


def sample(name):
    return (SAMPLES / f"perf_stat-{name}.txt").read_text()


def counts(text):
    """Of each event its numbers: metric, statistic, unit and value."""
    found = {}
    for row in perf_stat.parse(text).rows:
        found.setdefault(row.test, []).append((row.metric, row.statistic, row.unit, row.value))
    return found


def test_json_by_hand():
    found = perf_stat.parse(sample("6.1.187"))
    assert counts(sample("6.1.187")) == {
        "task-clock": [("time", "total", "ms", 1.0506)],
        "context-switches": [("count", "total", "events", 1)],
        "cpu-migrations": [("count", "total", "events", 0)],
        "page-faults": [("count", "total", "events", 76)],
    }
    assert found.warnings[0] == UNSEALED
    assert [w.split()[0] for w in found.warnings[1:]] == [
        "cycles",
        "instructions",
        "branches",
        "branch-misses",
    ]
    assert found.warnings[1] == "cycles was not supported on this machine"


def test_separated_by_hand():
    found = counts(sample("6.1.187-csv"))
    assert found["task-clock"] == [("time", "total", "ms", 1.07)]
    assert found["page-faults"] == [("count", "total", "events", 77)]


def test_the_mean_of_repeats_has_its_error():
    assert counts(sample("6.12.95-repeats"))["task-clock"] == [
        ("time", "mean", "ms", 0.767636),
        ("time", "standard_error_of_mean", "%", 3.98),
    ]
    assert counts(sample("6.12.95-csv-repeats"))["context-switches"] == [
        ("count", "mean", "events", 1),
        ("count", "standard_error_of_mean", "%", 88.19),
    ]


def test_the_file_that_perf_writes_begins_with_a_date():
    assert sample("6.1.187-machine").startswith("# started on ")
    assert counts(sample("6.1.187-machine"))["context-switches"] == [("count", "total", "events", 7512)]


def test_newer_versions_print_metrics_in_quotes():
    assert counts(sample("6.12.95"))["task-clock"] == [("time", "total", "ms", 0.84277)]


def test_a_count_of_part_of_the_time_is_an_estimate():
    found = perf_stat.parse(seal(LINE))
    assert found.rows[0].value == 1_000_000
    assert found.warnings == ("cycles was counted 40% of the time: its value is an estimate",)


def test_what_was_not_counted_is_no_number():
    text = LINE.replace('"1000000.000000"', '"<not counted>"')
    with pytest.raises(BadInput, match="cycles was not counted on this machine"):
        perf_stat.parse(seal(text))


def test_metrics_of_a_line_of_their_own_are_passed_over():
    more = '{"metric-value" : "1.5", "metric-unit" : "insn per cycle"}\n'
    assert counts(seal(LINE + more)) == counts(seal(LINE))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"counter-value": "1.000000,000000"}, "not a number as perf prints it"),
        ({"counter-value": "1000,000000"}, "LC_ALL=C"),
        ({"pcnt-running": "140.00"}, "more than 100% of its time"),
        ({"cpu": "0"}, "without -A"),
        ({"interval": 1.0}, "without -A"),
        ({"event": ["x"]}, "not JSON"),
    ],
)
def test_a_line_of_another_kind_is_one_sentence(changed, says):
    line = json.dumps({**json.loads(LINE), "pcnt-running": "40.00", **changed})
    with pytest.raises(BadInput, match=says):
        perf_stat.parse(seal(line + "\n"))


@pytest.mark.parametrize(
    "text", ["", "\n", "{}\n", "{\n", "[1]\n", LINE + LINE, LINE[:-1], '{"a":' * 10**5 + "\n"]
)
def test_other_text_is_refused(text):
    with pytest.raises(BadInput):
        perf_stat.parse(text)


def test_cycles_are_sampled_only_where_they_are_counted():
    counted = seal(LINE.replace("40.00", "100.00"))
    for answer, event in (
        (counted, "cycles"),
        (sample("6.1.187"), "cpu-clock"),
        ("perf: not found\n", "cpu-clock"),
    ):
        on_load = perf_record.on_load(answer, 4, [])
        data = "/run/lockscale-profile.data"
        assert " ".join(on_load.around(["fsload"])) == (
            f"perf record -q -a -N -e {event} -F 499 -g --kernel-callchains -o {data} -- fsload"
        )
        assert " ".join(on_load.read).endswith(f" perf script -F comm,tid,time,event,ip,sym -i {data}")


def test_the_version_by_hand():
    assert perf_stat.version("perf version 6.1.187\n") == "6.1.187"
    assert perf_stat.version("perf version 6.12.95.g1234\n") == "6.12.95.g1234"


@pytest.mark.parametrize("said", ["", "perf 2.7 (Python)", "perf version \n"])
def test_another_perf_is_named(said):
    with pytest.raises(BadInput, match="linux-perf"):
        perf_stat.version(said)
