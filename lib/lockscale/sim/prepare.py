# SPDX-License-Identifier: MIT
"""``python -m lockscale.sim.prepare``: compile what the first simulations need, as ``make env`` does."""

import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np

from lockscale.sim.engine import loops
from lockscale.sim.executors import cpus
from lockscale.sim.models import list_models, load_model
from lockscale.sim.program import Program
from lockscale.sim.replicate import BATCHES, replicate

THREADS = 8  # any number: what is compiled holds for all


def prepare(told: Callable[[str], object] = str) -> None:
    """The general loop, and that of each shipped model with its defaults; what is kept is left as it is.

    In as many processes as there are CPUs, as each loop is kept in a file of its own. `told` hears how far
    it is.
    """
    missing = [name for name in list_models() if loops.kept(_program(name).structure) is None]
    if not missing:
        _general()
        return
    with ProcessPoolExecutor(cpus(), multiprocessing.get_context("spawn")) as pool:
        tasks = [pool.submit(_general), *(pool.submit(_loop_of, name) for name in missing)]
        for done, task in enumerate(as_completed(tasks), 1):
            task.result()
            told(f"{done} of {len(tasks)} loops are compiled")


def _program(model: str) -> Program:
    return load_model(model).program({}, THREADS)


def _general() -> None:
    replicate(_program("machine_repairman"), seed=1, replication=0, operations=1)


def _loop_of(model: str) -> None:
    program = _program(model)
    world = program.world(batches=BATCHES)
    loops.prepare(program.structure, world, 1, 0, np.zeros(THREADS, np.int64), 1, 1)


if __name__ == "__main__":
    prepare(lambda far: print(f"setup: {far}", file=sys.stderr, flush=True))
