# SPDX-License-Identifier: MIT
"""A sweep's points: in order, the same bits however they are run, and none lost by an interrupt."""

import itertools
import threading
import time
from typing import Any

import numpy as np
import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.sim import executors as parallel
from lockscale.sim import simulate
from lockscale.sim import sweep as sweep_module
from lockscale.sim.sweep import POINT_KEYS, Point, SweepInterrupted, grid, simulate_point, sweep

HOLDS = grid({"hold_ns": [100, 285.3, 400], "search_locked": [False, True]})
FAST: dict[str, Any] = {"replications": 2, "operations": 500}


def use_cpus(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(parallel, "cpus", lambda: number)


def never(*args: object, **kwargs: object) -> None:
    raise AssertionError("nothing may be simulated")


def test_points_have_the_bits_of_single_simulations_in_the_designs_order() -> None:
    points = sweep("inode_claim", [2, 8], HOLDS, seed=3, **FAST)
    expected = [simulate("inode_claim", n, p, seed=3, **FAST) for p, n in itertools.product(HOLDS, [2, 8])]
    assert [p["rates_per_s"] for p in points] == [list(e.rates_per_s) for e in expected]
    assert [p["parameters"] for p in points] == [e.parameters for e in expected]
    assert [p["threads"] for p in points] == [2, 8] * 6


def test_a_point_has_the_keys_that_are_asked_of_kept_ones() -> None:
    (point,) = sweep("inode_claim", [2], [{}], **FAST)
    assert set(point) == set(POINT_KEYS)


def test_a_design_of_numpys_numbers_is_that_of_pythons() -> None:
    design = grid({"hold_ns": list(np.array([100.0, 400.0])), "search_locked": [np.bool_(True)]})
    threads = [int(n) for n in (2, 4)]
    plain = grid({"hold_ns": [100, 400], "search_locked": [True]})
    assert sweep("inode_claim", np.array(threads), design, **FAST) == sweep(  # type: ignore[arg-type]
        "inode_claim", threads, plain, **FAST
    )


def test_one_and_many_threads_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cpus(monkeypatch, 1)
    alone = sweep("inode_claim", [2, 8], HOLDS, **FAST)
    use_cpus(monkeypatch, 4)
    assert sweep("inode_claim", [2, 8], HOLDS, **FAST) == alone


def test_points_that_finish_in_the_other_order_come_out_in_the_designs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each point waits until the one after it has been handed over."""
    over = {n: threading.Event() for n in (1, 2, 3, 4)}
    over[4].set()
    finished = []

    def in_reverse(model: str, threads: int, *args: Any, **kwargs: Any) -> Any:
        assert over[threads + 1].wait(20)
        return simulate(model, threads, *args, **kwargs)

    def hand_over(point: Point) -> None:
        finished.append(point["threads"])
        over[point["threads"]].set()

    use_cpus(monkeypatch, 3)
    monkeypatch.setattr(sweep_module, "simulate", in_reverse)
    points = sweep("machine_repairman", [1, 2, 3], [{}], on_point=hand_over, **FAST)
    assert finished == [3, 2, 1] and [p["threads"] for p in points] == [1, 2, 3]


def test_what_is_done_is_not_simulated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = sweep("inode_claim", [2], HOLDS[:4], **FAST)
    fresh: list[Point] = []
    points = sweep("inode_claim", [2], HOLDS, done=first[1:], on_point=fresh.append, **FAST)
    assert points[:4] == first
    assert {p["parameters"]["hold_ns"] for p in fresh} == {100.0, 400.0} and len(fresh) == 3
    monkeypatch.setattr(sweep_module, "simulate", never)
    assert sweep("inode_claim", [2], HOLDS[2:], done=points, **FAST) == points[2:]


def test_an_interrupt_keeps_what_is_finished_and_cancels_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the first, that of most threads, each point waits for the interrupt and then takes a while."""
    stopped = threading.Event()
    seen: list[Point] = []

    def gated(model: str, threads: int, *args: Any, **kwargs: Any) -> Any:
        if threads < 300:
            assert stopped.wait(20)
            time.sleep(0.05)
        return simulate(model, threads, *args, **kwargs)

    def interrupt(point: Point) -> None:
        seen.append(point)
        if not stopped.is_set():
            stopped.set()
            raise KeyboardInterrupt

    use_cpus(monkeypatch, 2)
    monkeypatch.setattr(sweep_module, "simulate", gated)
    with pytest.raises(SweepInterrupted, match=r"interrupted: \d+ of 300 points are done") as caught:
        sweep("machine_repairman", range(1, 301), [{}], on_point=interrupt, **FAST)
    kept = [p["threads"] for p in caught.value.points]
    assert kept == sorted({p["threads"] for p in seen}) and 300 in kept
    assert len(kept) < 300
    assert not [t for t in threading.enumerate() if "ThreadPool" in t.name]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "inode_clam"}, "did you mean inode_claim"),
        ({"design": [{"hold_ns": 1}, {"hold_us": 1}]}, "no parameter 'hold_us'"),
        ({"design": [{"hold_ns": 1}, {"hold_ns": -1}]}, "'hold_ns' is -1: give 0 or more ns"),
        ({"design": [{"hold_ns": 1}, {"hold_ns": 1e300}]}, "0 to 10 seconds"),
        ({"design": [{"search_locked": 1}]}, "give true or false"),
        ({"design": [{"hold_ns": 1}, {"hold_ns": 1.0}]}, "point twice: .* 2 threads, hold_ns=1.0"),
        ({"design": []}, "no points"),
        ({"threads": []}, "no points"),
        ({"threads": [2, 2]}, "point twice"),
        ({"threads": [2, 0]}, "threads is 0: give a whole number from 1"),
        ({"threads": [2, 10**6]}, "threads is 1000000"),
        ({"threads": [2, True]}, "threads is True"),
        ({"threads": [2.0]}, "threads is 2.0"),
        ({"threads": 48}, "takes lists of threads and of parameter sets"),
        ({"design": {"hold_ns": 1}}, "takes lists of threads and of parameter sets"),
        ({"threads": range(1, 1001), "design": grid({"hold_ns": range(101)})}, "more than 100000 points"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    given: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_module, "simulate", never)
    with pytest.raises(BadInput, match=message):
        sweep(**{"model": "inode_claim", "threads": [2], "design": [{}], **given})


def test_a_point_that_cannot_be_simulated_is_named_and_the_others_are_kept() -> None:
    seen: list[Point] = []
    timeless = {"think_us": 0, "service_us": 0}
    with pytest.raises(BadInput, match=r"machine_repairman with 2 threads, think_us=0\.0, service_us=0\.0: "):
        sweep("machine_repairman", [2], [{}, {"think_us": 3}, timeless], on_point=seen.append, **FAST)
    assert len(seen) == 2


def test_a_worker_of_another_version_refuses_the_point() -> None:
    with pytest.raises(RunFailed, match="a different version of the simulator"):
        simulate_point("of last week", "machine_repairman", 1, 1, 100, {}, 2)
