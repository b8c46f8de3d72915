# SPDX-License-Identifier: MIT
"""Sweeps for people: a keep file that spares what is done, a labelled table, progress."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockscale import progress, sweeps
from lockscale.errors import BadInput
from lockscale.sim import simulate
from lockscale.sim import sweep as sweep_module
from lockscale.sim.sweep import POINT_KEYS, SweepInterrupted, grid
from lockscale.sweeps import KeepFile, sweep_points, sweep_table

DESIGN = grid({"think_us": [5, 10], "service_us": [1, 2]})
FAST: dict[str, Any] = {"replications": 2, "operations": 200}


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """(threads, parameters) of every point that is really simulated."""
    calls: list[tuple[Any, ...]] = []

    def counted(model: str, threads: int, parameters: Any, **kwargs: Any) -> Any:
        calls.append((threads, parameters))
        return simulate(model, threads, parameters, **kwargs)

    monkeypatch.setattr(sweep_module, "simulate", counted)
    return calls


def test_a_second_call_with_the_same_file_simulates_only_what_is_new(
    tmp_path: Path, simulated: list[tuple[Any, ...]]
) -> None:
    keep = tmp_path / "new folder" / "points"
    first = sweep_points("machine_repairman", [2, 4], DESIGN, keep=keep, **FAST)
    assert len(simulated) == len(first) == 8
    assert sweep_points("machine_repairman", [2, 4], DESIGN, keep=keep, **FAST) == first
    assert len(simulated) == 8
    more = grid({"think_us": [5, 10, 20], "service_us": [1, 2]})
    points = sweep_points("machine_repairman", [4], more, keep=keep, **FAST)
    assert len(simulated) == 10 and {p["think_us"] for _, p in simulated[8:]} == {20.0}
    assert points == sweep_points("machine_repairman", [4], more, **FAST)


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on_where_it_stopped(
    tmp_path: Path, simulated: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps.KeepFile, "add", keep_one_then_interrupt(sweeps.KeepFile.add))
    with pytest.raises(SweepInterrupted) as stopped:
        sweep_points("machine_repairman", range(1, 60), DESIGN, keep=tmp_path / "points", **FAST)
    monkeypatch.undo()
    points = sweep_points("machine_repairman", range(1, 60), DESIGN, keep=tmp_path / "points", **FAST)
    assert all(point in points for point in stopped.value.points) and stopped.value.points
    assert len(set((tmp_path / "points").read_text().splitlines())) == 1 + len(points)
    assert points == sweep_points("machine_repairman", range(1, 60), DESIGN, **FAST)


def keep_one_then_interrupt(add: Any) -> Any:
    calls: list[Any] = []

    def once(file: Any, point: Any) -> None:
        calls.append(point)
        if len(calls) == 2:
            raise KeyboardInterrupt
        add(file, point)

    return once


def test_a_file_of_another_version_of_the_simulator_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_points("machine_repairman", [2], [{}], keep=tmp_path / "points", **FAST)
    monkeypatch.setattr(sweep_module, "simulator", lambda: "another")
    with pytest.raises(BadInput, match="keeps points of another version of the model or of the simulator"):
        sweep_points("machine_repairman", [2], [{}], keep=tmp_path / "points", **FAST)


def test_a_change_in_a_model_is_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A point's bits depend on the engine and on the models."""
    (tmp_path / "models").mkdir()
    monkeypatch.setattr(sweep_module, "__file__", str(tmp_path / "sweep.py"))
    seen = set()
    for name, text in [("engine.py", "1"), ("models/m.py", "1"), ("models/m.py", "2"), ("engine.py", "2")]:
        (tmp_path / name).write_text(text)
        seen.add(sweep_module.simulator.__wrapped__())
    assert len(seen) == 4


def test_bad_input_leaves_no_file(tmp_path: Path) -> None:
    for seed, design in [(1, [{"think_ms": 1}]), (-1, [{}])]:
        with pytest.raises(BadInput):
            sweep_points("machine_repairman", [2], design, seed=seed, keep=tmp_path / "points", **FAST)
        assert not (tmp_path / "points").exists()


def test_the_table_is_long_and_says_that_it_is_simulated() -> None:
    points = sweep_points("inode_claim", [2, 4], grid({"search_locked": [False, True]}), **FAST)
    table = sweep_table("inode_claim", points)
    assert list(table.search_locked) == [False, False, True, True] and list(table.threads) == [2, 4, 2, 4]
    assert list(table.value) == [p["value"] for p in points]
    assert set(table.origin) == {"simulated"} and set(table.metric) == {"throughput"}
    assert set(table.unit) == {"creates/s"} and table.calibration.str.startswith("calibrated").all()
    assert {"model", "elsewhere_us", "low", "high", "attempts_per_op"} <= set(table.columns)


def test_progress_counts_what_is_left_to_simulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(progress.FILE_VARIABLE, str(tmp_path / "progress"))
    sweep_points("machine_repairman", [2, 4], DESIGN[:3], keep=tmp_path / "points", **FAST)
    sweep_points("machine_repairman", [2, 4], DESIGN, keep=tmp_path / "points", **FAST)
    assert (tmp_path / "progress").read_text().splitlines()[-2:] == [
        "sweep machine_repairman: 6/6 points",
        "sweep machine_repairman: 2/2 points, 6 kept from before",
    ]


SETTINGS: dict[str, object] = {"model": "inode_claim", "seed": 1, "simulator": "0123"}


def point(threads: int, value: float = 1 / 3) -> dict[str, Any]:
    some = {"parameters": {"hold_ns": 0.1}, "threads": threads, "value": value, "attempts_per_op": 1.5}
    return {**dict.fromkeys(POINT_KEYS), **some}


def kept(path: Path, *points: dict[str, Any]) -> KeepFile:
    file = KeepFile(path, SETTINGS)
    for one in points:
        file.add(one)
    return file


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5))
def test_points_come_back_bit_for_bit(tmp_path: Path, values: list[float]) -> None:
    path = tmp_path / "points"
    path.unlink(missing_ok=True)
    points = [point(n, value) for n, value in enumerate(values)]
    assert kept(path, *points).read() == points


@pytest.mark.slow
def test_a_file_cut_anywhere_keeps_its_whole_lines_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "points"
    kept(path, point(1), point(2))
    whole = path.read_bytes()
    ends = [at for at, byte in enumerate(whole, start=1) if byte == ord("\n")]
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        before = [point(n) for n in range(1, sum(end <= cut for end in ends))]
        assert KeepFile(path, SETTINGS).read() == before
        assert kept(path, point(9)).read() == [*before, point(9)]


def test_another_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for content in (b"my notes", b"my notes\n", b'{"model": "inode_claim"}\n', b"[1]\nx", b"\xff\xfe\n\n"):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=r"notes\.txt is not a file that lockscale sweep wrote"):
            KeepFile(path, SETTINGS).read()
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seed": 2}, "keeps points of seed 1, not 2: name another file"),
        ({"simulator": "4567"}, "keeps points of another version of the model or of the simulator"),
        ({"model": "machine_repairman"}, "keeps points of model inode_claim, not machine_repairman"),
    ],
)
def test_points_of_other_settings_are_refused(
    tmp_path: Path, changed: dict[str, object], message: str
) -> None:
    kept(tmp_path / "points", point(1))
    with pytest.raises(BadInput, match=message):
        KeepFile(tmp_path / "points", {**SETTINGS, **changed}).read()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        *((line, "is not a point") for line in ("", "{", "[]", "{}", "null")),
        (json.dumps({"threads": 1}), "is a point without parameters, metric, unit, value, low"),
        *((json.dumps({k: v for k, v in point(1).items() if k != name}), f"is a point without {name}")
          for name in POINT_KEYS),
        (json.dumps({**point(1), "value": math.nan}), "whose value is NaN, not a finite number"),
        (json.dumps({**point(1), "high": math.inf}), "whose high is Infinity, not a finite number"),
        (json.dumps({**point(1), "high": 10**400}), "whose high is 1000"),
        (json.dumps({**point(1), "low": "x"}), 'whose low is "x", not a finite number'),
        (json.dumps({**point(1), "value": None}), "whose value is null, not a finite number"),
        (json.dumps({**point(1), "value": True}), "whose value is true, not a finite number"),
        (json.dumps({**point(1), "locks": {"a": [math.nan]}}), "a point with NaN or Infinity"),
    ],
)  # fmt: skip
def test_a_damaged_line_is_named(tmp_path: Path, line: str, fault: str) -> None:
    file = kept(tmp_path / "points", point(1))
    with file.path.open("a") as stream:
        stream.write(line + "\n")
    file.add(point(2))
    with pytest.raises(BadInput) as refused:
        file.read()
    said = str(refused.value)
    assert said.startswith(f"{file.path} line 3 ") and fault in said
    assert said.endswith(": delete the line to compute it again")


def test_a_second_sweep_waits_its_turn(tmp_path: Path) -> None:
    file = KeepFile(tmp_path / "points", SETTINGS)
    with (
        file.in_use(),
        pytest.raises(BadInput, match=r"points is in use by .* \(process \d+\)"),
        KeepFile(tmp_path / "points", SETTINGS).in_use(),
    ):
        raise AssertionError("two at once")
    with file.in_use():
        assert file.read() == []


def test_no_lock_is_left_beside_a_file_of_somebody_elses(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# mine\n")
    with pytest.raises(BadInput, match="is not a file that lockscale sweep wrote"):
        sweep_points("machine_repairman", [2], DESIGN, keep=tmp_path / "README.md", **FAST)
    assert [one.name for one in tmp_path.iterdir()] == ["README.md"]
