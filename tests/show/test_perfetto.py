# SPDX-License-Identifier: MIT
"""The Trace Event Format as Perfetto reads it: keys and types, named tracks, nothing that overlaps."""

import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lockscale.errors import BadInput
from lockscale.show.timeline import lock_tracks, perfetto, save_trace
from lockscale.sim.engine.layout import STATES
from lockscale.sim.trace import Hold, Trace, trace

READERS = [(0, 0, 50), (1, 10, 20), (2, 15, 60), (3, 20, 40), (4, 60, 70)]


@pytest.fixture(scope="module")
def storm() -> Trace:
    return trace("inode_claim", 48, {"hold_ns": 290.6}, from_us=100, for_us=200, seed=3)


@pytest.fixture(scope="module")
def round_times() -> Trace:
    """Whole nanoseconds, where a reader that rounds has most to get wrong; a lock of many shards."""
    return trace("group_trylock", 8, {"trylock": True, "elsewhere_us": 0.0}, for_us=100)


@pytest.fixture(params=["storm", "round_times"])
def traced(request: pytest.FixtureRequest) -> Trace:
    return request.getfixturevalue(request.param)


def read(traced: Trace, tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(save_trace(traced, tmp_path / "trace.json").read_text())
    return found


def slices(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in found["traceEvents"] if event["ph"] == "X"]


def test_events_have_the_keys_and_types_of_the_format(traced: Trace, tmp_path: Path):
    found = read(traced, tmp_path)
    assert found["displayTimeUnit"] in ("ms", "ns") and isinstance(found["otherData"], dict)
    for event in found["traceEvents"]:
        assert event["ph"] in ("X", "M") and type(event["name"]) is str and type(event["args"]) is dict
        assert type(event["pid"]) is type(event["tid"]) is int and 0 <= event["pid"] < 2**31
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name", "thread_sort_index")
        else:
            assert type(event["cat"]) is str and event["ts"] >= 0 and event["dur"] >= 0
    times = [event["ts"] for event in slices(found)]
    assert times == sorted(times) and len(times) == len(traced.spans) + len(traced.holds)


def test_every_track_has_a_name_and_no_number_means_two_things(traced: Trace, tmp_path: Path):
    found = read(traced, tmp_path)
    names = {
        (e["pid"], e["tid"]): e["args"]["name"] for e in found["traceEvents"] if e["name"] == "thread_name"
    }
    tracks = {(event["pid"], event["tid"]) for event in slices(found)}
    assert tracks <= set(names)
    assert sorted(names.values()) == sorted(
        [f"thread {n}" for n in range(traced.threads)] + sorted({h.lock for h in traced.holds})
    )
    threads = [tid for _, tid in tracks]
    assert len(set(threads)) == len(threads) and not {pid for pid, _ in tracks} & {0, *threads}
    processes = [e["args"]["name"] for e in found["traceEvents"] if e["name"] == "process_name"]
    assert len(processes) == 2 and all(f"({traced.model}, simulated)" in name for name in processes)


def test_no_slice_of_a_track_overlaps_another_after_rounding_to_nanoseconds(traced: Trace, tmp_path: Path):
    """Perfetto takes llround(us * 1000) of start and duration, and drops what then overlaps."""
    tracks = defaultdict(list)
    for event in slices(read(traced, tmp_path)):
        start_ns = round(event["ts"] * 1000)
        tracks[event["tid"]].append((start_ns, start_ns + round(event["dur"] * 1000)))
    for times in tracks.values():
        assert all(one[1] <= other[0] for one, other in pairwise(times))


def test_threads_are_in_one_slice_at_any_time(storm: Trace, tmp_path: Path):
    found = read(storm, tmp_path)
    total = Counter()
    for event in slices(found):
        assert event["cat"] in (*STATES, "held")
        total[event["tid"]] += event["dur"] if event["cat"] != "held" else 0
    assert {tid: us for tid, us in total.items() if us} == {n + 1: pytest.approx(200) for n in range(48)}


def test_the_locks_track_shows_who_holds(storm: Trace, tmp_path: Path):
    held = [event for event in slices(read(storm, tmp_path)) if event["cat"] == "held"]
    assert [event["name"] for event in held] == [f"thread {h.thread}" for h in storm.holds]
    assert {event["args"]["lock"] for event in held} == {"group lock"}
    assert sum(event["dur"] for event in held) == pytest.approx(200)  # saturated


def test_it_says_what_was_simulated(storm: Trace, tmp_path: Path):
    said = read(storm, tmp_path)["otherData"]
    assert said["origin"] == "simulated" and said["calibration"] == "not calibrated"
    assert (said["model"], said["threads"], said["seed"]) == ("inode_claim", 48, 3)
    assert said["parameters"]["hold_ns"] == 290.6 and said["parameters"]["search_locked"] is False
    assert (said["from_us"], said["to_us"], said["cut"]) == (100, 300, "")


def test_readers_that_hold_a_lock_together_get_tracks_of_their_own():
    holds = [Hold("rwsem", thread, True, start, end) for thread, start, end in READERS]
    tracks = lock_tracks([*holds, Hold("zone", 0, False, 5, 10)])
    assert [[h.thread for h in track] for track in tracks] == [[0, 4], [1, 3], [2], [0]]


def test_a_file_is_whole_or_absent(
    storm: Trace, round_times: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save_trace(storm, tmp_path / "trace.json")
    before = (tmp_path / "trace.json").read_bytes()
    monkeypatch.setattr(json, "dumps", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_trace(round_times, tmp_path / "trace.json")
    assert (tmp_path / "trace.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]


@pytest.mark.parametrize("name", ["trace", "trace.txt", "trace.JSON", "json"])
def test_another_ending_is_refused(storm: Trace, tmp_path: Path, name: str):
    with pytest.raises(BadInput, match=r"does not end in \.json .* or \.html"):
        save_trace(storm, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_numbers_that_are_given_are_those_that_are_written(storm: Trace):
    given = {(s.thread, s.start_ps // 1000, s.state) for s in storm.spans}
    written = {(e["tid"] - 1, round(e["ts"] * 1000), e["cat"]) for e in slices(perfetto(storm))}
    assert given <= written
