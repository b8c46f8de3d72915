# SPDX-License-Identifier: MIT
"""`fit` and `compare` for a table by name, by path or as a data frame."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lockscale.errors import BadInput
from lockscale.fitting.column import Column
from lockscale.fitting.read import Table, read_column, read_columns
from lockscale.progress import progress
from lockscale.queueing import MODELS
from lockscale.queueing.comparison.compare import Comparison
from lockscale.queueing.comparison.compare import compare as compare_points
from lockscale.queueing.diagnosis.diagnose import Diagnosis, diagnose
from lockscale.queueing.inference.fit import fit as fit_points
from lockscale.queueing.inference.fitted import Fit
from lockscale.queueing.laws.paired import paired_models
from lockscale.queueing.model import Model


def fit(
    table: Table,
    model: str | Model | None = None,
    *,
    column: str | None = None,
    n_min: int = 1,
    n_max: int | None = None,
) -> Fit:
    """One curve of a table fitted with a model, or with the best of all of them by `compare`.

    table: a published table's name, the path of a CSV file, or a data frame; column names one of its
    curves where there are several. Raises BadInput for what cannot be used.
    """
    chosen = read_column(table, column, n_min, n_max)
    return compare_column(chosen).best if model is None else fit_column(chosen, model)


def compare(
    table: Table, *, column: str | None = None, n_min: int = 1, n_max: int | None = None
) -> Comparison:
    """Every queueing model on one curve of a table, best first; arguments as for `fit`."""
    return compare_column(read_column(table, column, n_min, n_max))


def models_of(column: Column) -> dict[str, Model]:
    """The models of one curve by name, or of one curve given another."""
    if column.given is None:
        return MODELS
    known = column.given
    return {one.name: one for one in paired_models(known.threads, known.rates_per_s, weights=known.runs)}


def fit_column(column: Column, model: str | Model) -> Fit:
    """One curve with one model; BadInput for a name that no model of it has."""
    if isinstance(model, str):
        models = models_of(column)
        if model not in models:
            raise BadInput(f"there is no model {model!r} of {column.name} (there are: {', '.join(models)})")
        model = models[model]
    return fit_points(column.threads, column.rates_per_s, model, weights=column.runs)


def compare_column(column: Column) -> Comparison:
    """One curve with every model of it."""
    (found,) = compare_columns(f"compare {column.name}", [column])
    return found


def compare_columns(what: str, columns: Sequence[Column]) -> Iterator[Comparison]:
    """Each curve with every model of it, one after the other; shows how far it is."""
    done = 0
    with progress(what, sum(len(models_of(column)) for column in columns)) as shown:

        def models(column: Column) -> Iterator[Model]:
            nonlocal done
            for model in models_of(column).values():
                shown.update(done, f"{column.name}, {model.name}")
                yield model
                done += 1

        for column in columns:
            yield compare_points(column.threads, column.rates_per_s, models(column), weights=column.runs)
        shown.update(done)


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


def fit_table(
    table: Table, model: str | None = None, n_min: int = 1, n_max: int | None = None
) -> list[FittedColumn]:
    """Every curve of a table with every model, or those that the one named can be of with that one."""
    columns = read_columns(table, n_min, n_max)
    if model is None:
        ranked = compare_columns(f"fit {table}", columns)
        return [_with_landmarks(one, found.fits) for one, found in zip(columns, ranked, strict=True)]
    chosen = [column for column in columns if model in models_of(column)] or columns[:1]
    with progress(f"fit {table}", len(chosen)) as shown:
        fitted = []
        for done, column in enumerate(chosen, start=1):
            fitted.append(_with_landmarks(column, (fit_column(column, model),)))
            shown.update(done, column.name)
    return fitted


def _with_landmarks(column: Column, fits: tuple[Fit, ...]) -> FittedColumn:
    return FittedColumn(column, fits, () if column.given else diagnose(fits[0]))


def compare_table(table: Table, n_min: int = 1, n_max: int | None = None) -> list[tuple[Column, Comparison]]:
    """Every curve of a table with every model."""
    columns = read_columns(table, n_min, n_max)
    return list(zip(columns, compare_columns(f"compare {table}", columns), strict=True))
