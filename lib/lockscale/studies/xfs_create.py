# SPDX-License-Identifier: MIT
"""xfs-create: what the rates of four allocation groups say of many, with no number of the many-group arm.

A directory lies in the next group, and a create in it holds that group's AGI buffer. So k times as many
groups are k times the same file system, with N / k processes each, and while the groups are no fewer than
the processes nobody waits for one. That gives the rate without any other limit. The other limit is what all
groups share: the log, the VFS's locks, the cache-line transfers. It shows where four groups are one for each
process: by how much a create then takes longer beside others than alone. How that goes on beyond is not in
their rates.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from lockscale.errors import BadInput
from lockscale.predict import residual_bottleneck as residual
from lockscale.predict.answer import (
    OWN_WORK,
    Answer,
    Idea,
    Open,
    ParameterEstimate,
    Predicted,
    creates_per_s,
    gains_over,
    idea_by_gain,
)
from lockscale.predict.unpatched_columns import UnpatchedCurve
from lockscale.studies.hooks import StudyParts, extra_calls_bounds
from lockscale.study.file import Study, load_study
from lockscale.study.tables import beside, study_tables

NAME = "xfs-create"
COUNTS = "xfs-create-four-groups-counts.csv"
FEW, MANY = "four-groups", "many-groups"
GROUPS = "allocation_groups"
COUNTER = "waits for a buffer"
AGI_LOCKS = 3.0
"""Of a create and its unlink: one to take the inode, one for the unlinked list, one to free the inode."""
NOBODY = 0.01
"""Waits a create, at most, for which its time beside others is that of no lock of a group."""
AT_WORK_STEPS = 50

NAIVE = (
    "it subtracts all waiting, as if each process were as fast as one alone. But processes that no longer "
    "wait for a group meet at what all groups share"
)
LOG = Open(
    "what all groups share",
    "how much longer a create takes beside more than three others: the ceiling of the log and of the VFS's "
    "locks is above every rate of four groups, so it caps the gain somewhere in the interval",
    "lock_stat of four processes with a group each: of the busiest lock that is no group's, hold and wait of "
    "a contended acquisition, times its acquisitions for one create",
)


@dataclass(frozen=True)
class SharedCost:
    """The Universal Scalability Law's two costs of what all groups share (queueing/laws/usl.py)."""

    sigma: float
    kappa: float

    def growth(self, at_work: float) -> float:
        return 1 + self.sigma * (at_work - 1) + self.kappa * at_work * (at_work - 1)


@dataclass(frozen=True)
class FewGroups:
    """Rates per s of the arm with few groups, its repeats at each number of processes in order.

    waits: how often a create and its unlink wait for a buffer, where that was counted.
    """

    repeats: Mapping[int, list[float]]
    waits: Mapping[int, float]
    groups: int

    @cached_property
    def mean(self) -> dict[int, float]:
        return {n: sum(rates) / len(rates) for n, rates in self.repeats.items()}

    @property
    def curve(self) -> UnpatchedCurve:
        return UnpatchedCurve(list(self.mean), list(self.mean.values()))

    @property
    def alone(self) -> float:
        return self.mean[1]

    def free(self) -> list[int]:
        """Numbers of processes, above one, that have a group each: by the counts, where there are any."""
        return [n for n in self.mean if 1 < n <= self.groups and self.waits.get(n, 0.0) < NOBODY]

    def fitted(self) -> SharedCost:
        """Both costs, by least squares, neither below 0."""
        at = np.array(self.free(), float)
        excess = np.array([n * self.alone / self.mean[n] - 1 for n in self.free()])
        sigma, kappa = nnls(np.stack([at - 1, at * (at - 1)], axis=1), excess)[0]
        return SharedCost(float(sigma), float(kappa))

    def steepest(self) -> SharedCost:
        """All of the growth by pairs, at its largest within the repeats: as steep as can be."""
        n = self.free()[-1]
        excess = max(n * max(self.repeats[1]) / min(self.repeats[n]) - 1, 0.0)
        return SharedCost(0.0, excess / (n * (n - 1)))

    def at_work(self, n: int, shared: SharedCost) -> float:
        """How many of n processes wait for no group: all that have one each, else by Little's law."""
        if n <= self.groups:
            return float(n)
        found = self.mean[n] / self.alone
        for _ in range(AT_WORK_STEPS):
            found = min(self.mean[n] / self.alone * shared.growth(found), float(n))
        return found


def whatif(given: Mapping[str, float]) -> Answer:
    """Each number of processes from four groups at as many a group, and behind what all groups share."""
    study = load_study(NAME)
    rates, used = _few_groups(study)
    times = int(_groups(study, MANY) / rates.groups)
    predictions = [row for n in rates.mean if (row := _row(rates, n, times))]
    return Answer(
        study=NAME,
        used=used,
        parameters=_parameters(rates),
        waits=residual.waits(rates.curve, "create", ("an AGI buffer",)),
        predictions=predictions,
        open=[LOG],
        ideas=_ideas(rates, predictions),
        naive_reason=NAIVE,
        notes=[
            f"{FEW} has a group for each of up to {rates.groups} processes, {MANY} {times} times as many. "
            "The value lets what all groups share grow on as it does there, by a queue's law and by pairs; "
            f"the high end lets it grow no further; the low end is all by pairs, and no more than {FEW} "
            "makes with a group for each process. These ends are assumptions about how it continues, not a "
            "95% interval."
        ],
        waits_origin=residual.WHENCE,
        origin="virtual",
    )


def _few_groups(study: Study) -> tuple[FewGroups, list[str]]:
    """Its rates, every repeat one, and what was read."""
    (table,) = study_tables(study)
    rows = table.frame[table.frame.arm == FEW]
    if not {1, _groups(study, FEW)} <= set(rows.threads):
        raise BadInput(f"{table.name} lacks {FEW} at 1 or 4 processes: restore it from git")
    repeats: dict[int, list[float]] = {}
    for n, value in sorted(zip(rows.threads, rows.value, strict=True)):
        repeats.setdefault(int(n), []).append(float(value))
    waits, counted = _waits(beside(study) / COUNTS)
    return FewGroups(repeats, waits, _groups(study, FEW)), [f"{table.name} ({FEW} only)", counted]


def _waits(path: Path) -> tuple[dict[int, float], str]:
    """Waits for a buffer a create on the observe kernel, by processes, and what was read."""
    try:
        counts = pd.read_csv(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}): restore it from git") from None
    wide = counts[counts.arm == FEW].pivot_table(index="threads", columns="metric", values="value")
    per = wide["calls:__down"] / wide["trace:xfs_create"]
    return dict(zip(per.index.astype(int), per.astype(float), strict=True)), f"{path.name} ({FEW} only)"


def _groups(study: Study, arm: str) -> int:
    return next(int(one.model_parameters[GROUPS]) for one in study.arms if one.name == arm)


def _row(rates: FewGroups, n: int, times: int) -> Predicted | None:
    """None where four groups were not measured at as many processes a group."""
    naive = n * rates.alone
    if n <= rates.groups:
        value = high = low = rates.mean[n]
    elif n % times or n // times not in rates.mean:
        return None
    else:
        few = n // times
        high = times * rates.mean[few]
        value = _behind(rates, few, times, rates.fitted())
        low = min(rates.mean[rates.free()[-1]], _behind(rates, few, times, rates.steepest()))
    ends = (min(low, value) / OWN_WORK, high * OWN_WORK)
    return creates_per_s(MANY, n, value, ends, naive, rates.mean[n])


def _behind(rates: FewGroups, few: int, times: int, shared: SharedCost) -> float:
    """`times` the rate of `few` processes, each create slowed by as many more at work.

    All of a create's time is taken to grow by the same factor, the hold of the AGI with it.
    """
    at_work = rates.at_work(few, shared)
    return times * rates.mean[few] * shared.growth(at_work) / shared.growth(times * at_work)


def _parameters(rates: FewGroups) -> list[ParameterEstimate]:
    n, fitted, steepest = rates.free()[-1], rates.fitted(), rates.steepest()
    growth = n * rates.alone / rates.mean[n] - 1
    least = n * min(rates.repeats[1]) / max(rates.repeats[n]) - 1
    most = steepest.growth(n) - 1
    of = f"of a create's time, {n} processes with a group each over one alone"
    queued = max((m * max(rates.repeats[1]) / min(rates.repeats[m]) - 1) / (m - 1) for m in rates.free())
    most_waits = max(rates.waits, key=lambda n: rates.waits[n])
    waits, unit = [rates.waits[most_waits]], f"per create, with its unlink, {most_waits} processes"
    return [
        ParameterEstimate.between("waits for a buffer", unit, waits, "identified", "counted"),
        ParameterEstimate("growth", of, growth, least, most, "identified", "repeats, least to most"),
        ParameterEstimate("sigma", "1", fitted.sigma, 0.0, queued, "open", "least squares, as in usl"),
        ParameterEstimate(
            "kappa", "1", fitted.kappa, 0.0, steepest.kappa, "open", "least squares, as in usl"
        ),
    ]


def _ideas(rates: FewGroups, predictions: list[Predicted]) -> list[Idea]:
    last = predictions[-1]
    gain = gains_over(last.low, last.high, rates.mean[last.threads])
    return [
        idea_by_gain(MANY, gain, last.threads, "the ceiling of what all groups share is not in these rates")
    ]


def guest_bounds(study: Study) -> list[dict[str, Any]]:
    """More waits of four-groups, for each point of the guests, by the algorithm alone.

    With a group for each process in both arms none wait for one. With more processes some do in four groups,
    and a create with its unlink at most once for each time that it takes the AGI, if for no other buffer.
    """
    groups = _groups(study, FEW)

    def most(cpus: int, n: int) -> float:
        return AGI_LOCKS if min(n, cpus) > 1 and n > groups else 0.0

    return extra_calls_bounds(study, FEW, COUNTER, "per create", most)


STUDY = StudyParts(name=NAME, order=5, whatif=whatif, guest_bounds=guest_bounds)
