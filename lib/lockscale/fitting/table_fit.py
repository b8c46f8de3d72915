# SPDX-License-Identifier: MIT
"""`fit` and `compare` for a table by name, by path or as a data frame."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from lockscale.errors import BadInput
from lockscale.fitting.column import Column
from lockscale.fitting.read import Table, read_column, read_columns, thread_range
from lockscale.fitting.swapped import warn_if_swapped
from lockscale.progress import progress
from lockscale.queueing import MODELS
from lockscale.queueing.comparison.compare import Comparison
from lockscale.queueing.comparison.compare import compare as compare_points
from lockscale.queueing.inference.fit import fit as fit_points
from lockscale.queueing.inference.fitted import Fit
from lockscale.queueing.laws.paired import paired_models
from lockscale.queueing.model import Model
from lockscale.queueing.points import points


def fit(
    table: Table,
    model: str | Model | None = None,
    *,
    column: str | None = None,
    n_min: int = 1,
    n_max: int | None = None,
    fixed: Mapping[str, float] | None = None,
    share: Collection[str] = (),
) -> Fit:
    """One curve of a table fitted with a model, or with the best of all of them by `compare`.

    table: a published table's name, the path of a CSV file, or a data frame; column names one of its
    curves where there are several. fixed: parameters of the model known from elsewhere. share: every curve
    of the table at once, with these parameters of the model one number for all. Raises BadInput for what
    cannot be used.
    """
    if model is None and (fixed or share):
        raise BadInput("fixed and share name parameters of one model: name the model too")
    if model is not None and share:
        if column is not None:
            raise BadInput("share is of every curve of a table: leave out column")
        columns = [one.between(*thread_range(n_min, n_max)) for one in read_columns(table)]
        return fit_columns(columns, model, share, fixed)
    chosen = read_column(table, column, n_min, n_max)
    warn_if_swapped(chosen)
    return compare_column(chosen).best if model is None else fit_column(chosen, model, fixed)


def compare(
    table: Table, *, column: str | None = None, n_min: int = 1, n_max: int | None = None
) -> Comparison:
    """Every queueing model on one curve of a table, best first; arguments as for `fit`."""
    chosen = read_column(table, column, n_min, n_max)
    warn_if_swapped(chosen)
    return compare_column(chosen)


def models_of(column: Column) -> dict[str, Model]:
    """The models of one curve by name, or of one curve given another."""
    if column.given is None:
        return MODELS
    known = column.given
    return {one.name: one for one in paired_models(known.threads, known.rates_per_s, weights=known.runs)}


def fit_column(column: Column, model: str | Model, fixed: Mapping[str, float] | None = None) -> Fit:
    """One curve with one model; BadInput for a name that no model of it has."""
    chosen = model_of(column, model)
    with _named(column):
        return fit_points(
            column.threads, column.rates_per_s, chosen, weights=column.runs, fixed=_mapping(fixed)
        )


def _mapping(fixed: object) -> Mapping[str, float]:
    if not isinstance(fixed, Mapping | None):
        raise BadInput(f"fixed is {fixed!r}: give numbers by parameter, such as {{'sigma': 0.05}}")
    return fixed or {}


def model_of(column: Column, model: object) -> Model:
    """The model of this curve by its name, or the one that is given."""
    models = models_of(column)
    if isinstance(model, str) and model in models:
        return models[model]
    if isinstance(model, str) or not all(hasattr(model, part) for part in ("name", "parameters", "rate")):
        raise BadInput(f"there is no model {model!r} of {column.name} (there are: {', '.join(models)})")
    return cast(Model, model)


def fit_columns(
    columns: Sequence[Column],
    model: str | Model,
    share: Collection[str],
    fixed: Mapping[str, float] | None,
) -> Fit:
    """Curves at once with the parameters in `share` one number for all; not those given another.

    Raises BadInput for fewer than two.
    """
    alone = [one for one in columns if one.given is None]
    table = {one.name: points(one.threads, one.rates_per_s, weights=one.runs) for one in alone}
    return fit_points(table, model_of(alone[0], model), share=share, fixed=_mapping(fixed))


@contextmanager
def _named(column: Column) -> Iterator[None]:
    """What is said of a curve names its table and the curve."""
    try:
        yield
    except BadInput as refused:
        raise BadInput(f"{column.table}, {column.name}: {refused}") from refused


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
            with _named(column):
                found = compare_points(
                    column.threads, column.rates_per_s, models(column), weights=column.runs
                )
            yield found
        shown.update(done)
