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


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    source: str
    tables: list[TableTargets]


def fit_targets() -> dict[str, TableTargets]:
    """By table, in the order of the file. Raises BadInput where the file does not fit its shape."""
    try:
        read = _File.model_validate(read_yaml(FILE))
    except (OSError, BadInput, ValidationError) as error:
        raise BadInput(f"{FILE} cannot be used: restore it from git") from error
    return {found.table: found for found in read.tables}
