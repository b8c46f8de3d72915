# SPDX-License-Identifier: MIT
"""``python -m lockscale.sim.prepare``: compile what the first simulations need, as ``make env`` does."""

import numpy as np

from lockscale.sim.engine import loops
from lockscale.sim.models import list_models, load_model
from lockscale.sim.replicate import BATCHES, replicate

THREADS = 8  # any number: what is compiled holds for all


def prepare() -> None:
    """The general loop, and that of each shipped model with its defaults; what is kept is left as it is."""
    replicate(load_model("machine_repairman").program({}, THREADS), seed=1, replication=0, operations=1)
    for name in list_models():
        program = load_model(name).program({}, THREADS)
        if loops.kept(program.structure) is None:
            world = program.world(batches=BATCHES)
            loops.prepare(program.structure, world, 1, 0, np.zeros(THREADS, np.int64), 1, 1)


if __name__ == "__main__":
    prepare()
