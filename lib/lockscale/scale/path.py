# SPDX-License-Identifier: MIT
"""A kernel path that is swept: which model, which arms, and where their parameters are from.

It takes the parameters of the scoreboard's fit to one published table. Beyond that table's threads they
are an extrapolation: the same machine, one socket, more CPUs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lockscale.fitting.simulated_model import Simulated
from lockscale.scale.draws import Values
from lockscale.sim.models import AnyModel

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
    """`unit_per_s`: the rate that counts as 1; `more`: drawn beside the fit to `table`, with the SD of ln."""

    name: str
    model: AnyModel
    table: str
    unit: str
    arms: Mapping[str, SweptArm]
    unit_per_s: float = 1.0
    more: Mapping[str, float] = field(default_factory=dict)


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
