# SPDX-License-Identifier: MIT
"""A Python file of the user's own: it is run, and what goes wrong in it is one sentence with its line."""

import contextlib
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from lockscale.errors import BadInput

REDIRECT = threading.RLock()
"""sys.stdout is one for all threads: two that exchange it at once would not both put it back."""


def run_file(path: Path, text: bytes) -> dict[str, Any]:
    """The names that the file defines, whose content is `text`; raises BadInput with the wrong line.

    What it prints goes to stderr: on stdout may be one JSON value. It is a module only while it runs, which
    dataclasses ask for, and by a name that no import has.
    """
    module = ModuleType(path.name)
    names = vars(module)
    names["__file__"] = str(path)
    with located(str(path)):
        sys.modules[path.name] = module
        try:
            exec(compile(text, path, "exec", dont_inherit=True), names)
        finally:
            sys.modules.pop(path.name, None)
    return names


@contextlib.contextmanager
def located(path: str) -> Iterator[None]:
    """What goes wrong in the user's file as one sentence that begins with the file and the line."""
    try:
        with REDIRECT, contextlib.redirect_stdout(sys.stderr):
            yield
    except SyntaxError as error:
        raise BadInput(f"{error.filename or path} line {error.lineno or 1}: {error.msg}") from error
    except BadInput as error:
        raise BadInput(f"{_where(path, error)}: {error}") from error
    except (Exception, SystemExit) as error:
        fault = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise BadInput(f"{_where(path, error)}: {fault}") from error


def _where(path: str, error: BaseException) -> str:
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == path]
    return f"{path} line {lines[-1]}" if lines else path
