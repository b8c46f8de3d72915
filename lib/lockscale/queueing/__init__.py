# SPDX-License-Identifier: MIT
"""Queueing models of rate against thread count: one file each, `fit` and `compare` over them."""

from lockscale.queueing.machine_repairman import MACHINE_REPAIRMAN
from lockscale.queueing.model import Model
from lockscale.queueing.retry_storm import RETRY_STORM
from lockscale.queueing.usl import USL

MODELS: dict[str, Model] = {m.name: m for m in (USL, MACHINE_REPAIRMAN, RETRY_STORM)}
"""Every model the command line knows, by name."""
