# SPDX-License-Identifier: MIT
"""The tables that a study names: published ones, and CSV files of its own beside the study file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from lockscale import paths
from lockscale.errors import BadInput, printable
from lockscale.files import sha256_of, write_bytes
from lockscale.study.file import Study
from lockscale.study.mistakes import told_of
from lockscale.tables import AuditRow, describe, published
from lockscale.tables.audit_file import audit_file

if TYPE_CHECKING:  # a published table needs no scipy, which comes with fitting
    from lockscale.fitting.column import Column

EXTREMES = ("min", "max")
NOT_PROFILED = ("false", "no", "0", "0.0", "")


@dataclass(frozen=True)
class StudyTable:
    """One table. frame: a published one as printed, of a file its rates; each row with its `origin`.

    path: the file; None of a published table. Rates of a file have the columns arm, threads, metric,
    statistic, unit, value; their arm is the file's, or, where that has several curves, the curve's name.
    """

    name: str
    frame: pd.DataFrame
    path: Path | None = None

    @property
    def kind(self) -> str:
        """`published`, or the name of the file."""
        return "published" if self.path is None else self.name

    @property
    def origins(self) -> list[str]:
        return [str(origin) for origin in self.frame.origin.unique()]

    def described(self) -> dict[str, Any]:
        """As describe() of a published table; a file states its origin alone."""
        if self.path is None:
            return describe(self.name)
        unknown = dict.fromkeys(("machine", "kernel", "command"))
        return {"name": self.name, "origin": " and ".join(self.origins), **unknown}


def study_tables(study: Study, folders: Sequence[Path] = ()) -> list[StudyTable]:
    """Every table of the study, in its order; a file from the first of `folders` that has it.

    folders: by default the study file's own. Raises BadInput with the study file and the table at fault.
    """
    with told_of(study.name, "tables"):
        found = [_table(study, name, folders or [beside(study)]) for name in study.tables]
        for table in found:
            if table.path:
                own_claims(table.path)  # a change that cannot be recomputed is refused here, not amid a run
        return found


def published_table(name: str) -> StudyTable:
    """One of data/published."""
    return StudyTable(name, published(name).assign(origin="published"))


def own_claims(path: Path) -> list[AuditRow]:
    """The arithmetic of a file of the user's own; none of one that prints no change in %."""
    return audit_file(path) if _prints_changes(path) else []


def beside(study: Study) -> Path:
    """The folder in which the study file really is, whatever links lead to it."""
    return (paths.STUDIES / f"{study.name}.yaml").resolve().parent


def keep_tables(study: Study, into: Path, read: Sequence[Path] = ()) -> None:
    """Copy the study's own tables into a run, whose copy is left where there is no other.

    read: folders that come before the study file's. Raises BadInput where a file is nowhere.
    """
    for name, path in _files(study, [*read, beside(study), into]).items():
        if path != into / name:
            write_bytes(into / name, path.read_bytes())


def tables_sha256(study: Study, read: Sequence[Path] = ()) -> dict[str, str]:
    """The content of the study's own tables, by name; of published ones the repository answers."""
    return {name: sha256_of(path) for name, path in _files(study, [*read, beside(study)]).items()}


def changed_tables(study: Study, kept: Path) -> list[str]:
    """Those of the study's own tables that are no longer as a run's folder `kept` has them."""
    pairs = [(name, kept / name, beside(study) / name) for name in study.own_tables]
    return [name for name, *two in pairs if all(map(Path.is_file, two)) and len(set(map(sha256_of, two))) > 1]


def _files(study: Study, folders: Sequence[Path]) -> dict[str, Path]:
    with told_of(study.name, "tables"):
        return {name: _file(study, name, folders) for name in study.own_tables}


def _file(study: Study, name: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise BadInput(f"{name} is not a file in {beside(study)}: put the CSV there, or name a published table")


def _table(study: Study, name: str, folders: Sequence[Path]) -> StudyTable:
    if name not in study.own_tables:
        return published_table(name)
    path = _file(study, name, folders)
    return StudyTable(name, _rates(name, path), path)


def _rates(name: str, path: Path) -> pd.DataFrame:
    """The rates of the first metric that is one, extremes left out: a row each, per second."""
    from lockscale.fitting.user_table import own_columns, read_cells

    cells = read_cells(path)
    own_columns(cells, name)  # every row is checked, also those that no notebook shows
    cells = _shown(cells)
    if cells.empty:
        raise BadInput(f"{name} has only minima and maxima: add the rates")
    arms = cells.groupby("arm", sort=False) if "arm" in cells else [("", cells)]
    curves = [(str(arm), own_columns(rows, name)) for arm, rows in arms]
    if any(curve.unit == "B/s" for _, found in curves for curve in found):
        raise BadInput(f"{name} has rates in bytes: give operations per second")
    parts = [_long(arm, curve, alone=len(found) == 1) for arm, found in curves for curve in found]
    return pd.concat(parts, ignore_index=True)


def _long(arm: str, curve: "Column", *, alone: bool) -> pd.DataFrame:
    name = arm if arm and alone else f"{arm} {curve.name}".strip()
    return pd.DataFrame(
        {
            "arm": printable(name),
            "threads": curve.threads.astype(int),
            "metric": "rate",
            "statistic": "",
            "unit": curve.unit or "ops/s",
            "value": curve.rates_per_s,
            "origin": printable(curve.origin or "not stated"),
        }
    )


def _shown(cells: pd.DataFrame) -> pd.DataFrame:
    if "profiled" in cells:
        cells = cells[cells.profiled.str.strip().str.lower().isin(NOT_PROFILED)]
    if "statistic" in cells:
        cells = cells[~cells.statistic.isin(EXTREMES)]
    if "metric" in cells:
        rates = cells[cells.unit.map(_is_rate).astype(bool)] if "unit" in cells else cells
        cells = rates[rates.metric.isin(rates.metric.head(1))]
    return cells


def _is_rate(unit: str) -> bool:
    from lockscale.fitting.rate_unit import rate_unit

    try:
        return bool(rate_unit(unit.strip()))
    except ValueError:
        return False


def _prints_changes(path: Path) -> bool:
    from lockscale.fitting.user_table import read_cells

    cells = read_cells(path)
    long_form = {"arm", "metric", "statistic", "unit"} <= set(cells.columns)
    return long_form and bool(((cells.unit == "%") & cells.statistic.str.startswith("vs_")).any())
