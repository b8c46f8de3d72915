# SPDX-License-Identifier: MIT
"""What a base profile says of patches that are not written yet: the answer and its parts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass(frozen=True)
class Estimate:
    """One number that was read off the base, or taken from outside it, with its 95% interval.

    status: `identified`, `open` (the base does not say; the interval is what is possible), or `outside`
    (measured elsewhere or assumed, as `source` says).
    """

    name: str
    unit: str
    value: float
    low: float
    high: float
    status: str
    source: str

    @classmethod
    def between(cls, name: str, unit: str, ends: Sequence[float], status: str, source: str) -> Self:
        """Anywhere from the smallest of `ends` to the largest; its value is their mean."""
        return cls(name, unit, sum(ends) / len(ends), min(ends), max(ends), status, source)


@dataclass(frozen=True)
class Waiting:
    """Where threads are, by Little's law: `threads` of all in `place`, which lies within `within`."""

    place: str
    within: str
    threads: float
    us_per_op: float
    waits_for: str


@dataclass(frozen=True)
class Predicted:
    """One arm at one number of threads.

    naive_value: what deleting the waits of the profile suggests. sign: `faster`, `slower` or `not known`
    than the base, by low and high alone.
    """

    arm: str
    threads: int
    metric: str
    unit: str
    value: float
    low: float
    high: float
    naive_value: float | None
    sign: str = ""


@dataclass(frozen=True)
class Open:
    """What the base cannot tell, and the one measurement that would; `option` is its --given name."""

    parameter: str
    why: str
    measurement: str
    option: str = ""


@dataclass(frozen=True)
class Idea:
    """Whether an arm is worth writing, and why: `yes`, `no` or `not known` by the interval of its gain.

    The gain is over the base, or over another arm that `why` names; what is unsafe is `no` at any gain.
    """

    arm: str
    worth: str
    why: str


@dataclass(frozen=True)
class Answer:
    """Made from `used` alone; `published` stands beside it for the reader and is filled in last."""

    study: str
    used: list[str]
    parameters: list[Estimate]
    waits: list[Waiting]
    predictions: list[Predicted]
    open: list[Open]
    ideas: list[Idea]
    naive_reason: str
    notes: list[str] = field(default_factory=list)
    published: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """One JSON value; every number's unit is in its key or beside it."""
        return asdict(self)
