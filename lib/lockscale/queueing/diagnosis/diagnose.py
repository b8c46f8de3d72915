# SPDX-License-Identifier: MIT
"""What a fit says of the machine: the landmarks of its curve, with intervals."""

from dataclasses import dataclass

import numpy as np

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.diagnosis.landmarks import (
    NONE,
    Curve,
    Landmark,
    grid,
    log_ceiling,
    log_collapse,
    log_knee,
    log_saturation,
)
from lockscale.queueing.diagnosis.region import Region, region
from lockscale.queueing.inference.fitted import Fit
from lockscale.queueing.text.numbers import short

LANDMARKS: dict[str, tuple[str, Landmark]] = {
    "knee_threads": ("threads", log_knee),
    "ceiling_per_s": ("1/s", log_ceiling),
    "saturation_threads": ("threads", log_saturation),
    "collapse_threads": ("threads", log_collapse),
}
ONE_THREAD = 0.0  # its logarithm
MANY, PARTS = 1000, 6  # a chain's cost is thread counts x largest: beyond MANY the smaller go apart


@dataclass(frozen=True)
class Diagnosis:
    """One landmark and its 95% interval; ends are None where the data set none.

    status: `identified`, `open-low`, `open-high`, `calibrated` (no interval), or `none`: the curve has
    no such landmark up to the horizon, and `low` is then where one could at the earliest be. extrapolated:
    it lies beyond the table.
    """

    name: str
    unit: str
    value: float | None
    low: float | None
    high: float | None
    status: str
    extrapolated: bool

    def __str__(self) -> str:
        name = self.name.removesuffix("_threads").removesuffix("_per_s")
        if self.value is None:
            return f"{name:<14}none" + (f", or beyond {short(self.low)} {self.unit}" if self.low else "")
        interval = f"[{short(self.low)}, {short(self.high)}]"
        if self.status in ("calibrated", "fixed"):
            interval = ""
        where = " beyond the table" if self.extrapolated else ""
        return f"{name:<14}{short(self.value):>12} {self.unit:<8} {interval:<22} {self.status}{where}"


def diagnose(one: Fit) -> tuple[Diagnosis, ...]:
    """Knee, ceiling, saturation and collapse of a fit (see `landmarks` and `region`)."""
    if one.noise is None or not one.problem.free:
        status = "calibrated" if one.problem.free else "fixed"
        return tuple(_diagnosis(one, name, None, None, status) for name in LANDMARKS)
    near = region(one, one.noise)
    curves = [_curve(one, x) for x in near.inside]
    return tuple(_with_ends(near, curves, name) for name in LANDMARKS)


def _with_ends(near: Region, curves: list[Curve], name: str) -> Diagnosis:
    landmark = LANDMARKS[name][1]
    logs = np.array([landmark(curve) for curve in curves])
    lowest = -near.climb(int(logs.argmin()), lambda x: -landmark(_curve(near.one, x)))
    highest = near.climb(int(logs.argmax()), lambda x: landmark(_curve(near.one, x)))
    low = None if lowest in (ONE_THREAD, NONE) else float(np.exp(lowest))
    high = None if highest == NONE else float(np.exp(highest))
    status = "open-high" if high is None else "open-low" if low is None else "identified"
    return _diagnosis(near.one, name, low, high, status)


def _diagnosis(one: Fit, name: str, low: float | None, high: float | None, status: str) -> Diagnosis:
    unit, landmark = LANDMARKS[name]
    curve = _curve(one, one.best.x)
    found = landmark(curve)
    at = log_saturation(curve) if unit == "1/s" else found
    extrapolated = bool(at > np.log(one.points.threads[-1]))
    if found == NONE:
        return Diagnosis(name, unit, None, low, None, "none", extrapolated)
    return Diagnosis(name, unit, float(np.exp(found)), low, high, status, extrapolated)


def _curve(one: Fit, x: FloatArray) -> Curve:
    threads = grid(float(one.points.threads[-1]))
    parts = np.array_split(threads, PARTS) if threads[-1] > MANY else [threads]
    params = one.problem.params(x)
    with np.errstate(all="ignore"):
        rates = np.concatenate([one.problem.model.rate(part, params) for part in parts])
        return Curve(np.log(threads), np.log(rates))
