# SPDX-License-Identifier: MIT
"""The models: one file per kernel path; a file's name is the model's. A user's file is one more."""

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from lockscale.errors import BadInput, near

if TYPE_CHECKING:
    from lockscale.sim.model import Model

AnyModel: TypeAlias = "str | Path | Model"
"""A name that ``list_models`` has, the path of a file that ends in .py, or the model itself."""


def list_models() -> list[str]:
    """The names that ``load_model`` knows."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load_model(model: AnyModel) -> "Model":
    """The model of that name or in that file, which is run for it; raises BadInput if there is none."""
    from lockscale.sim.model import Model, read_model  # imports the compiler, which names do without

    if isinstance(model, Model):
        return model
    if isinstance(model, Path) or str(model).endswith(".py"):
        return read_model(Path(model))
    known = list_models()
    if model not in known:
        raise BadInput(f"no model '{model}', and no path of your own .py file{near(str(model), known)}")
    found: Model = getattr(importlib.import_module(f"{__name__}.{model}"), model)
    return found


def is_shipped(model: "Model") -> bool:
    """Whether it is one that ``list_models`` names."""
    return model.name in list_models() and load_model(model.name) is model
