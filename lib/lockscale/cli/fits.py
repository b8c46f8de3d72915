# SPDX-License-Identifier: MIT
"""`lockscale fit`, `compare` and `scoreboard`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lockscale.cli.output import as_json, show, table

if TYPE_CHECKING:
    from lockscale.fitting.table_fit import FittedColumn

Command = TypeVar("Command", bound=Callable[..., object])
COLUMNS = (
    "table",
    "column",
    "model",
    "noise_pct",
    "mape_pct",
    "loo_pct",
    "target_pct",
    "target_loo_pct",
    "met",
)


def _range(command: Command) -> Command:
    """TABLE, --n-min and --n-max."""
    command = click.option("--n-max", type=click.IntRange(1), help="Leave out more threads than this.")(
        command
    )
    command = click.option(
        "--n-min", default=1, show_default=True, type=click.IntRange(1), help="Leave out fewer threads."
    )(command)
    return click.argument("name", metavar="TABLE")(command)


@click.command()
@_range
@click.option("--model", help="This model, not the best of all.")
@as_json
def fit(name: str, n_min: int, n_max: int | None, model: str | None, as_json: bool) -> None:
    """Fit queueing models to each curve of a table: parameters, knee, ceiling and collapse, with intervals.

    TABLE is a published table (`lockscale audit` names them) or the path of a CSV file of your own with
    columns threads,value.
    """
    from lockscale.fitting.table_fit import fit_table

    found = fit_table(name, model, n_min, n_max)
    show([row for one in found for row in one.to_json()], as_json, "\n\n".join(map(_fitted, found)))


@click.command()
@_range
@as_json
def compare(name: str, n_min: int, n_max: int | None, as_json: bool) -> None:
    """Rank every queueing model on each curve of a table by thread counts left out; TABLE as for fit."""
    from lockscale.fitting.table_fit import compare_table

    found = compare_table(name, n_min, n_max)
    rows = [row for column, ranked in found for row in ranked.to_json(column.table, column.name)]
    show(rows, as_json, "\n\n".join(f"{column}\n{ranked}" for column, ranked in found))


@click.command()
@as_json
def scoreboard(as_json: bool) -> None:
    """Every published curve: the model that compare ranks first, its errors in percent, and the target."""
    from lockscale.fitting.scoreboard import scoreboard as score

    rows = score()
    show(rows, as_json, table([{c: row[c] for c in COLUMNS} for row in rows]))


def _fitted(one: "FittedColumn") -> str:
    lines: list[Any] = [one.column, one.fits[0], *(f"  {landmark}" for landmark in one.landmarks)]
    if len(one.fits) > 1:
        how = "one" if one.fits[0].loo_pct is None else "the best"
        lines.append(f"  {how} of {len(one.fits)} models; `lockscale compare {one.column.table}` shows all")
    return "\n".join(map(str, lines))
