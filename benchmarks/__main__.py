# SPDX-License-Identifier: MIT
"""`python -m benchmarks`, from the root: every case in one run, its target beside it."""

import sys
from dataclasses import asdict
from typing import Any

import click

from benchmarks.comparison import repairman_rows
from benchmarks.engines import engines
from benchmarks.own_loops import own_loop_rows
from benchmarks.rows import Amount, machine
from benchmarks.virtual_time import virtual_time_rows
from benchmarks.waits import explorer_rows, fit_rows, fold_row, process_rows, s1_row
from lockscale.cli.output import as_json, show, table
from lockscale.errors import BadInput, RunFailed
from lockscale.progress import progress

COLUMNS = ("case", "engine", "events_per_s", "seconds", "ratio_to_simpy", "agrees", "target", "met")


@click.command()
@as_json
def command() -> int:
    """The simulator beside SimPy and Ciw: whether they agree, and how fast each is.

    Exit 1 where engines disagree. A missed target of speed is shown, and is no failure.
    """
    rows = bench()
    show(rows, _text(rows))
    return 1 if any(row["agrees"] is False for row in rows) else 0


def bench(amount: Amount | None = None) -> list[dict[str, Any]]:
    """All rows, each with the machine it was measured on. Raises BadInput without SimPy or Ciw."""
    amount = amount or Amount()
    compared = engines()
    here = machine()
    steps = 0
    with progress("bench", amount.steps()) as shown:

        def done(what: str) -> None:
            nonlocal steps
            steps += 1
            shown.update(steps, what)

        rows = [
            *repairman_rows(compared, amount, done),
            *own_loop_rows(amount, done),
            s1_row(amount, done),
            *process_rows(amount, done),
            *fit_rows(amount, done),
            fold_row(amount, done),
            *explorer_rows(amount, done),
            *virtual_time_rows(amount, done),
        ]
    return [{**asdict(row), **here} for row in rows]


def _text(rows: list[dict[str, Any]]) -> str:
    points = [{"engine": row["engine"], **point} for row in rows for point in row["agreement"]]
    notes = [f"{row['case']}, {row['engine']}: {row['note']}" for row in rows]
    here = rows[0]
    return "\n\n".join(
        [
            table([{c: row[c] for c in COLUMNS} for row in rows]),
            "\n".join(notes),
            f"Repairs per simulated second; agreement is within 3 standard errors:\n{table(points)}",
            f"{here['cpus']} x {here['cpu']}, Python {here['python']}, "
            f"load average before the run {here['load_before']:.2f}",
        ]
    )


if __name__ == "__main__":
    try:
        sys.exit(command.main(prog_name="python -m benchmarks", standalone_mode=False))
    except (BadInput, RunFailed, click.ClickException) as error:
        click.echo(f"benchmarks: {error}", err=True)
        sys.exit(1 if isinstance(error, RunFailed) else 2)
