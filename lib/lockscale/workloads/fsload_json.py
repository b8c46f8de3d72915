# SPDX-License-Identifier: MIT
"""JSON lines as fsload prints them: fields of a known type, and numbers that agree with each other."""

import json
import math
from typing import Any, NoReturn, TypeVar

from lockscale.errors import BadInput

Line = dict[str, Any]
T = TypeVar("T")


def json_lines(text: str) -> tuple[list[Line], list[str]]:
    """The objects, one a line, and warnings; a last line that was cut is dropped with one."""
    lines = [line for line in text.split("\n") if line.strip()]
    objects: list[Line] = []
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line, parse_constant=_refuse_constant, object_pairs_hook=_unique)
        except (ValueError, RecursionError):
            if number == len(lines) and objects:
                return objects, ["the output ends in the middle of a line"]
            raise BadInput(f"line {number} of fsload's output is not JSON") from None
        if not isinstance(value, dict):
            raise BadInput(f"line {number} of fsload's output is not a JSON object")
        objects.append(value)
    return objects, []


def field(line: Line, key: str, kind: type[T]) -> T:
    """`line[key]`, which must be of exactly that type, and if whole from 0 to 2^63 - 1."""
    value = line.get(key)
    if type(value) is not kind or (isinstance(value, int) and not 0 <= value < 1 << 63):
        raise BadInput(f"fsload's output has a line without {key}, or with a strange one")
    return value


def same(line: Line, key: str, expected: float) -> float:
    """The printed number, which must be the expected one to the last digit printed."""
    printed = field(line, key, float)
    half_a_digit = 0.51e-9 if key == "seconds" else 0.51e-3
    if not math.isclose(printed, expected, rel_tol=1e-12, abs_tol=half_a_digit):
        disagree(key)
    return printed


def disagree(what: str) -> NoReturn:
    """Refuses an output whose numbers contradict each other."""
    raise BadInput(f"fsload's output is damaged: {what} and the other numbers do not agree")


def _unique(pairs: list[tuple[str, Any]]) -> Line:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
