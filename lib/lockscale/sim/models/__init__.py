# SPDX-License-Identifier: MIT
"""The models: one file per kernel path; a file's name is the model's."""

import importlib
import pkgutil

from lockscale.errors import BadInput
from lockscale.sim.model import Model, near


def list_models() -> list[str]:
    """The names that ``load_model`` knows."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load_model(name: str) -> Model:
    """The model of that name; raises BadInput for an unknown one."""
    known = list_models()
    if name not in known:
        raise BadInput(f"no model '{name}'{near(name, known)}; there are {', '.join(known)}")
    found: Model = getattr(importlib.import_module(f"{__name__}.{name}"), name)
    return found
