# SPDX-License-Identifier: MIT
"""`lockscale audit`, `fit`, `compare`, `scoreboard` and `export`: what is asked of tables."""

from dataclasses import asdict
from pathlib import Path

import click

from lockscale.cli.completion import studies_and_tables, tables
from lockscale.cli.output import as_json, named_numbers, show, together, warn
from lockscale.errors import BadInput


def _piped(_context: click.Context, _argument: click.Parameter, name: str) -> str:
    """As for the other commands, - is a pipe."""
    return "/dev/stdin" if name == "-" else name


curves = together(
    click.argument("name", metavar="TABLE", shell_complete=tables, callback=_piped),
    click.option(
        "--n-min",
        default=1,
        show_default=True,
        type=click.IntRange(1),
        help="Ignore points with fewer threads.",
    ),
    click.option("--n-max", type=click.IntRange(1), help="Ignore points with more threads."),
)


@click.command()
@click.argument("name", metavar="[TABLE]", required=False, shell_complete=tables)
@as_json
def audit(name: str | None) -> None:
    """Check the arithmetic of the published tables: what holds, fails, or is unknown.

    TABLE is the name of a published table, or the path of your own CSV file with the same columns. The exit
    status is 0 even if claims fail: the rows say which.
    """
    from lockscale.show.audit import audit as recompute
    from lockscale.tables import audit_text

    rows = recompute(name)
    show(rows, audit_text(rows))


@click.command()
@curves
@click.option(
    "--model", metavar="MODEL", help="Fit this model instead of the one that `compare` ranks first."
)
@click.option("--fixed", multiple=True, metavar="NAME=VALUE", help="Fix a parameter of --model.")
@click.option(
    "--share",
    multiple=True,
    metavar="NAME",
    help="Give all curves a common value of this parameter of --model; they are fitted together.",
)
@as_json
def fit(
    name: str,
    n_min: int,
    n_max: int | None,
    model: str | None,
    fixed: tuple[str, ...],
    share: tuple[str, ...],
) -> None:
    """Fit queueing models to each curve of a table: parameters, knee, ceiling and collapse, with intervals.

    TABLE is a published table (`lockscale audit` lists them) or the path of your own CSV file with the
    columns threads,value. The ceiling is the largest rate up to four times the table's most threads, the
    knee where rate over response time is largest, saturation where 95% of the ceiling is reached.
    """
    from lockscale.fitting.table_fit import fit_each_column

    known = named_numbers("--fixed", fixed, "sigma=0.05")
    if share and model is None:
        raise BadInput("--share names a parameter of one model: give --model too")
    found, warnings = fit_each_column(name, model, n_min=n_min, n_max=n_max, fixed=known, share=share)
    warn(*warnings)
    show([row for one in found for row in one.to_json()], "\n\n".join(map(str, found)))


@click.command()
@curves
@as_json
def compare(name: str, n_min: int, n_max: int | None) -> None:
    """Rank queueing models on each curve of a table by their error at points left out; TABLE as for fit.

    docs/own-table.md explains the models.
    """
    from lockscale.fitting.table_fit import compare_each_column

    found, warnings = compare_each_column(name, n_min=n_min, n_max=n_max)
    warn(*warnings)
    rows = [row for column, ranked in found for row in ranked.to_json(column.table, column.name)]
    show(rows, "\n\n".join(f"{column}\n{ranked}" for column, ranked in found))


@click.command()
@click.option("--keep", is_flag=True, help="Save the result in data/, for the figures and notebooks.")
@click.option(
    "--gains", is_flag=True, help="Instead, list each patch's gain: in virtual time, published and predicted."
)
@click.option(
    "--again",
    is_flag=True,
    help="Instead, list recorded predictions and what the current method predicts for the same runs.",
)
@as_json
def scoreboard(keep: bool, gains: bool, again: bool) -> None:
    """List for every published curve the best queueing model and the simulator, with errors and targets.

    The first time, fitting takes minutes, and resumes after a kill; afterwards results are reused until a
    table or the source changes. With --gains nothing is fitted: it lists published gains, those of the
    curated runs in virtual time, and the predictions for these. With --again those gains are predicted again
    from the unpatched arm alone, from what --again --keep simulated in a quarter of an hour.
    """
    from lockscale import paths
    from lockscale.files import need_clone
    from lockscale.show.scoreboard import (
        keep_scoreboard,
        scoreboard_text,
        unexplained_rows,
        whole_scoreboard,
        with_how,
    )
    from lockscale.studies.registry import studies

    if gains:
        from lockscale.show.gains import gain_rows, gains_text

        if keep:
            raise BadInput("--gains only reads the curated runs: leave out --keep")
        found = gain_rows()
        show([asdict(row) for row in found], gains_text(found))
        return
    if again:
        _again(keep)
        return
    if keep:
        need_clone("the scoreboard is kept in data/", paths.DATA)
    rows = whole_scoreboard()
    rows = with_how([*rows, *unexplained_rows(rows)])
    why_short = {table: why for one in studies() for table, why in one.why_short.items()}
    if keep:
        keep_scoreboard(rows)
    show(rows, scoreboard_text(rows, why_short))


def _again(keep: bool) -> None:
    from lockscale import paths
    from lockscale.files import need_clone
    from lockscale.show.repredicted import (
        again_text,
        counts_held,
        gains_again,
        keep_repredicted,
        kept_counts,
        kept_repredicted,
        resimulate,
        retell_counts,
        runs_to_tell,
    )

    if keep:
        need_clone("what is simulated again is kept in data/measured", paths.MEASURED)
        keep_repredicted([resimulate(run) for run in runs_to_tell()], retell_counts())
    rows = gains_again(kept_repredicted())
    counts = counts_held(kept_counts())
    both = {"gains": [asdict(row) for row in rows], "counts": counts.to_dict("records")}
    show(both, again_text(rows, counts))


FORMATS = "svg,pdf,html,txt,csv"


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=studies_and_tables)
@click.option(
    "--all", "every", is_flag=True, help="Export every published table, every study, and the scale study."
)
@click.option(
    "--format",
    "formats",
    default=FORMATS,
    show_default=True,
    metavar="FORMAT,...",
    help="What to write; for a measured study also changelog, cover and ticket.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Output folder.  [default: figures of the clone; without a clone, figures in the current folder]",
)
@click.option(
    "--run", metavar="RUN", default="", help="The run of the study.  [default: the latest in data/measured]"
)
@as_json
def export(names: tuple[str, ...], every: bool, formats: str, output: Path | None, run: str) -> None:
    """Write figures of published tables and of studies, and a measured study's changelog text.

    Prints the path of each file. Without NAME and --all it lists the names. On one machine the output is
    reproducible byte for byte.
    """
    from lockscale import paths
    from lockscale.show.exports import export as write
    from lockscale.show.exports import export_names

    if not names and not every:
        show(export_names(), "\n".join(export_names()))
        return
    chosen = export_names() if every else list(dict.fromkeys(names))
    written = write(chosen, [one.strip() for one in formats.split(",")], output or paths.FIGURES, run)
    show([str(path) for path in written], "\n".join(map(str, written)))
