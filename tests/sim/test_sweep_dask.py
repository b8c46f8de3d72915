# SPDX-License-Identifier: MIT
"""A sweep on real Dask workers, one of which is killed in the middle of a point."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from lockscale.errors import BadInput, RunFailed
from lockscale.sim import executors as parallel
from lockscale.sim import simulate
from lockscale.sim import sweep as sweep_module
from lockscale.sim.sweep import Point, SweepInterrupted, cross, grid, latin_hypercube, sweep

DESIGN = cross(grid({"search_locked": [False, True]}), latin_hypercube({"hold_ns": (100, 400)}, 4, seed=5))
THREADS = [2, 8, 48]
FAST: dict[str, Any] = {"seed": 11, "replications": 2, "operations": 500}
PATIENCE_S = 60
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Two worker processes of one thread each; a worker that dies is started again."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            local_directory=tmp_path_factory.mktemp("dask"),
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def here() -> list[Point]:
    """The same sweep without Dask, in one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "cpus", lambda: 1)
        return sweep("inode_claim", THREADS, DESIGN, **FAST)


def wait_for(file: Path) -> None:
    for _ in range(PATIENCE_S * 100):
        if file.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"{file.name} did not come")


def hang_in_the_next_point(begun: str) -> None:
    """Runs on a worker: the next point that it begins says so and never ends."""
    from lockscale.sim import sweep as on_worker

    def hang(*args: object, **kwargs: object) -> None:
        Path(begun).touch()
        time.sleep(10**6)

    on_worker.simulate = hang  # type: ignore[assignment]


def test_many_threads_and_dask_give_the_bits_of_one_thread(
    client: Client, here: list[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "cpus", lambda: 4)
    assert sweep("inode_claim", THREADS, DESIGN, **FAST) == here
    assert sweep("inode_claim", THREADS, DESIGN, client=client, **FAST) == here
    assert sweep("inode_claim", THREADS, DESIGN, client=client, done=here, **FAST) == here


def test_a_worker_killed_in_the_middle_of_a_point_changes_nothing(
    client: Client, here: list[Point], tmp_path: Path
) -> None:
    """The victim hangs in a point, the other worker finishes one: then the victim is killed."""
    client.wait_for_workers(2)
    pids: dict[str, int] = client.run(os.getpid)
    victim, survivor = pids
    begun = tmp_path / "begun"
    client.run(hang_in_the_next_point, str(begun), workers=[victim])
    lost: list[str] = []
    finished: list[Point] = []

    def kill_once(point: Point) -> None:
        finished.append(point)
        if not lost:
            wait_for(begun)
            lost.extend(client.processing([victim])[victim])
            os.kill(pids[victim], signal.SIGKILL)

    there = sweep("inode_claim", THREADS, DESIGN, client=client, on_point=kill_once, **FAST)
    assert lost, "the victim had points in flight"
    assert there == here
    assert len(finished) == len(here) == 24
    client.wait_for_workers(2)
    after: dict[str, int] = client.run(os.getpid)
    assert pids[victim] not in after.values() and after[survivor] == pids[survivor]


def test_an_interrupt_cancels_what_the_workers_have_not_begun(client: Client) -> None:
    seen: list[Point] = []

    def interrupt(point: Point) -> None:
        if not seen:
            seen.append(point)
            raise KeyboardInterrupt

    with pytest.raises(SweepInterrupted) as caught:
        sweep("inode_claim", range(1, 101), DESIGN, client=client, on_point=interrupt, **FAST)
    assert seen[0] in caught.value.points and len(caught.value.points) < 800
    for _ in range(PATIENCE_S * 100):
        if not any(client.processing().values()) and not client.who_has():
            break
        time.sleep(0.01)
    assert not any(client.processing().values()) and not client.who_has()


def test_a_point_that_cannot_be_simulated_is_named_from_the_worker(client: Client) -> None:
    timeless = {"think_us": 0, "service_us": 0}
    with pytest.raises(BadInput, match=r"machine_repairman with 2 threads, think_us=0\.0"):
        sweep("machine_repairman", [2], [{}, timeless], client=client, **FAST)


def test_a_worker_of_another_version_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_module, "simulator", lambda: "of last week")
    with pytest.raises(RunFailed, match="install this lockscale on every worker"):
        sweep("machine_repairman", [2], [{}], client=client, **FAST)


def test_a_lost_scheduler_is_one_sentence_and_no_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.2)
        return simulate(*args, **kwargs)

    monkeypatch.setattr(sweep_module, "simulate", slowly)
    seen: list[Point] = []
    with (
        LocalCluster(
            n_workers=1, processes=False, dashboard_address="127.0.0.1:0", local_directory=tmp_path
        ) as cluster,
        Client(cluster, set_as_default=False, timeout="2s") as client,
    ):

        def lose(point: Point) -> None:
            seen.append(point)
            cluster.close()  # a second time it does nothing

        with pytest.raises(RunFailed, match=r"Dask lost a point .*look at its scheduler"):
            sweep("machine_repairman", range(1, 101), [{}], client=client, on_point=lose, **FAST)
        with pytest.raises(RunFailed, match="Dask lost a point"):
            sweep("machine_repairman", [1], [{}], client=client, **FAST)
    assert 1 <= len(seen) < 100
