# SPDX-License-Identifier: MIT
"""What a counter must do over the arms, as arms.toml says it: "wait-group > trylock >= multi-goal"."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.experiment.stats import Difference, difference

RELATION = re.compile(r"\s+(>=|>|=)\s+")


@dataclass(frozen=True)
class Relation:
    """One link: `left` sign `right`, where `right` of "=" is the number 0."""

    left: str
    sign: str
    right: str

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


def relations(said: str, arms: Iterable[str]) -> list[Relation]:
    """The links of a chain; BadInput for an arm that is not there or a sign that is none."""
    names, signs = RELATION.split(said.strip())[::2], RELATION.split(said.strip())[1::2]
    known = set(arms)
    found = [Relation(a, sign, b) for a, sign, b in zip(names, signs, names[1:], strict=False)]
    for one in found:
        unknown = {one.left, one.right} - known - ({"0"} if one.sign == "=" else set())
        if unknown or (one.sign == "=" and one.right != "0"):
            raise BadInput(f"expect {said!r}: {one} is not `arm > arm`, `arm >= arm` or `arm = 0`")
    if not found:
        raise BadInput(f"expect {said!r} says nothing: write `arm > arm`, `arm >= arm` or `arm = 0`")
    return found


@dataclass(frozen=True)
class Judged:
    """A relation beside what was counted: means, and the interval of left minus right.

    ">" holds when the interval of 95% or more lies above 0, ">=" when it does not lie below 0, "= 0"
    when nothing was counted in any repeat.
    """

    relation: Relation
    found: Difference
    holds: bool


def judge(relation: Relation, values: Mapping[str, Sequence[float]]) -> Judged:
    """Compare repeats of two arms; values: arm -> one ratio a repeat."""
    left = values[relation.left]
    right = values.get(relation.right, [0.0] * len(left))
    found = difference(right, left)
    if relation.sign == "=":
        return Judged(relation, found, all(value == 0 for value in left))
    if relation.sign == ">":
        return Judged(relation, found, found.significant and found.low > 0)
    return Judged(relation, found, found.high >= 0)
