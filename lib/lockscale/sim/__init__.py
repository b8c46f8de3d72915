# SPDX-License-Identifier: MIT
"""The lock-contention simulator. Knows nothing of kernels, files or notebooks."""

from lockscale.sim.models import list_models, load_model
from lockscale.sim.results import Result
from lockscale.sim.simulation import simulate

__all__ = ["Result", "list_models", "load_model", "simulate"]
