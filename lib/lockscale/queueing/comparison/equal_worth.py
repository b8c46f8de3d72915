# SPDX-License-Identifier: MIT
"""Whether the data tell a model from the best one, or chance alone makes their errors differ so.

Two tests, and twice the smaller p (Bonferroni):

signs    Were the models equally good, each difference of their absolute held-out errors might as well
         have the other sign: exact two-sided test of the sum (R. A. Fisher, "The Design of
         Experiments", 1935, section 21; for forecasts F. X. Diebold and R. S. Mariano, J. Business &
         Economic Statistics 13, 1995, p. 253). Finds small differences in many thread counts.
misfit   Were the model right, its mean square of residuals would be noise, of which the best model's is
         an estimate: F test (N. R. Draper and H. Smith, "Applied Regression Analysis", Wiley 1998,
         chapter 2). Finds gross misfit in few thread counts.

Held-out errors share most of their data and the best is chosen by them, so p is approximate.
"""

import numpy as np
from scipy.special import fdtrc

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.inference.fitted import Fit

FLIPS = 2**16
LEVEL = 0.05
"""Below it two models are told apart."""


def p_same(best: Fit, other: Fit) -> float:
    """How easily chance makes two fits of one table differ as they do; 1 where nothing can be said."""
    return min(1.0, 2 * min(p_signs(best, other), p_misfit(best, other)))


def p_signs(one: Fit, other: Fit) -> float:
    """By the signs; beyond 16 thread counts FLIPS random ones stand for all."""
    if one.held_out_pct is None or other.held_out_pct is None:
        return 1.0
    apart = np.abs(one.held_out_pct) - np.abs(other.held_out_pct)
    sums = np.abs(_signs(len(apart)) @ apart)
    seen = abs(float(apart.sum()))
    return float(np.mean(sums >= seen * (1 - 1e-9)))


def p_misfit(best: Fit, other: Fit) -> float:
    """By the mean squares of residuals."""
    freedom = len(other.points) - other.free_parameters
    if best.noise is None or not freedom or other is best:
        return 1.0
    return float(fdtrc(freedom, best.noise.dof, other.best.ss / freedom / best.noise.unit))


def _signs(count: int) -> FloatArray:
    """Every way to give signs to `count` numbers, or FLIPS random ones with none flipped among them."""
    if 2**count <= FLIPS:
        bits = np.arange(2**count)[:, None] >> np.arange(count) & 1
        return np.where(bits, -1.0, 1.0)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (FLIPS, count))
    signs[0] = 1.0
    return signs
