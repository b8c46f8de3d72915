# SPDX-License-Identifier: MIT
"""Parameters as uncertain as a fit left them: draws around the best, from its covariance."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lockscale.errors import BadInput

Values = dict[str, float]
TRIES = 1000  # for each set that is wanted


def draws(logs: Mapping[str, Any], count: int, more: Mapping[str, float], seed: int = 1) -> list[Values]:
    """The best set, then `count` normal draws of the logarithms that lie within the fit's bounds.

    logs: names (k,), mean (k,), covariance (k, k) and bounds (2, k), as a row of the scoreboard has them.
    more: factors that are 1 in the best set, with the standard deviation of their logarithm. What the data
    leave open is spread up to its bounds. Raises BadInput for a fit that does not say how sure it is.
    """
    if logs["covariance"] is None:
        raise BadInput("a calibrated fit does not say how sure its parameters are: there is nothing to draw")
    by, mean, (low, high) = np.random.default_rng(seed), np.array(logs["mean"]), np.array(logs["bounds"])
    tried = by.multivariate_normal(mean, np.array(logs["covariance"]), size=count * TRIES)
    within = tried[np.all((low <= tried) & (tried <= high), axis=1)][:count]
    if len(within) < count:
        raise BadInput("next to no draw of the fit's parameters lies within their bounds: fit it anew")
    factors = by.normal(0, list(more.values()), size=(count, len(more)))
    sets = np.vstack([np.append(mean, np.zeros(len(more))), np.hstack([within, factors])])
    return [dict(zip([*logs["names"], *more], one, strict=True)) for one in np.exp(sets).tolist()]
