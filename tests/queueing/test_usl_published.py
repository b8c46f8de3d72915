# SPDX-License-Identifier: MIT
"""The USL against a data set whose coefficients were published by somebody else.

Data and coefficients: SPECsdm91 of a Sun SPARCcenter 2000 (load = simulated users, throughput in
scripts an hour), in N. J. Gunther, "Guerrilla Capacity Planning", 2007, and in the R package `usl`
(S. Moeding), whose `usl(throughput ~ load, specsdm91)` prints the coefficients and residuals below:
least squares on the rates themselves.
"""

import numpy as np
import pytest
from scipy.optimize import curve_fit

from lockscale.queueing.fit import fit_model
from lockscale.queueing.laws.usl import USL
from lockscale.queueing.points import points

LOAD = np.array([1, 18, 36, 72, 108, 144, 216])
THROUGHPUT = np.array([64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2])
PUBLISHED = {"lambda_per_s": 89.9952330, "sigma": 0.0277285, "kappa": 0.0001044}
RESIDUAL_QUARTILES = [-81.66, -48.29, -25.09, 29.52, 111.09]


def test_the_published_coefficients_give_the_published_residuals():
    residuals = THROUGHPUT - USL(LOAD, **PUBLISHED)
    # kappa is printed to four digits, which moves the largest load's rate by 0.2
    assert np.quantile(residuals, [0, 0.25, 0.5, 0.75, 1]) == pytest.approx(RESIDUAL_QUARTILES, abs=0.3)


def test_least_squares_on_the_rates_gives_the_published_coefficients():
    def rate(n, first, sigma, kappa):
        return USL(n, lambda_per_s=first, sigma=sigma, kappa=kappa)

    found, _ = curve_fit(rate, LOAD, THROUGHPUT, p0=[65, 0.02, 1e-4], bounds=(1e-9, [1e3, 1, 1]))
    # as many digits as are printed
    assert found == pytest.approx(list(PUBLISHED.values()), rel=5e-4)
    assert found[:2] == pytest.approx([89.9952330, 0.0277285], rel=1e-5)


def test_fit_gives_them_too_once_its_weights_undo_the_logarithm():
    """At a minimum of sum (y - f)^2 the weights f (y - f) / ln(y/f) make sum w ln(y/f)^2 stationary."""
    curve = USL(LOAD, **PUBLISHED)
    weights = curve * (THROUGHPUT - curve) / np.log(THROUGHPUT / curve)
    found = fit_model(points(LOAD, THROUGHPUT, weights=weights / weights.mean()), USL)
    assert found.params == pytest.approx(PUBLISHED, rel=1e-3)
