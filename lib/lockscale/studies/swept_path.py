# SPDX-License-Identifier: MIT
"""A kernel path that is swept: which model, which arms, and where their parameters are from.

It takes the parameters of the scoreboard's fit to one published table, as uncertain as the fit left them.
Beyond that table's threads they are an extrapolation: the same machine, one socket, more CPUs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lockscale.errors import BadInput
from lockscale.fitting.simulated_model import Simulated
from lockscale.sim.models import AnyModel

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
