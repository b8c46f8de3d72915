# SPDX-License-Identifier: MIT
"""How well a model should describe each published column (data/fit-targets.yaml)."""

from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt, ValidationError

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.yaml_text import read_yaml

FILE = paths.DATA / "fit-targets.yaml"


class NotLaws(BaseModel):
    """Laws that contradict what the arm is known to do, `because` of what: no candidates for its curve."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    laws: list[str]
    because: str


class ColumnTarget(BaseModel):
    """Largest mean absolute percentage error: in sample, and with each thread count left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    column: str
    target_pct: PositiveFloat
    target_loo_pct: PositiveFloat
    not_laws: NotLaws | None = None


class TableTargets(BaseModel):
    """`n_min`: the smallest thread count of the table that is fitted, `because` of what."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    table: str
    n_min: PositiveInt = 1
    because: str = ""
    columns: list[ColumnTarget]


class SimulatedTarget(BaseModel):
    """Largest mean absolute percentage errors of a column that the simulator explains."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    table: str
    column: str
    target_pct: PositiveFloat
    target_loo_pct: PositiveFloat | None = None

    def is_met(self, mape_pct: float, loo_pct: float | None, calibrated: bool) -> bool:
        """Within what is set; a calibrated fit has shown nothing and meets none."""
        held_out = self.target_loo_pct is None or (loo_pct is not None and loo_pct <= self.target_loo_pct)
        return not calibrated and mape_pct <= self.target_pct and held_out


class _Simulated(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    source: str
    columns: list[SimulatedTarget]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    source: str
    tables: list[TableTargets]
    simulated: _Simulated


def fit_targets() -> dict[str, TableTargets]:
    """By table, in the order of the file. Raises BadInput where the file does not fit its shape."""
    return {found.table: found for found in _read().tables}


def simulated_targets() -> dict[tuple[str, str], SimulatedTarget]:
    """By table and column; likewise."""
    return {(one.table, one.column): one for one in _read().simulated.columns}


def _read() -> _File:
    try:
        return _File.model_validate(read_yaml(FILE))
    except (OSError, BadInput, ValidationError) as error:
        raise BadInput(f"{FILE} cannot be used: restore it from git") from error
