# SPDX-License-Identifier: MIT
"""Whether the data exclude a model, given the best one, or chance alone makes it fit so much worse.

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

from dataclasses import replace

import numpy as np
from scipy.special import fdtrc

from lockscale.queueing.inference.fitted import Fit
from lockscale.queueing.inference.global_search import problem_of, search
from lockscale.queueing.inference.interval import NOISE_FLOOR

LEVEL = 0.05
"""Below it two models are told apart."""
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
