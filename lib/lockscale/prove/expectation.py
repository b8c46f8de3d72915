# SPDX-License-Identifier: MIT
"""What a counter must do over the arms, as arms.toml says it: "wait-group > trylock >= multi-goal"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockscale.kernels.arms import Relation
from lockscale.measure.stats import Difference, difference


@dataclass(frozen=True)
class Judged:
    """A relation beside what was counted: means, and the interval of left minus right.

    ">" holds when the interval of 95% or more lies above 0. ">=" holds unless its whole interval lies below
    0: it was not refuted, which is no proof that the left is more. "= 0" holds when nothing was counted in
    any repeat.
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
