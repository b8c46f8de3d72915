# SPDX-License-Identifier: MIT
"""`lockscale bench`."""

from typing import Any

import click

from lockscale.cli.output import as_json, show, table

COLUMNS = ("case", "engine", "events_per_s", "seconds", "ratio_to_simpy", "agrees", "target", "met")


@click.command()
@as_json
def bench(as_json: bool) -> int:
    """The simulator beside SimPy and Ciw: whether they agree, and how fast each is.

    Exit 1 where engines disagree. A missed target of speed is shown, and is no failure.
    """
    from lockscale.bench.run import bench as run

    rows = run()
    show(rows, as_json, _text(rows))
    return 1 if any(row["agrees"] is False for row in rows) else 0


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
