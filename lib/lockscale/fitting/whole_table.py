# SPDX-License-Identifier: MIT
"""Every curve of a table at once, for the command line: what cannot be fitted is left out by name."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from lockscale.errors import BadInput
from lockscale.fitting.column import Column
from lockscale.fitting.read import Table, read_columns, thread_range
from lockscale.fitting.swapped import looks_swapped
from lockscale.fitting.table_fit import compare_columns, fit_column, fit_columns, model_of, models_of
from lockscale.progress import progress
from lockscale.queueing.comparison.compare import Comparison
from lockscale.queueing.diagnosis import Diagnosis, diagnose
from lockscale.queueing.inference.fitted import Fit


@dataclass(frozen=True)
class FittedColumn:
    """Fits of one curve, best first where there are several, and the landmarks of the first.

    A curve given another has none: beyond the thread counts of that one nothing is known.
    """

    column: Column
    fits: tuple[Fit, ...]
    landmarks: tuple[Diagnosis, ...]

    def to_json(self) -> list[dict[str, Any]]:
        """The `fit` shape of the command line, one for each model."""
        return [
            {
                **one.to_json(self.column.table, self.column.name),
                "origin": self.column.origin,
                "rank": rank,
                "landmarks": [vars(d) for d in self.landmarks] if rank == 1 else [],
            }
            for rank, one in enumerate(self.fits, start=1)
        ]


@dataclass(frozen=True)
class SharedFit:
    """Every curve of a table fitted at once; no landmarks, which are those of one curve."""

    columns: tuple[Column, ...]
    fit: Fit

    def to_json(self) -> list[dict[str, Any]]:
        """The `fit` shape of the command line; a parameter that is not shared is name[column]."""
        names = ", ".join(column.name for column in self.columns)
        origins = ", ".join(dict.fromkeys(column.origin for column in self.columns))
        found = self.fit.to_json(self.columns[0].table, names)
        return [{**found, "origin": origins, "rank": 1, "landmarks": []}]

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.columns, self.fit)))


def share_table(
    table: Table,
    model: str,
    share: Collection[str],
    n_min: int = 1,
    n_max: int | None = None,
    fixed: Mapping[str, float] | None = None,
) -> tuple[SharedFit, list[str]]:
    """Every curve of a table at once, with the parameters in `share` one number for all.

    Curves given another are not among them. Also a sentence on each curve that looks odd. Raises BadInput
    where one cannot be used.
    """
    alone = [column for column in read_columns(table) if column.given is None]
    used = tuple(column.between(*thread_range(n_min, n_max)) for column in alone)
    said = [odd for column in used if (odd := looks_swapped(column))]
    return SharedFit(used, fit_columns(used, model, share, fixed)), said


def fit_table(
    table: Table,
    model: str | None = None,
    n_min: int = 1,
    n_max: int | None = None,
    fixed: Mapping[str, float] | None = None,
) -> tuple[list[FittedColumn], list[str]]:
    """Every curve of a table with every model, or those that the one named can be of with that one.

    Also a sentence on each curve that is left out because it has too few thread counts, or looks odd.
    Raises BadInput where none is left.
    """
    if model is None and fixed:
        raise BadInput("fixed parameters are those of one model: name the model too")
    columns = read_columns(table)
    if model is not None:
        columns = [column for column in columns if model in models_of(column)] or columns[:1]
    chosen, said = _usable(columns, thread_range(n_min, n_max), model, fixed or {})
    if model is None:
        ranked = compare_columns(f"fit {table}", chosen)
        return [_with_landmarks(one, found.fits) for one, found in zip(chosen, ranked, strict=True)], said
    with progress(f"fit {table}", len(chosen)) as shown:
        fitted = []
        for done, column in enumerate(chosen, start=1):
            fitted.append(_with_landmarks(column, (fit_column(column, model, fixed),)))
            shown.update(done, column.name)
    return fitted, said


def _with_landmarks(column: Column, fits: tuple[Fit, ...]) -> FittedColumn:
    return FittedColumn(column, fits, () if column.given else diagnose(fits[0]))


def compare_table(
    table: Table, n_min: int = 1, n_max: int | None = None
) -> tuple[list[tuple[Column, Comparison]], list[str]]:
    """Every curve of a table with every model, and what `fit_table` also says."""
    columns, said = _usable(read_columns(table), thread_range(n_min, n_max))
    return list(zip(columns, compare_columns(f"compare {table}", columns), strict=True)), said


def _usable(
    columns: Sequence[Column],
    threads: tuple[int, int | None],
    model: str | None = None,
    fixed: Mapping[str, float] = MappingProxyType({}),
) -> tuple[list[Column], list[str]]:
    """The curves with enough thread counts in the range, and what is to be said of these and the others."""
    usable, said, left_out = [], [], []
    for column in columns:
        try:
            used = column.between(*threads)
            _check_length(used, model, fixed)
        except BadInput as refused:
            left_out.append(str(refused))
            continue
        usable.append(used)
        said += [odd] if (odd := looks_swapped(used)) else []
    if not usable:
        raise BadInput("; ".join(left_out))
    return usable, [*left_out, *said]


def _check_length(column: Column, model: str | None, fixed: Mapping[str, float]) -> None:
    """Raises BadInput unless there are as many thread counts as some model, or this, has free parameters."""
    models = models_of(column).values() if model is None else [model_of(column, model)]
    fewest = min(sum(p.name not in fixed for p in one.parameters) for one in models)
    counts = len(np.unique(column.threads))
    if counts < fewest:
        what, cure = f"every model needs {fewest} or more", "measure more"
        if model is not None:
            what, cure = (
                f"model {model} has {fewest} free parameters",
                "measure more, or fix some with --fixed",
            )
        has = f"{counts} thread count{'s' * (counts > 1)}"
        raise BadInput(f"{column.table}, {column.name} has {has} and {what}: {cure}")
