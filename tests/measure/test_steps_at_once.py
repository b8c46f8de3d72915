# SPDX-License-Identifier: MIT
"""Steps that run side by side: all are done, and after an error none begins."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale.errors import RunFailed
from lockscale.measure.plan import plan
from lockscale.measure.run import run_steps
from lockscale.measure.target_manycore import QEMU_MIB, guests_at_once
from lockscale.study.file import ManycoreTarget, load_study, load_target

STEPS = plan(load_study("inode-claim"))


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_each_step_is_done_once(at_once: int):
    done = dict(run_steps(STEPS, lambda step: step.sequence, at_once))
    assert done == {step: step.sequence for step in STEPS}


@pytest.mark.parametrize(
    ("files", "guests"),
    [
        ({}, 8),
        ({"memory.max": "max", "cpu.max": "max 100000"}, 8),
        ({"memory.max": str(8 << 30)}, 2),  # of 3072 MiB each, beside 1 GiB that is used
        ({"memory.max": str(8 << 30), "memory.stat": "anon 1\ninactive_file 1073741824"}, 2),
        ({"memory.max": str(1 << 30)}, 1),
        ({"cpu.max": "250000 100000"}, 2),
        ({"../memory.max": str(12 << 30), "memory.max": str(99 << 30)}, 3),
    ],
)
def test_in_a_container_as_many_guests_run_as_it_may_have(
    files: dict[str, str], guests: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    cgroup = tmp_path / "sys/fs/cgroup/all.slice/ours"
    cgroup.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 1 kB\nMemAvailable: 268435456 kB\n")
    (tmp_path / "proc/self/cgroup").write_text("1:cpu:/\n0::/all.slice/ours\n")
    usual = {"memory.current": str(1 << 30), "memory.stat": "anon 1\ninactive_file 0"}
    for name, said in {**usual, **{f"../{name}": said for name, said in usual.items()}, **files}.items():
        (cgroup / name).write_text(f"{said}\n")
    target = load_target("manycore")
    assert isinstance(target, ManycoreTarget)
    target = target.model_copy(update={"memory_mib": 3072 - QEMU_MIB})
    assert guests_at_once(target, tmp_path) == guests


def test_nothing_begins_after_an_error():
    """Not even by the thread that failed, which is free before anybody hears of it."""
    begun, waits = [], threading.Event()

    def work(step):
        begun.append(step.sequence)
        if step.sequence == 1:
            raise RunFailed("the first")
        waits.wait(5)

    for _ in range(200):
        begun.clear()
        waits.clear()
        with pytest.raises(RunFailed, match="the first"):
            list(run_steps([*STEPS, *(replace(one, sequence=99) for one in STEPS)], work, 2))
        waits.set()
        assert set(begun) <= {1, 2}
