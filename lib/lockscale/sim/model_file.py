# SPDX-License-Identifier: MIT
"""A user's own model file: run it, find its model, and name the line that is wrong."""

import contextlib
import functools
import hashlib
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from lockscale.errors import BadInput
from lockscale.sim.model import Model

REDIRECT = threading.RLock()
"""sys.stdout is one for all threads: two that exchange it at once would not both put it back."""


def read_model(path: Path) -> Model:
    """The one model that the file defines; raises BadInput with the line that is wrong.

    What it prints goes to stderr: on stdout may be one JSON value.

    The file is no module, so that Dask sends what its model uses of it to workers that lack it.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadInput(
            f"no model can be read from {path} ({error.strerror}): give the path of a Python file"
        ) from None
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    with _located(str(path)):
        exec(compile(text, path, "exec", dont_inherit=True), names)
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
    with _located(path):
        write(*args, **values)


@contextlib.contextmanager
def _located(path: str) -> Iterator[None]:
    """What goes wrong in the user's file as one sentence that begins with the file and the line."""
    try:
        with REDIRECT, contextlib.redirect_stdout(sys.stderr):
            yield
    except SyntaxError as error:
        raise BadInput(f"{error.filename or path} line {error.lineno or 1}: {error.msg}") from error
    except BadInput as error:
        raise BadInput(f"{_where(path, error)}: {error}") from error
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise BadInput(f"{_where(path, error)}: {said}") from error


def _where(path: str, error: BaseException) -> str:
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == path]
    return f"{path} line {lines[-1]}" if lines else path
