# SPDX-License-Identifier: MIT
"""A model: a function that writes a path, and its named parameters with units and sources.

A user's own model file is run, its model found, and the line named that is wrong.
"""

import functools
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from lockscale.errors import BadInput, near
from lockscale.sim.builder import Builder
from lockscale.sim.program import Program
from lockscale.user_code import located, run_file

Value = float | bool


@dataclass(frozen=True)
class Note:
    """What a parameter means and where its default comes from."""

    meaning: str
    source: str


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model; ``unit`` ends its name, empty for a switch; ``whole``: it is an int."""

    name: str
    unit: str
    default: Value
    meaning: str
    source: str
    whole: bool = False

    def check(self, value: object) -> Value:
        """The value, if it is a switch or a finite non-negative number as the default is."""
        value = plain(value)
        if isinstance(self.default, bool):
            if isinstance(value, bool):
                return value
            raise BadInput(f"parameter '{self.name}' is {value!r}: give true or false")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadInput(f"parameter '{self.name}' is {value!r}: give a number in {self.unit}")
        if not 0 <= value <= sys.float_info.max:
            raise BadInput(f"parameter '{self.name}' is {value}: give 0 or more {self.unit}")
        if self.whole and value != int(value):
            raise BadInput(f"parameter '{self.name}' is {value}: give a whole number of {self.unit}")
        return int(value) if self.whole else float(value)


@dataclass(frozen=True)
class Model:
    """A model file: ``write`` puts the path on a builder.

    ``source``: 16 hexadecimal digits for the contents of a user's own file, else empty.
    """

    name: str
    summary: str
    unit: str
    calibration: str
    parameters: tuple[Parameter, ...]
    write: Callable[..., None]
    source: str = ""

    def bind(self, given: Mapping[str, object]) -> dict[str, Value]:
        """All parameters with their values; raises BadInput for an unknown name or a bad value."""
        known = [p.name for p in self.parameters]
        for name in given:
            if name not in known:
                raise BadInput(f"model {self.name} has no parameter '{name}'{near(str(name), known)}")
        return {p.name: p.check(given.get(p.name, p.default)) for p in self.parameters}

    def calibration_of(self, values: Mapping[str, Value]) -> str:
        """The calibration, if every number has its default; switches may be on."""
        numbers = [p for p in self.parameters if p.unit]
        return self.calibration if all(values[p.name] == p.default for p in numbers) else ""

    def program(self, given: Mapping[str, object], threads: int) -> Program:
        """The op table for these parameters and so many threads."""
        builder = Builder(threads)
        self.write(builder, **self.bind(given))
        return builder.compile()


def model(*, unit: str, calibration: str = "") -> Callable[[Callable[..., None]], Model]:
    """Make a function ``f(m, *, name_unit: Annotated[type, Note(...)] = default)`` a model.

    ``unit`` is that of its rate; ``calibration`` says which numbers were set from which data.
    Raises BadInput for a function without docstring and for a parameter without note, default or
    unit.
    """

    def wrap(write: Callable[..., None]) -> Model:
        name = write.__name__
        summary = inspect.cleandoc(write.__doc__ or "").split("\n", 1)[0]
        if not summary:
            raise BadInput(f"model {name} has no docstring: write one line that says what it models")
        if not unit.endswith("/s"):
            raise BadInput(
                f"the unit of model {name} is '{unit}', which is not a rate: write one such as creates/s"
            )
        return Model(name, summary, unit, calibration, _parameters(name, write), write)

    return wrap


def read_parameters(texts: Iterable[str]) -> dict[str, Value]:
    """``["hold_ns=288.5", "locked=true"]`` as values; raises BadInput for other text."""
    values: dict[str, Value] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals):
            raise BadInput(f"parameter '{text}' is not of the form name=value")
        if name in values:
            raise BadInput(f"parameter '{name}' is given twice: give it once")
        values[name] = _read_value(name, value)
    return values


def plain(value: Any) -> Any:
    """A number of numpy's as Python's own, which JSON and whole numbers without bound need."""
    return value.item() if isinstance(value, np.bool_ | np.integer | np.floating) else value


def _parameters(model: str, write: Callable[..., None]) -> tuple[Parameter, ...]:
    arguments = list(inspect.signature(write).parameters.values())
    if not arguments or arguments[0].kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
        raise BadInput(f"model {model} takes no builder: write def {model}(m, *, ...)")
    hints = get_type_hints(write, include_extras=True)
    return tuple(_parameter(model, a, hints.get(a.name)) for a in arguments[1:])


def _parameter(model: str, argument: inspect.Parameter, hint: object) -> Parameter:
    name, default = argument.name, argument.default
    lacks = f"parameter '{name}' of model {model} has no "
    notes = [n for n in getattr(hint, "__metadata__", ()) if isinstance(n, Note)]
    unit = "" if isinstance(default, bool) else name.rpartition("_")[2]
    if argument.kind is not argument.KEYWORD_ONLY:
        raise BadInput(f"{lacks}* before it: write def {model}(m, *, {name}...)")
    if default is argument.empty:
        raise BadInput(f"{lacks}default: give it one")
    if not (notes and notes[0].meaning and notes[0].source):
        raise BadInput(
            f"{lacks}note: annotate it with Annotated[float, Note('what it means', 'where it comes from')]"
        )
    if not isinstance(default, bool) and unit in ("", name):
        raise BadInput(f"{lacks}unit in its name: end it in one, as hold_ns")
    whole = getattr(hint, "__origin__", None) is int
    found = Parameter(name, unit, default, notes[0].meaning, notes[0].source, whole)
    found.check(default)
    return found


UNITS = ("ns", "us", "ms", "s", "pct")
"""That a name ends in one of these says that it is a number's, before its model is known."""


def _read_value(name: str, text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        unit = name.rpartition("_")[2]
        otherwise = f"in {unit}" if unit in UNITS else "in the unit of its name, or true or false"
        raise BadInput(f"parameter '{name}' is '{text}': give a plain number {otherwise}") from None


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
        raise BadInput(f"{path} has no model: put @model(unit=...) on the function that defines it")
    if len(models) > 1:
        raise BadInput(
            f"{path} has the models {', '.join(m.name for m in models.values())}: keep one per file"
        )
    (model,) = models.values()
    source = hashlib.sha256(text).hexdigest()[:16]
    return replace(model, write=functools.partial(_write, str(path), model.write), source=source)


def _globals(model: Model) -> Any:
    return getattr(model.write, "__globals__", None)


def _write(path: str, write: Callable[..., None], *args: Any, **values: Any) -> None:
    try:
        with located(path):
            write(*args, **values)
    except BadInput as error:
        if values and isinstance(error.__cause__, ArithmeticError):  # 0 / 0 names no parameter
            given = ", ".join(f"{name}={value:g}" for name, value in values.items())
            raise BadInput(f"{error} (with {given})") from error
        raise
