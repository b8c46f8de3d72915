# SPDX-License-Identifier: MIT
"""What a table can tell of its fits: the noise floor, who ties with the best, errors held out, where next.

How near to a table a perfect model would come: below that, a smaller error fits the noise.

With sd the standard deviation of ln(rate) at a point, the mean absolute error of the true curve is
sd sqrt(2 / pi) (normal noise). sd comes

- from repeats: their pooled spread about their own mean, over the root of the runs behind a point;
- else from neighbours, where thread counts are dense and even: each point against the line through
  the two beside it (T. Gasser, L. Sroka and C. Jennen-Steinmetz, Biometrika 73, 1986, p. 625). A bend
  of the curve between neighbours adds to it, so it is an upper bound.

Whether the data exclude a model, given the best one, or chance alone makes it fit so much worse.

Were the other model right, its residuals would be noise. Two F tests ask whether they are (N. R. Draper
and H. Smith, "Applied Regression Analysis", Wiley 1998, chapters 2 and 5), and p is twice the smaller
(Bonferroni):

extra    Do the best model's parameters take more out of the other's sum of squares than noise would let
         them? q of them are not the other's already: its number of free parameters, less the other's if it
         contains the other. Where it does not, a model that had the parameters of both would have the
         exact F, and cannot fit worse than the best does: so the test is too careful, never too bold.
misfit   Is its mean square of residuals larger than the best model's? Finds gross misfit in so few
         thread counts that none would be left for both models' parameters.

Repeats add to what is known of the noise. The best is the one of several that leave-one-out chose, any
of which may by chance fit better than the truth: p is multiplied by their number (Bonferroni). Residuals
below the digits of the numbers are equal.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from lockscale.errors import BadInput
from lockscale.queueing.fitted import Fit, error_pct, without
from lockscale.queueing.interval import NOISE_FLOOR, noise
from lockscale.queueing.model import check_threads
from lockscale.queueing.points import Points
from lockscale.queueing.search import FEWEST, problem_of, search

DENSE_POINTS = 10  # eight second differences know a standard deviation to a quarter
EVEN_GAPS = 1.5


@dataclass(frozen=True)
class NoiseFloor:
    """Mean absolute percentage error of a perfect model; source: `repeats` or `neighbours`.

    one_run_pct: the standard deviation of one run, in percent; pct is about the means of repeats.
    """

    pct: float
    source: str
    dof: int
    one_run_pct: float

    def __str__(self) -> str:
        if self.source == "repeats":
            return (
                f"Repeats scatter by {self.one_run_pct:.1f}% (standard deviation, {self.dof} degrees of "
                f"freedom), so a perfect model is {self.pct:.1f}% off their means (mean absolute)"
            )
        return f"Noise at most {self.pct:.1f}% (no repeats: each point against the two beside it)"


def noise_floor(table: Points) -> NoiseFloor | None:
    """None where the table has neither repeats nor dense, even thread counts."""
    if table.repeat_dof:
        one_run = float(np.sqrt(table.repeat_ss / table.repeat_dof))
        of_means = one_run * float(np.mean(1 / np.sqrt(table.weight)))
        return _floor(of_means, one_run, "repeats", table.repeat_dof)
    gaps = np.diff(table.threads)
    if len(table) < DENSE_POINTS or gaps.max() > EVEN_GAPS * gaps.min():
        return None
    left = gaps[1:] / (gaps[1:] + gaps[:-1])
    line = left * table.log_rate[:-2] + (1 - left) * table.log_rate[2:]
    off = (line - table.log_rate[1:-1]) / np.sqrt(left**2 + (1 - left) ** 2 + 1)
    one_run = float(np.sqrt(np.mean(off**2)))
    return _floor(one_run, one_run, "neighbours", len(off))


def _floor(of_points: float, one_run: float, source: str, dof: int) -> NoiseFloor:
    """Of standard deviations, of what is fitted and of one run."""
    return NoiseFloor(100 * of_points * float(np.sqrt(2 / np.pi)), source, dof, 100 * one_run)


LEVEL = 0.05
"""Below it two models are distinguishable."""
SAME_CURVE = 1e-4  # root mean square of ln(rate)


def p_same(best: Fit, other: Fit, rivals: int = 1) -> float:
    """How easily chance makes the other fit so much worse, the best being one of `rivals`; at most 1."""
    if other is best:
        return 1.0
    return min(1.0, 2 * max(rivals, 1) * min(p_extra(best, other), p_misfit(best, other)))


def p_extra(best: Fit, other: Fit) -> float:
    """By what the best model's parameters take out of the sum of squares; 1 where too few points are left."""
    points, ours, theirs = other.points, best.free_parameters, other.free_parameters
    if other.best.ss <= best.best.ss:
        return 1.0
    extra = ours - theirs if ours > theirs and contains(best, other) else ours
    freedom = len(points) - theirs - extra + points.repeat_dof
    if freedom <= 0:
        return 1.0
    gain = (other.best.ss - best.best.ss) / extra
    return float(fdtrc(extra, freedom, gain / _noise(best, freedom)))


def p_misfit(best: Fit, other: Fit) -> float:
    """By the mean squares of residuals."""
    freedom = len(other.points) - other.free_parameters
    known = len(best.points) - best.free_parameters + best.points.repeat_dof
    if freedom <= 0 or known <= 0 or other is best:
        return 1.0
    return float(fdtrc(freedom, known, other.best.ss / freedom / _noise(best, known)))


def _noise(best: Fit, freedom: int) -> float:
    """Variance of ln(rate) of one run."""
    return max((best.best.ss + best.points.repeat_ss) / freedom, NOISE_FLOOR)


def contains(larger: Fit, smaller: Fit) -> bool:
    """Whether a fit of the one model to the other's fitted curve is that curve."""
    curve = np.log(smaller.points.rate_per_s) + smaller.problem.misses(smaller.best.x)
    drawn = problem_of(larger.problem.model, replace(larger.points, log_rate=curve), larger.problem.fixed)
    return search(drawn)[0].ss <= SAME_CURVE**2 * float(np.sum(drawn.root_weight**2))


def extrapolation_pct(one: Fit) -> float | None:
    """Mean absolute percentage error at the larger half of thread counts, fitted to the smaller.

    None where the smaller half (rounded up) has no more thread counts than free parameters, and where
    fits of it that are equally good say different rates.
    """
    table = one.points
    large = np.arange(len(table)) >= (len(table) + 1) // 2
    if not large.any() or (~large).sum() <= one.free_parameters:
        return None
    ahead = without(one.problem, large)
    if not ahead.determined.all():
        return None
    return float(np.mean(np.abs(error_pct(ahead.misses))))


def coverage_pct(one: Fit) -> float | None:
    """Share of thread counts where the 95% interval held that a fit without them predicts there.

    A point that is the mean of several runs is held against the interval of a mean of as many. None where a
    fit without one of them has no degree of freedom, and so no interval.
    """
    if not one.left_out:
        return None
    held = []
    for apart in one.left_out:
        problem, best = apart.problem, apart.best
        refit = Fit(problem, best, noise(problem.points, best.ss, one.free_parameters), ())
        out = one.points.keep(apart.out)
        for n, k, runs, rate in zip(out.threads, out.column, out.weight, out.rate_per_s, strict=True):
            ahead = refit.predict([n], one.points.names[k], runs=runs)
            held.append(ahead.low[0] <= rate <= ahead.high[0])
    return float(100 * np.mean(held))


@dataclass(frozen=True)
class Candidate:
    """A thread count at which to tell two models apart; rates per second.

    separation: the distance of the models over the noise of a prediction. Above 1, one run there that
    obeys the one model excludes the other at 95%.
    """

    threads: int
    rates_per_s: tuple[float, float]
    separation: float


def tell_apart(one: Fit, other: Fit, threads: npt.ArrayLike) -> tuple[Candidate, ...]:
    """Thread counts from a list, the one that tells two fits of one table apart best first.

    Suppose that a run at N gives exactly what the one model says. How much worse does the other fit
    the table and that run, after it has adjusted its parameters? The root of that rise over its 95%
    limit is the separation; the smaller of both directions counts. This is T-optimality (A. C. Atkinson
    and V. V. Fedorov, Biometrika 62, 1975, p. 57) for one more run.
    """
    if one.noise is None or other.noise is None:
        raise BadInput(
            "a fit without a degree of freedom has no estimate of the noise: measure more "
            "thread counts first."
        )
    found = []
    for n in np.unique(check_threads(threads)):
        rates = tuple(float(f.problem.model.rate(np.array([n]), f.params)[0]) for f in (one, other))
        separation = min(_rise(other, n, rates[0]), _rise(one, n, rates[1]))
        found.append(Candidate(int(n), (rates[0], rates[1]), separation))
    return tuple(sorted(found, key=lambda c: (-c.separation, c.threads)))


def _rise(one: Fit, threads: float, rate_per_s: float) -> float:
    assert one.noise is not None
    weight = one.noise.unit / one.noise.row
    table = one.points.with_row(threads, float(np.log(rate_per_s)), weight)
    problem = replace(one.problem, points=table)
    again = problem.minimise([one.best.x, *problem.starts(FEWEST)])
    return float(np.sqrt(max(again.ss - one.best.ss, 0.0) / one.noise.limit))
