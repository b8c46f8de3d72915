# SPDX-License-Identifier: MIT
"""The lock-contention simulator. Knows nothing of kernels, files or notebooks."""

import importlib
from typing import TYPE_CHECKING, Any

from lockscale.sim.models import list_models, load_model

if TYPE_CHECKING:
    from lockscale.sim.results import Result
    from lockscale.sim.simulation import simulate

__all__ = ["Result", "list_models", "load_model", "simulate"]

_LATER = {"Result": "lockscale.sim.results", "simulate": "lockscale.sim.simulation"}


def __getattr__(name: str) -> Any:
    """What needs the compiler is imported when it is asked for: names of models do without."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
