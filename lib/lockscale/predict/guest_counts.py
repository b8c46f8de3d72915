# SPDX-License-Identifier: MIT
"""What the guests must count: by the algorithm alone, and by the counts of one arm.

One arm is counted first. Of the simulator's model one factor is fitted to its counts (guest_fit.py), and the
model then says what the other arms count. Numbers of processes for which the host has processors share one
factor. Any other has one of its own: there the host stops holders, of every arm.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from lockscale.errors import BadInput
from lockscale.measure.count_calls import FEWEST, NONE_NAMED, FirstCounts
from lockscale.predict.guest_case import Chances, GuestCase, Told
from lockscale.predict.guest_fit import Count, GuestFit, fit, runs, tell
from lockscale.progress import progress
from lockscale.study.file import Study

BOUND, FITTED = "bound", "fitted"
"""Kinds of rows: what no parameter can change, and what the first arm's counts say."""

EMULATED = (
    "If more virtual CPUs are busy than the host has, lock holders get preempted, which the model leaves "
    "out: in the arms that wait, the queue of waiters then stalls, so expect large errors there."
)


@dataclass(frozen=True)
class Guests:
    """rows: of both kinds. said: the fitted arm, its counts, the parameters and what limits them."""

    rows: list[dict[str, Any]]
    said: dict[str, Any] = field(default_factory=dict)


def predict_guests(
    study: Study, first: FirstCounts, case: GuestCase | None, bounds: list[dict[str, Any]]
) -> Guests:
    """Rows of the algorithm alone, and where one arm was counted what the others then count.

    Only the counts of that one arm are looked at. case: of the study, None where no model says what its
    arms count. bounds: the rows of the algorithm alone.
    """
    if first.rows is None:
        return Guests(bounds, {"note": first.why_none})
    if case is None:
        return Guests(bounds, {"note": NONE_NAMED})
    counts = counts_of(case, first.rows)
    groups, cases = fitted_together(counts, first.host_cpus), at_each(case, first.rows)
    fits: list[GuestFit] = []
    with progress(f"fit {case.first_arm}", len(groups)) as shown:
        for done, group in enumerate(groups, start=1):
            asked, calm = study.parameters, fits[0] if fits else None
            fits.append(fit(cases, group, asked.operations_per_point, asked.seed, calm))
            shown.update(done)
    teller = _Teller(study, case, cases, fits, per_operation(case, first.rows), first.host_cpus)
    return Guests([*bounds, *teller.rows()], _said(case, fits, counts, first.host_cpus))


def counts_of(case: GuestCase, rows: pd.DataFrame) -> list[Count]:
    """The fitted ratio, of the first arm, one a block and point; BadInput where it was not counted."""
    wide = _wide(case, rows)
    if lacking := {case.count, case.per} - set(wide.columns):
        raise BadInput(f"the counts of {case.first_arm} lack {min(lacking)}: start a new run")
    there = wide[(wide.threads >= FEWEST) & (wide[case.per] > 0)]
    columns = (there[name] for name in ("cpus", "threads", "block", case.count, case.per))
    return [
        Count(int(cpus), int(n), int(block), float(events), float(per))
        for cpus, n, block, events, per in zip(*columns, strict=True)
    ]


def fitted_together(counts: list[Count], host_cpus: int | None) -> list[list[Count]]:
    """Those for which the host has a processor for each process; then each other number of processes.

    There a count tells of holders that the host has stopped as well as of the lock, of any arm's.
    """
    own = [count for count in counts if host_cpus is None or count.threads <= host_cpus]
    crowded = [count for count in counts if count not in own]
    each = [[one for one in crowded if one.threads == n] for n in sorted({one.threads for one in crowded})]
    return [own, *each] if own else each


def at_each(case: GuestCase, rows: pd.DataFrame) -> Callable[[int], GuestCase]:
    """The case at a number of processes, with what the first arm's counts there say of the models."""
    sums = _wide(case, rows).groupby("threads").sum()
    found: dict[int, GuestCase] = {}
    for n, counts in sums.div(sums[case.operation], axis=0).iterrows():
        read = case.read_off({str(source): float(value) for source, value in counts.items()})
        arms = {name: arm.holding(read) for name, arm in case.arms.items()}
        found[int(str(n))] = replace(case, simulated=case.simulated.holding(read), arms=arms)
    return lambda n: found.get(n, case)


def per_operation(case: GuestCase, rows: pd.DataFrame) -> dict[str, float]:
    """Source -> how often it is counted in one operation of the model in the first arm; the same in all."""
    sums = _wide(case, rows).sum()
    return {told.per: float(sums[told.per] / sums[case.operation]) for told in case.told}


def _wide(case: GuestCase, rows: pd.DataFrame) -> pd.DataFrame:
    of_first, point = rows[rows.arm == case.first_arm], ["cpus", "threads", "block"]
    wide = of_first.pivot_table(index=point, columns="metric", values="value", aggfunc="sum")
    return wide.reset_index()


@dataclass(frozen=True)
class _Teller:
    """What the fitted model says of the other arms; per: see per_operation()."""

    study: Study
    case: GuestCase
    cases: Callable[[int], GuestCase]
    fits: Sequence[GuestFit]
    per: dict[str, float]
    host_cpus: int | None

    def rows(self) -> list[dict[str, Any]]:
        """One for each counter of each arm that the run has, at each point with a processor a process."""
        rng = np.random.default_rng(self.study.parameters.seed)
        guests = self.study.parameters.guests
        points = [(g.cpus, n) for g in guests for n in g.processes if FEWEST <= n <= g.cpus]
        arms = [name for name in self.study.arm_names if name in self.case.arms]
        rows = []
        with progress(f"simulate {self.study.name}", len(arms) * len(points)) as shown:
            for done, (arm, (cpus, n)) in enumerate(itertools.product(arms, points), start=1):
                rows += [self._row(told, arm, cpus, n, rng) for told in self.case.told]
                shown.update(done, f"{arm}, {n} processes")
        return rows

    def _row(self, told: Told, arm: str, cpus: int, n: int, rng: np.random.Generator) -> dict[str, Any]:
        asked = self.study.parameters
        made, case = n * asked.counted_each(n), self.cases(n)

        def seen(node: int) -> list[Chances]:
            found = runs(case, case.arms[arm], n, node, made, asked.seed)
            return [told.events(one) for one in found]

        fitted = next((one for one in self.fits if n in one.threads), self.fits[0])
        ends = tell(fitted, seen, made, asked.iterations, rng)
        value, low, high = (one / self.per[told.per] for one in ends)
        return {
            "kind": FITTED,
            "fitted_arm": self.case.first_arm,
            "arm": arm,
            "cpus": cpus,
            "threads": n,
            "metric": told.metric,
            "unit": told.unit,
            "value": value,
            "low": low,
            "high": high,
            "own_processors": self.host_cpus is None or n <= self.host_cpus,
        }


def _said(
    case: GuestCase, fits: Sequence[GuestFit], counts: list[Count], host_cpus: int | None
) -> dict[str, Any]:
    factors = [
        {
            "name": "time outside the locks",
            "threads": list(found.threads),
            "unit": "times the model's",
            "value": found.value,
            "low": found.low,
            "high": found.high,
            "status": found.status,
            "source": f"{case.count} of {case.first_arm}",
            "dispersion": found.dispersion,
            "variation": found.variation,
        }
        for found in fits
    ]
    first = fits[0]
    return {
        "fitted_arm": case.first_arm,
        "parameters": factors,
        "model_times": {name: value * first.value for name, value in case.scaled.items()},
        "counts": [
            {**asdict(count), "fitted": any(count.threads in one.threads for one in fits)} for count in counts
        ],
        "host_cpus": host_cpus,
        "note": case.limits if host_cpus is None else f"{case.limits} {EMULATED}",
    }
