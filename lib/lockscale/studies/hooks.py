# SPDX-License-Identifier: MIT
"""What a study can add to the rooms, none of which knows it by name: parts, scenes, swept paths."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lockscale.errors import BadInput, near
from lockscale.fitting.simulated_model import Simulated
from lockscale.predict.answer import Answer
from lockscale.predict.guest_case import GuestCase, SimulatedArm
from lockscale.predict.guest_counts import BOUND
from lockscale.sim import load_model
from lockscale.sim.models import AnyModel
from lockscale.study.file import Study
from lockscale.tables import AuditRow

Values = dict[str, float]
TRIES = 1000  # for each set that is wanted


def draws(logs: Mapping[str, Any], count: int, more: Mapping[str, float], seed: int = 1) -> list[Values]:
    """The best set, then `count` normal draws of the logarithms that lie within the fit's bounds.

    logs: names (k,), mean (k,), covariance (k, k) and bounds (2, k), as a row of the scoreboard has them.
    more: factors that are 1 in the best set, with the standard deviation of their logarithm. What the data
    leave open is spread up to its bounds. Raises BadInput for a fit that does not say how sure it is.
    """
    if logs["covariance"] is None:
        raise BadInput("a calibrated fit has no uncertainty of its parameters, so there is nothing to draw")
    by, mean, (low, high) = np.random.default_rng(seed), np.array(logs["mean"]), np.array(logs["bounds"])
    tried = by.multivariate_normal(mean, np.array(logs["covariance"]), size=count * TRIES)
    within = tried[np.all((low <= tried) & (tried <= high), axis=1)][:count]
    if len(within) < count:
        raise BadInput("almost no draw of the fit's parameters is within their bounds: fit it again")
    factors = by.normal(0, list(more.values()), size=(count, len(more)))
    sets = np.vstack([np.append(mean, np.zeros(len(more))), np.hstack([within, factors])])
    return [dict(zip([*logs["names"], *more], one, strict=True)) for one in np.exp(sets).tolist()]


MOST = 1024
Given = Callable[[int, Values, Values], Mapping[str, object]]


@dataclass(frozen=True)
class SweptArm:
    """`given`: the model's parameters at N threads from the fit's best set and one draw.

    `most`: of N. Beyond 256 one point of a storm, or of a search among goals that all share, takes many
    times as long to simulate as the other arms', for each of the draws.
    """

    given: Given
    most: int = MOST


@dataclass(frozen=True)
class SweptPath:
    """`unit_per_s`: the rate that counts as 1; `more`: drawn beside the fit to `table`, with the SD of ln.

    `repeated`: steps of the model that are repeated in vain, and the parameter that says what one costs.
    """

    name: str
    model: AnyModel
    table: str
    unit: str
    arms: Mapping[str, SweptArm]
    unit_per_s: float = 1.0
    more: Mapping[str, float] = field(default_factory=dict)
    repeated: Mapping[str, str] = field(default_factory=dict)


def of_fit(of: Simulated, column: str) -> Given:
    """As the column's arm has them; beyond the table's threads as at the most of them."""
    arm = of.arms[column]

    def given(threads: int, best: Values, drawn: Values) -> Mapping[str, object]:
        free = {name: drawn[name] for name in arm.depends_on}
        return {**of.held, **arm.held, **arm.at(min(threads, most_published(of, column)), free)}

    return given


def most_published(of: Simulated, column: str) -> int:
    """The most threads that the column has."""
    return max(int(n) for one in of.columns() if one.name == column for n in one.threads)


@dataclass(frozen=True)
class ModelBesidePublished:
    """One number of a table that no model was fitted to; error_pct: predicted over published, less one.

    derived_from: the row whose number this one is reckoned from, if it is not in the table itself.
    """

    name: str
    unit: str
    predicted: float
    published: float
    error_pct: float
    derived_from: str = ""


@dataclass(frozen=True)
class Scene:
    """One contention. `arms`: arm -> switches of the model; `patch`: the arms before and after it.

    `lock` is the one whose waits and holds are shown, `locks` that of arms with another; `counts` are the
    threads of the curve. `table`, `metric` and `statistic` are the published numbers; `scaled` is the arm
    by which times of an unpublished amount of work are scaled. `assumed`: arms whose own parameters no
    published number sets.
    `any_kind`: the model has every kind of lock, a start skew and shared CPUs. Raises BadInput for an arm
    that is not among `arms`.
    """

    name: str
    model: str
    title: str
    arms: Mapping[str, Mapping[str, bool | float]]
    patch: tuple[str, str]
    lock: str
    table: str
    metric: str
    statistic: str
    threads: int
    counts: tuple[int, ...]
    locks: Mapping[str, str] = field(default_factory=dict)
    scaled: str = ""
    assumed: tuple[str, ...] = ()
    any_kind: bool = False

    def __post_init__(self) -> None:
        for arm in (*self.patch, *self.locks, *self.assumed):
            if arm not in self.arms:
                raise BadInput(f"scene {self.name} has no arm {arm!r}{near(arm, self.arms)}")

    def lock_of(self, arm: str) -> str:
        return self.locks.get(arm, self.lock)

    def after(self, arm: str) -> str:
        """The arm that `arm` is compared with: the patched one; of that or another patch, the one before."""
        before, after = self.patch
        on_top = self.arms[after].items() <= self.arms[arm].items()
        return before if arm == after or (self.is_later(arm) and not on_top) else after

    def is_later(self, arm: str) -> bool:
        """Whether `arm` is the patched one, or one of those that follow it, which change more."""
        order = list(self.arms)
        return order.index(arm) >= order.index(self.patch[1])


@dataclass(frozen=True)
class StudyParts:
    """One study, as `STUDY` of its file; whatever it lacks is not known of it.

    name: as its study file has it. order: where it stands in lists; those without one are last.
    claims: of each published table what is recomputed of it. whatif: its answer from the unpatched side
    alone, `given` the measurements that it takes and what they are. guest_case: which arm is counted first,
    and what of the others is then told; guest_bounds: what the algorithm alone sets. simulated: its tables
    that a model is fitted to; unfitted: those that the study's model is held against without a fit;
    why_short: of a table whose target is missed, why. scenes: what of it can be explored. scale: its paths
    beyond the published threads.
    """

    name: str
    order: float = float("inf")
    claims: Mapping[str, Callable[[], list[AuditRow]]] = field(default_factory=dict)
    whatif: Callable[[Mapping[str, float]], Answer] | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    guest_case: Callable[[Study], GuestCase] | None = None
    guest_bounds: Callable[[Study], list[dict[str, Any]]] | None = None
    simulated: Sequence[Simulated] = ()
    unfitted: Mapping[str, Callable[[Study], Sequence[ModelBesidePublished]]] = field(default_factory=dict)
    why_short: Mapping[str, str] = field(default_factory=dict)
    scenes: Callable[[Study], Sequence[Scene]] | None = None
    scale: Sequence[SweptPath] = ()


def switches_of(study: Study, *arms: str) -> dict[str, dict[str, bool | float]]:
    """The switches that the study's file turns on in the model of each of these arms, and its numbers.

    Raises BadInput for an arm that the study does not have any more.
    """
    known = {arm: study.arm(arm).model_parameters for arm in arms}
    return {arm: {name: value for name, value in known[arm].items() if value is not False} for arm in arms}


def extra_calls_bounds(
    study: Study, arm: str, counter: str, unit: str, most: Callable[[int, int], float]
) -> list[dict[str, Any]]:
    """At each point of the guests: `arm` has more of a counter, from 0 to most(CPUs, processes)."""
    points = [(guest.cpus, n) for guest in study.parameters.guests for n in guest.processes]
    same = {"kind": BOUND, "arm": arm}
    counted = {"metric": f"extra {counter}", "unit": unit, "low": 0.0}
    return [{**same, "cpus": cpus, "threads": n, **counted, "high": most(cpus, n)} for cpus, n in points]


def simulated_arm(study: Study, name: str, **given: object) -> SimulatedArm:
    """An arm as the study's file has it in the simulator. given: parameters of the machine that it is for."""
    arm = study.arm(name)
    return SimulatedArm(study.model_of(arm), {**arm.model_parameters, **given})


def default_times(model: str, *names: str) -> dict[str, float]:
    """The model's own values of these parameters, whose unit is in their name."""
    known = {one.name: one.default for one in load_model(model).parameters}
    return {name: float(known[name]) for name in names}
