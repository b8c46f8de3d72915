# SPDX-License-Identifier: MIT
"""A user's own model file: run it, find its model, and name the line that is wrong."""

import functools
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lockscale.errors import BadInput
from lockscale.own_code import located, run_file
from lockscale.sim.model import Model


def read_model(path: Path) -> Model:
    """The one model that the file defines; raises BadInput with the line that is wrong.

    The file is no module, so that Dask sends what its model uses of it to workers that lack it.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadInput(
            f"no model can be read from {path} ({error.strerror}): give the path of a Python file"
        ) from None
    names = run_file(path, text)
    models = {id(v): v for v in names.values() if isinstance(v, Model) and _globals(v) is names}
    if not models:
        raise BadInput(f"{path} has no model: put @model(unit=...) on the function that writes it")
    if len(models) > 1:
        raise BadInput(f"{path} has the models {', '.join(m.name for m in models.values())}: keep one a file")
    (model,) = models.values()
    source = hashlib.sha256(text).hexdigest()[:16]
    return replace(model, write=functools.partial(_write, str(path), model.write), source=source)


def _globals(model: Model) -> Any:
    return getattr(model.write, "__globals__", None)


def _write(path: str, write: Callable[..., None], *args: Any, **values: Any) -> None:
    with located(path):
        write(*args, **values)
