# SPDX-License-Identifier: MIT
"""Counts of a campaign as the ratios that a study asks for, each beside what is expected of it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockscale.errors import RunFailed
from lockscale.measure.significance import Difference, difference
from lockscale.prove.campaign import Counted, beside_others
from lockscale.study.checks import Counter, Relation, relations
from lockscale.study.file import Study


@dataclass(frozen=True)
class Judged:
    """What was counted for a relation: means, the interval of left minus right, and whether it holds.

    ">" holds when the interval of 95% or more lies above 0. ">=" holds unless its whole interval lies below
    0: it was not refuted, which is no proof that the left is more. "= 0" holds when nothing was counted in
    any repeat. Reversed: the contrary was shown, that the right is more, or of "= 0" that the left is.
    """

    found: Difference
    holds: bool
    reversed: bool


def judge(relation: Relation, values: Mapping[str, Sequence[float]]) -> Judged:
    """Compare repeats of two arms; values: arm -> one ratio a repeat."""
    left = values[relation.left]
    right = values.get(relation.right, [0.0] * len(left))
    found = difference(right, left)
    holds = {
        "=": all(value == 0 for value in left),
        ">": found.significant and found.low > 0,
        ">=": found.high >= 0,
    }
    contrary = found.low > 0 if relation.sign == "=" else found.high < 0
    return Judged(found, holds[relation.sign], found.significant and contrary)


@dataclass(frozen=True)
class CounterEntry:
    """A counter of one arm beside another's: means, and arm minus base with its interval.

    `low`, `high` and the means are in `unit`; `level_pct` is what the interval covers. `origin` says
    what it was counted on; a count is never a rate. `reason`: why the relation need not show here; it
    excuses none that is `reversed`. busy_boots: of both arms' boots, those beside other work on this machine.
    """

    name: str
    unit: str
    variant: str
    threads: int
    arm_name: str
    base_name: str
    base: float
    arm: float
    low: float
    high: float
    level_pct: float
    iterations: int
    expected: str
    ok: bool
    reversed: bool = False
    reason: str = ""
    origin: str = "qemu"
    busy_boots: int = 0

    @property
    def fails(self) -> bool:
        """It did not show, and nobody knows why; or the contrary did, for which nothing was declared."""
        return not (self.ok or self.reason) or self.reversed


def counters_of(study: Study, counted: Sequence[Counted]) -> list[CounterEntry]:
    """Every relation of every counter, once for each arm in it that was counted."""
    there = {one.arm for one in counted}
    found = []
    for counter in study.counters:
        if set(counter.arms) <= there:
            _refuse_a_lock_that_nobody_took(counter, counted)
        for variant in counter.variants:
            of_variant = [one for one in counted if one.variant == variant]
            values = ratios(counter, of_variant)
            for said in counter.expect:
                for relation in relations(said, study.checked_arms):
                    if {relation.left, relation.right} - {"0"} <= there:
                        busy = beside_others(of_variant, {relation.left, relation.right})
                        found += _entries(counter, variant, relation, values, study.check.processes, busy)
    return found


def _refuse_a_lock_that_nobody_took(counter: Counter, counted: Sequence[Counted]) -> None:
    """lock_stat lists the classes that were taken alone, so that a misspelt one would count 0 for ever."""
    for source in counter.sources:
        kind, name = source.split(":", 1)
        taken = (one.value for one in counted if one.source == f"acquisitions:{name}")
        if kind in ("acquisitions", "contentions") and not any(taken):
            raise RunFailed(f"counter {counter.name!r}: no arm took lock class {name}: check its name")


def ratios(counter: Counter, counted: Sequence[Counted]) -> dict[str, list[float]]:
    """Arm -> count over `per`, one value an iteration, in the order of the iterations."""
    sums: dict[tuple[str, int], dict[str, int]] = defaultdict(lambda: {"count": 0, "per": 0})
    for one in counted:
        for part, sources in (("count", counter.count), ("per", counter.per)):
            if one.source in sources:
                sums[one.arm, one.iteration][part] += one.value
    values: dict[str, list[float]] = defaultdict(list)
    for (arm, _), both in sorted(sums.items()):
        if not both["per"]:
            raise RunFailed(f"counter {counter.name!r}: {arm} counted no {' + '.join(counter.per)}")
        values[arm].append(both["count"] / both["per"])
    return values


def _entries(
    counter: Counter,
    variant: str,
    relation: Relation,
    values: dict[str, list[float]],
    threads: int,
    busy_boots: int,
) -> list[CounterEntry]:
    judged = judge(relation, values)
    sides = [(relation.left, relation.right, judged.found)]
    if relation.sign != "=":
        sides.append((relation.right, relation.left, judged.found.turned))
    return [
        CounterEntry(
            name=counter.name,
            unit=counter.unit,
            variant=variant,
            threads=threads,
            arm_name=arm,
            base_name=base,
            base=d.before,
            arm=d.after,
            low=d.low,
            high=d.high,
            level_pct=100 * d.level,
            iterations=len(values[arm]),
            expected=str(relation),
            ok=judged.holds,
            reversed=judged.reversed,
            reason=counter.not_shown.get(str(relation), ""),
            busy_boots=busy_boots,
        )
        for arm, base, d in sides
    ]
