# SPDX-License-Identifier: MIT
"""How a study says which model of the simulator explains a table, and which of its parameters are fitted.

Every constant of a model that is not fitted is held at 0, so that no assumed number has a part in a fit;
what remains in the model files are 5 ns for a line that is at hand and 20 ns for a few loads and stores
under a lock.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lockscale.fitting.column import Column
from lockscale.fitting.published_table import published_columns
from lockscale.fitting.simulated_arm import Arm
from lockscale.fitting.simulated_model import SimulatedModel
from lockscale.sim.models import AnyModel

Ranges = Mapping[str, tuple[float, float]]
Row = dict[str, Any]


@dataclass(frozen=True)
class Simulated:
    """`arms` by column of the table, in its order; all fitted parameters are shared by all columns.

    made: the columns, where they are no curves of the table. checked: rows of what nothing is fitted to, from
    the rows of the fit. source: of what the fit depends on besides this package, a file of the user's own.
    """

    table: str
    model: AnyModel
    free: Ranges
    arms: Mapping[str, Arm]
    held: Mapping[str, object] = field(default_factory=dict)
    operations: int = 2000
    scales: bool = True
    made: Callable[[], Sequence[Column]] | None = None
    checked: Callable[[Sequence[Row]], list[Row]] | None = None
    source: str = ""

    def columns(self) -> list[Column]:
        """The published curves that the arms explain, or those of `made`; what is given is in the arms."""
        found = published_columns(self.table) if self.made is None else self.made()
        return [replace(one, given=None) for one in found if one.name in self.arms]

    def simulated_model(self) -> SimulatedModel:
        return SimulatedModel(
            self.model,
            self.free,
            self.held,
            arms=tuple(self.arms.values()),
            scales=self.scales,
            operations=self.operations,
            scan_starts=16,
        )

    def fixed(self) -> dict[str, float]:
        """Which arm is which column's, as `fit` takes it."""
        return {f"arm[{column}]": k for k, column in enumerate(self.arms)}


def figures(table: str, name: str, threads: int, values: Sequence[float], unit: str) -> Column:
    """Repeats of one published figure, at one number of threads."""
    rates = np.array(values, dtype=np.float64)
    return Column(table, name, np.full(len(rates), float(threads)), rates, None, unit, "published")
