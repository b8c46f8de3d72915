# SPDX-License-Identifier: MIT
"""A model: a function that writes a path, and its named parameters with units and sources."""

import difflib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import get_type_hints

from lockscale.errors import BadInput
from lockscale.sim.builder import Builder
from lockscale.sim.program import Program

Value = float | bool


@dataclass(frozen=True)
class Note:
    """What a parameter means and where its default comes from."""

    meaning: str
    source: str


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model; ``unit`` is the end of its name, empty for a switch."""

    name: str
    unit: str
    default: Value
    meaning: str
    source: str

    def check(self, value: object) -> Value:
        """The value, if it is a switch or a finite non-negative number as the default is."""
        if isinstance(self.default, bool):
            if isinstance(value, bool):
                return value
            raise BadInput(f"parameter '{self.name}' is {value!r}: give true or false")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadInput(f"parameter '{self.name}' is {value!r}: give a number in {self.unit}")
        if not 0 <= value <= sys.float_info.max:
            raise BadInput(f"parameter '{self.name}' is {value}: give 0 or more {self.unit}")
        return float(value)


@dataclass(frozen=True)
class Model:
    """A model file: ``write`` puts the path on a builder."""

    name: str
    summary: str
    unit: str
    calibration: str
    parameters: tuple[Parameter, ...]
    write: Callable[..., None]

    def bind(self, given: Mapping[str, object]) -> dict[str, Value]:
        """All parameters with their values; raises BadInput for an unknown name or a bad value."""
        known = [p.name for p in self.parameters]
        for name in given:
            if name not in known:
                raise BadInput(
                    f"model {self.name} has no parameter '{name}'{near(str(name), known)}; "
                    f"it has {', '.join(known)}"
                )
        return {p.name: p.check(given.get(p.name, p.default)) for p in self.parameters}

    def calibration_of(self, values: Mapping[str, Value]) -> str:
        """The calibration, if every number has its default; switches may be thrown."""
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
    """

    def wrap(write: Callable[..., None]) -> Model:
        hints = get_type_hints(write, include_extras=True)
        parameters = tuple(
            _parameter(name, argument.default, hints[name].__metadata__[0])
            for name, argument in inspect.signature(write).parameters.items()
            if argument.kind is inspect.Parameter.KEYWORD_ONLY
        )
        summary = inspect.cleandoc(write.__doc__ or "").split("\n", 1)[0]
        return Model(write.__name__, summary, unit, calibration, parameters, write)

    return wrap


def read_parameters(texts: Iterable[str]) -> dict[str, Value]:
    """``["hold_ns=288.5", "search_locked=true"]`` as values; raises BadInput for other text."""
    values: dict[str, Value] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals):
            raise BadInput(f"parameter '{text}' is not of the form name=value")
        if name in values:
            raise BadInput(f"parameter '{name}' is given twice: give it once")
        values[name] = _read_value(name, value)
    return values


def near(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for the nearest known name, or nothing."""
    matches = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean '{matches[0]}'?)" if matches else ""


def _parameter(name: str, default: Value, note: Note) -> Parameter:
    unit = "" if isinstance(default, bool) else name.rpartition("_")[2]
    return Parameter(name, unit, default, note.meaning, note.source)


def _read_value(name: str, text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        raise BadInput(
            f"parameter '{name}' is '{text}': give a plain number in the unit of its name, or true or false"
        ) from None
