# SPDX-License-Identifier: MIT
"""Sweeps for people: a keep file that spares what is done, a labelled table, progress."""

from pathlib import Path
from typing import Any

import pytest

from lockscale import progress, sweeps
from lockscale.errors import BadInput
from lockscale.sim import simulate
from lockscale.sim import sweep as sweep_module
from lockscale.sim.sweep import Interrupted, grid
from lockscale.sweeps import sweep_points, sweep_table

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
    with pytest.raises(Interrupted) as stopped:
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
    with pytest.raises(BadInput, match=r"keeps points of simulator .*, not another"):
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
