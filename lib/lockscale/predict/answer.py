# SPDX-License-Identifier: MIT
"""What an unpatched profile says of patches that are not written yet: the answer, its verdicts and its text.

A patch is faster, and worth writing, by its interval alone: what the argument of a study says (no retry is
left, nobody sleeps) moves the interval's ends and decides nothing beside them. An interval that holds the
unpatched rate says that the sign is not known.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import pandas as pd

from lockscale.text_table import text_table


@dataclass(frozen=True)
class ParameterEstimate:
    """One number that was read off the unpatched side, or taken from outside it, with its 95% interval.

    status: `identified`, `open` (the unpatched side does not say; the interval is what is possible), or
    `outside` (measured elsewhere or assumed, as `source` says).
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
    """Where threads are: `threads` of all in `place`, which lies within `within`.

    By the ratio of two times, which is that of two numbers of threads (Little's law, divided by itself).
    """

    place: str
    within: str
    threads: float
    us_per_op: float
    waits_for: str


@dataclass(frozen=True)
class Predicted:
    """One arm at one number of threads.

    naive_value: what deleting the waits of the profile suggests. sign: `faster`, `slower` or `not known`
    than the unpatched side, by low and high alone.
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
    """What the unpatched side cannot tell, and the one measurement that can; `option`: its --given name."""

    parameter: str
    why: str
    measurement: str
    option: str = ""


@dataclass(frozen=True)
class Idea:
    """Whether an arm is worth writing, and why: `yes`, `no` or `not known` by the interval of its gain.

    The gain is over the unpatched side, or over another arm that `why` names; what is unsafe is `no` at any
    gain.
    """

    arm: str
    worth: str
    why: str


@dataclass(frozen=True)
class Answer:
    """Made from `used` alone; `published` stands beside it for the reader and is filled in last.

    waits_origin: from where it is known who waits. origin: of the unpatched side's rates. A run's rates are
    put beside the predictions where they are of the same one.
    """

    study: str
    used: list[str]
    parameters: list[ParameterEstimate]
    waits: list[Waiting]
    predictions: list[Predicted]
    open: list[Open]
    ideas: list[Idea]
    naive_reason: str
    notes: list[str] = field(default_factory=list)
    published: list[dict[str, Any]] = field(default_factory=list)
    waits_origin: str = "not stated"
    origin: str = "not stated"

    def to_json(self) -> dict[str, Any]:
        """One JSON value; every number's unit is in its key or beside it."""
        return asdict(self)


OWN_WORK = 1.05  # assumed: by what a patch's own code may change an operation
LEAST_GAIN = OWN_WORK  # so much it may cost again: less is not worth a patch


def gains_over(low: float, high: float, unpatched: float, *, is_time: bool = False) -> tuple[float, float]:
    """How many times as fast as unpatched, at least and at most; of a time the shorter one is the faster."""
    return (unpatched / high, unpatched / low) if is_time else (low / unpatched, high / unpatched)


def sign_of_change(low: float, high: float, unpatched: float, *, is_time: bool = False) -> str:
    """`faster` or `slower` where the whole interval is, else `not known`."""
    least, most = gains_over(low, high, unpatched, is_time=is_time)
    return "faster" if least > 1 else "slower" if most < 1 else "not known"


def creates_per_s(
    arm: str, threads: int, value: float, interval: tuple[float, float], naive: float, base_per_s: float
) -> Predicted:
    """A creation rate with what its interval says of the sign."""
    said = sign_of_change(*interval, base_per_s)
    return Predicted(arm, threads, "create_rate", "creates/s", value, *interval, naive, said)


def worth_by_interval(least: float, most: float) -> str:
    """Of a gain's interval: `yes` where all of it is above LEAST_GAIN, `no` where all is below."""
    return "yes" if least > LEAST_GAIN else "no" if most < LEAST_GAIN else "not known"


def idea_by_gain(arm: str, gain: tuple[float, float], threads: int, argument: str = "") -> Idea:
    """Worth writing by its gain over the unpatched side; the argument stands behind the gain."""
    why = f"{gain[0]:.2f} to {gain[1]:.2f} times the unpatched rate at {threads}"
    return Idea(arm, worth_by_interval(*gain), f"{why}: {argument}" if argument else why)


STATUSES = (
    "identified by the data of the unpatched kernel; open, where low to high is what is possible; outside, "
    "from elsewhere"
)


def answer_text(answer: Answer) -> str:
    """What was read, what it says, who waits, the predictions, what is open, and what is worth writing."""
    predictions = _table([asdict(one) for one in answer.predictions])
    missing = _list(map(_closed_by, answer.open))
    whence = "" if answer.waits_origin in ("not stated", answer.origin) else f"{answer.waits_origin}; "
    parts = [
        f"From {'; '.join(answer.used)}.",
        f"Parameters: {STATUSES}\n{_table([asdict(one) for one in answer.parameters])}",
        f"Who waits for what ({whence}threads: of all, by their share of the operation's time)\n"
        f"{_table([asdict(one) for one in answer.waits])}",
        f"Predictions; low, high: 95%, unless said below; naive_value: {answer.naive_reason}\n{predictions}",
        f"Not in the data of the unpatched kernel\n{missing}",
        f"Worth writing\n{_list(f'{i.arm}: {i.worth}; {i.why}' for i in answer.ideas)}",
        *answer.notes,
    ]
    if answer.published:
        parts.append(f"Published, for the reader; nothing of it was used\n{_table(answer.published)}")
    return "\n\n".join(parts)


def _table(rows: list[dict[str, Any]]) -> str:
    return text_table(pd.DataFrame(rows)).rstrip() if rows else "none"


def _closed_by(one: Open) -> str:
    given = f"; then --given {one.option}=NUMBER" if one.option else ""
    return f"{one.parameter}: {one.why}; closed by: {one.measurement}{given}"


def _list(lines: Any) -> str:
    return "\n".join(f"- {line}" for line in lines) or "none"
