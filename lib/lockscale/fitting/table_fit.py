# SPDX-License-Identifier: MIT
"""Queueing models fitted to a table by name, by path or as a data frame.

`fit` and `compare` are of one curve of a table. The others say in their names what they are of: a `column`
that is read already, `each_column` of a table by itself, or several `columns_together`, which share
parameters.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from lockscale.errors import BadInput, near
from lockscale.fitting.column import Column, looks_swapped, warn_if_swapped
from lockscale.fitting.user_table import Table, read_column, read_columns, thread_range
from lockscale.progress import progress
from lockscale.queueing import MODELS
from lockscale.queueing.compare import Comparison, compare_models
from lockscale.queueing.diagnosis import PER_SECOND, Diagnosis, diagnose
from lockscale.queueing.fit import fit_model
from lockscale.queueing.fitted import Fit
from lockscale.queueing.laws.paired import paired_models
from lockscale.queueing.model import QueueingModel


def fit(
    table: Table,
    model: str | QueueingModel | None = None,
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
        raise BadInput("fixed and share name parameters of one model: name the model too (--model NAME)")
    if model is not None and share:
        if column is not None:
            raise BadInput("share applies to all curves of a table: leave out column")
        columns = [one.between(*thread_range(n_min, n_max)) for one in read_columns(table)]
        return fit_columns_together(columns, model, share, fixed)
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


def models_of(column: Column) -> dict[str, QueueingModel]:
    """The models of one curve by name, or of one curve given another."""
    if column.given is None:
        return MODELS
    known = column.given
    return {one.name: one for one in paired_models(known.threads, known.rates_per_s, weights=known.runs)}


def model_of(column: Column, model: object) -> QueueingModel:
    """The model of this curve by its name, or the one that is given."""
    models = models_of(column)
    if isinstance(model, str) and model in models:
        return models[model]
    if isinstance(model, str) or not all(hasattr(model, part) for part in ("name", "parameters", "rate")):
        raise BadInput(f"there is no model {model!r}{near(str(model), models)}")
    return cast(QueueingModel, model)


def fit_column(column: Column, model: str | QueueingModel, fixed: Mapping[str, float] | None = None) -> Fit:
    """One curve with one model; BadInput for a name that no model of it has."""
    chosen = model_of(column, model)
    with _named(column):
        return fit_model(column.points(), chosen, fixed=_mapping(fixed))


def fit_columns_together(
    columns: Sequence[Column],
    model: str | QueueingModel,
    share: Collection[str],
    fixed: Mapping[str, float] | None,
) -> Fit:
    """Curves at once with the parameters in `share` one number for all; not those given another.

    Raises BadInput for fewer than two.
    """
    if both := sorted({*share} & _mapping(fixed).keys()):
        raise BadInput(
            f"{both[0]} is fixed, so all curves have it in common already: leave out --share {both[0]}"
        )
    alone = [one for one in columns if one.given is None]
    table = {one.name: one.points() for one in alone}
    return fit_model(table, model_of(alone[0], model), share=share, fixed=_mapping(fixed))


def _mapping(fixed: object) -> Mapping[str, float]:
    if not isinstance(fixed, Mapping | None):
        raise BadInput(f"fixed is {fixed!r}: give numbers by parameter, such as {{'sigma': 0.05}}")
    return fixed or {}


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

        def models(column: Column) -> Iterator[QueueingModel]:
            nonlocal done
            for model in models_of(column).values():
                shown.update(done, f"{column.name}, {model.name}")
                yield model
                done += 1

        for column in columns:
            with _named(column):
                found = compare_models(column.points(), models(column))
            yield found
        shown.update(done)


@dataclass(frozen=True)
class FittedColumns:
    """Fits of one curve, best first where there are several, or one of several curves together.

    landmarks: of the first fit, of each curve; none of one given another: beyond the thread counts of that
    one nothing is known. None either of the first of several that are not ranked.
    """

    columns: tuple[Column, ...]
    fits: tuple[Fit, ...]
    landmarks: tuple[Diagnosis, ...] = ()

    def to_json(self) -> list[dict[str, Any]]:
        """The `fit` shape of the command line, one for each model."""
        names = ", ".join(column.name for column in self.columns)
        origin = ", ".join(dict.fromkeys(column.origin for column in self.columns))
        return [
            {
                **one.to_json(self.columns[0].table, names),
                "origin": origin,
                "rank": rank,
                "landmarks": [vars(d) for d in self.landmarks] if rank == 1 else [],
            }
            for rank, one in enumerate(self.fits, start=1)
        ]

    def __str__(self) -> str:
        best, n, table = self.fits[0], len(self.fits), self.columns[0].table
        elsewhere = f"`lockscale compare {table}` shows all, and which are not distinguishable"
        if _not_ranked(self.fits):
            how = f"{n} models, not ranked: too few thread counts to leave one out. Name one with --model"
            return "\n".join(map(str, [*self.columns, f"  {how}; {elsewhere}"]))
        lines = [*self.columns, best, *(f"  {landmark}" for landmark in self.landmarks)]
        if n > 1:
            how = "none fits; the least bad" if best.misfit else "the least leave-one-out error"
            lines.append(f"  {how} of {n} models; {elsewhere}")
        elif "identified" in [one.status for one in best.reported] + [one.status for one in self.landmarks]:
            lines.append(f"  identified: if {best.model} is the law; `lockscale compare {table}` tries all")
        return "\n".join(map(str, lines))


def fit_each_column(
    table: Table,
    model: str | None = None,
    *,
    n_min: int = 1,
    n_max: int | None = None,
    fixed: Mapping[str, float] | None = None,
    share: Collection[str] = (),
) -> tuple[list[FittedColumns], list[str]]:
    """Every curve of a table with every model, or those that the one named can be of with that one.

    share: instead every curve together, as `fit` has it. Also a sentence on each curve that is left out
    because it has too few thread counts, or looks odd. Raises BadInput where none is left.
    """
    if model is None and (fixed or share):
        raise BadInput(
            "fixed and shared parameters are those of one model: name the model too (--model NAME)"
        )
    columns, threads = read_columns(table), thread_range(n_min, n_max)
    if model is not None and share:
        used = tuple(column.between(*threads) for column in columns if column.given is None)
        together = _with_landmarks(used, (fit_columns_together(used, model, share, fixed),))
        return [together], [odd for column in used if (odd := looks_swapped(column))]
    if model is not None:
        columns = [column for column in columns if model in models_of(column)] or columns[:1]
    chosen, said = _usable(columns, threads, model, fixed or {})
    if model is None:
        ranked = compare_columns(f"fit {table}", chosen)
        return [_with_landmarks((one,), found.fits) for one, found in zip(chosen, ranked, strict=True)], said
    with progress(f"fit {table}", len(chosen)) as shown:
        fitted = []
        for done, column in enumerate(chosen, start=1):
            fitted.append(_with_landmarks((column,), (fit_column(column, model, fixed),)))
            shown.update(done, column.name)
    return fitted, said


def _not_ranked(fits: tuple[Fit, ...]) -> bool:
    return len(fits) > 1 and fits[0].loo_pct is None


def _with_landmarks(columns: tuple[Column, ...], fits: tuple[Fit, ...]) -> FittedColumns:
    landmarks = () if columns[0].given or _not_ranked(fits) else diagnose(fits[0])
    units = {column.unit for column in columns}
    rate = units.pop() if len(units) == 1 else ""  # a ceiling is in what the table is in, such as B/s
    said = tuple(replace(one, unit=(one.unit == PER_SECOND and rate) or one.unit) for one in landmarks)
    return FittedColumns(columns, fits, said)


def compare_each_column(
    table: Table, *, n_min: int = 1, n_max: int | None = None
) -> tuple[list[tuple[Column, Comparison]], list[str]]:
    """Every curve of a table with every model, and what `fit_each_column` also says."""
    columns, said = _usable(read_columns(table), thread_range(n_min, n_max), None, {})
    return list(zip(columns, compare_columns(f"compare {table}", columns), strict=True)), said


def _usable(
    columns: Sequence[Column],
    threads: tuple[int, int | None],
    model: str | None,
    fixed: Mapping[str, float],
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
        if (odd := looks_swapped(used)) and model is None:  # some models take minutes with so many threads
            raise BadInput(f"{odd}; if they are right, fit one model: fit --model NAME")
        usable.append(used)
        said += [odd] if odd else []
    if not usable:
        raise BadInput("; ".join(left_out))
    return usable, [*left_out, *said]


def _check_length(column: Column, model: str | None, fixed: Mapping[str, float]) -> None:
    """Raises BadInput unless there are as many thread counts as some model, or this, has free parameters."""
    models = models_of(column).values() if model is None else [model_of(column, model)]
    fewest = min(sum(p.name not in fixed for p in one.parameters) for one in models)
    counts = len(np.unique(column.threads))
    if counts >= fewest:
        return
    what, cure = f"every model needs {fewest} or more", "measure more, or leave out fewer (--n-min, --n-max)"
    if model is not None:
        what, cure = f"model {model} has {fewest} free parameters", "measure more, or fix some with --fixed"
    has = f"{counts} thread count{'s' * (counts > 1)}"
    raise BadInput(f"{column.table}, {column.name} has {has} and {what}: {cure}")
