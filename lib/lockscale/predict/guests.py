# SPDX-License-Identifier: MIT
"""What the guests must show: by the algorithm alone, and by the counts of one arm."""

import itertools
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from lockscale.errors import BadInput
from lockscale.measure.observe_base import FEWEST, NONE_NAMED, BaseCounts
from lockscale.predict.guest_case import Chances, GuestCase, Told
from lockscale.predict.guest_fit import Count, GuestFit, fit, runs, tell
from lockscale.progress import progress
from lockscale.study.file import Study

BOUND, FITTED = "bound", "fitted"
"""Kinds of rows: what no parameter can change, and what the base's counts say."""

EMULATED = (
    "Where more virtual processors are busy than the host has, holders of locks are stopped, which the model "
    "leaves out: a queue of waiters then stalls in the arms that wait, so expect large errors there."
)


@dataclass(frozen=True)
class Guests:
    """rows: of both kinds. said: the fitted arm, its counts, the parameters and what limits them."""

    rows: list[dict[str, Any]]
    said: dict[str, Any] = field(default_factory=dict)


def predict_guests(
    study: Study, base: BaseCounts, case: GuestCase | None, bounds: list[dict[str, Any]]
) -> Guests:
    """Rows of the algorithm alone, and where one arm was counted what the others then count.

    Only the counts of that one arm are looked at. case: of the study, None where no model says what its
    arms count. bounds: the rows of the algorithm alone.
    """
    if base.rows is None:
        return Guests(bounds, {"note": base.why_none})
    if case is None:
        return Guests(bounds, {"note": NONE_NAMED})
    counts = counts_of(case, base.rows)
    used = on_own_processors(counts, base.host_cpus)
    with progress(f"fit {case.base}", 1) as shown:
        found = fit(case, used, study.parameters.seed)
        shown.update(1)
    teller = _Teller(study, case, found, per_operation(case, base.rows), base.host_cpus)
    return Guests([*bounds, *teller.rows()], _said(case, found, counts, used, base.host_cpus))


def lost_claims(study: Study) -> list[dict[str, Any]]:
    """Extra get_write_access calls a create under the before arm, for each point of the guests.

    Every lost claim has a winner on another processor, and the loser queues behind at most the
    others: on c processors n processes lose more than 0 and at most min(n, c) - 1 claims a create,
    and one process alone loses none. How far below the bound depends on the window between search
    and lock, which no profile of another machine tells.
    """
    points = [(g.cpus, n) for g in study.parameters.guests for n in g.processes]
    return [
        {
            "kind": BOUND,
            "arm": study.arm("before").name,
            "cpus": cpus,
            "threads": n,
            "metric": f"extra {study.called_function}",
            "unit": "calls/create",
            "low": 0.0,
            "high": float(min(n, cpus) - 1),
        }
        for cpus, n in points
    ]


def counts_of(case: GuestCase, rows: pd.DataFrame) -> list[Count]:
    """The fitted ratio of the base alone, one a block and point; BadInput where it was not counted."""
    wide = _wide(case, rows)
    if lacking := {case.count, case.per} - set(wide.columns):
        raise BadInput(f"the counts of {case.base} lack {min(lacking)}: start a new run")
    there = wide[(wide.threads >= FEWEST) & (wide[case.per] > 0)]
    columns = (there[name] for name in ("cpus", "threads", "block", case.count, case.per))
    return [
        Count(int(cpus), int(n), int(block), float(events), float(per))
        for cpus, n, block, events, per in zip(*columns, strict=True)
    ]


def on_own_processors(counts: list[Count], host_cpus: int | None) -> list[Count]:
    """Those for which the host has a processor for each process; where there is none, all.

    Elsewhere a count tells of holders that the host has stopped, more than of the lock.
    """
    own = [count for count in counts if host_cpus is None or count.threads <= host_cpus]
    return own or counts


def per_operation(case: GuestCase, rows: pd.DataFrame) -> dict[str, float]:
    """Source -> how often it is counted in one operation of the model, by the base; the same in all arms."""
    sums = _wide(case, rows).sum()
    return {told.per: float(sums[told.per] / sums[case.operation]) for told in case.told}


def _wide(case: GuestCase, rows: pd.DataFrame) -> pd.DataFrame:
    of_base, point = rows[rows.arm == case.base], ["cpus", "threads", "block"]
    wide = of_base.pivot_table(index=point, columns="metric", values="value", aggfunc="sum")
    return wide.reset_index()


@dataclass(frozen=True)
class _Teller:
    """What the fitted model says of the other arms; per: see per_operation()."""

    study: Study
    case: GuestCase
    found: GuestFit
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
        made = n * max(1, asked.creates_per_point // n) * asked.iterations

        def seen(node: int) -> list[Chances]:
            found = runs(self.case, self.case.arms[arm], n, node, asked.seed)
            return [told.events(one) for one in found]

        value, low, high = (one / self.per[told.per] for one in tell(self.found, seen, made, rng))
        return {
            "kind": FITTED,
            "fitted_arm": self.case.base,
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
    case: GuestCase, found: GuestFit, counts: list[Count], used: list[Count], host_cpus: int | None
) -> dict[str, Any]:
    times = {name: value * found.value for name, value in case.scaled.items()}
    factor = {
        "name": "time outside the locks",
        "unit": "times the model's",
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "status": found.status,
        "source": f"{case.count} of {case.base}",
    }
    return {
        "fitted_arm": case.base,
        "parameters": [factor],
        "model_times": times,
        "dispersion": found.dispersion,
        "counts": [{**asdict(count), "fitted": count in used} for count in counts],
        "host_cpus": host_cpus,
        "note": case.limits if host_cpus is None else f"{case.limits} {EMULATED}",
    }
