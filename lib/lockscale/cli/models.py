# SPDX-License-Identifier: MIT
"""`lockscale doctor`, `parse`, `audit` and `sim`."""

from pathlib import Path

import click

from lockscale.cli.output import as_json, operations, parameter, show, table, thread_counts
from lockscale.cli.trace import said_of, trace_options, trace_wanted


@click.command()
@click.option("--target", help="Also boot this target and see what it says of itself.")
@as_json
def doctor(target: str | None, as_json: bool) -> int:
    """What is missing on this machine or that target, and the fix."""
    from lockscale.doctor import doctor as examine

    found = examine(target)
    lines = [
        f"{'ok ' if c['ok'] else 'NO '} {c['name']}: {c['found']}" + (f" -> {c['fix']}" if c["fix"] else "")
        for c in found["checks"]
    ]
    show(found, as_json, "\n".join(lines))
    return 0 if found["ok"] else 1


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--tool", help="The tool that printed it, where it is not recognised.")
@as_json
def parse(file: str, tool: str | None, as_json: bool) -> None:
    """Long-form rows from the output of a load generator or a profiler; FILE may be - for a pipe."""
    from lockscale.parsing import parse_file

    found = parse_file(Path(file), tool).to_json()
    for warning in found["warnings"]:
        click.echo(f"warning: {warning}", err=True)
    show(found, as_json, table(found["rows"]))


@click.command()
@click.argument("name", metavar="TABLE", required=False)
@as_json
def audit(name: str | None, as_json: bool) -> None:
    """The arithmetic of the published tables: what holds, fails, or cannot be known.

    TABLE is the name of a published table, or the path of a CSV file of your own that has such columns.
    The exit status is 0 where claims fail too: the audit did what was asked, its rows say which.
    """
    from lockscale.auditing import audit as recompute
    from lockscale.tables import audit_text

    rows = recompute(name)
    show(rows, as_json, audit_text(rows))


@click.command()
@click.argument("model", required=False)
@click.option("--list", "listed", is_flag=True, help="Name the models.")
@parameter
@click.option("--threads", default="48", show_default=True, help="For example 1,2,4,48.")
@click.option("--replications", default=5, show_default=True)
@operations
@click.option("--seed", default=1, show_default=True)
@trace_options
@as_json
def sim(
    model: str | None,
    listed: bool,
    parameters: tuple[str, ...],
    threads: str,
    replications: int,
    operations: int,
    seed: int,
    trace: Path | None,
    trace_from_us: float | None,
    trace_for_us: float | None,
    as_json: bool,
) -> None:
    """Simulate a model; every number is simulated, and says from what it is calibrated.

    MODEL is a name that --list prints, or the path of a file of your own that ends in .py.
    """
    if listed or not model:
        from lockscale.sim import list_models

        show(list_models(), as_json, "\n".join(list_models()))
        return
    from lockscale.sim.model import read_parameters
    from lockscale.simulated import simulate_points

    given, counts = read_parameters(parameters), thread_counts(threads)
    wanted = trace_wanted(trace, trace_from_us, trace_for_us, counts)
    # before the points, which take longer than it takes to see that a trace is too large
    traced = wanted and wanted.run(model, counts[0], given, seed=seed, operations=operations)
    value = simulate_points(model, counts, given, replications=replications, operations=operations, seed=seed)
    rows = [{k: v for k, v in p.items() if not isinstance(v, dict)} for p in value["points"]]
    parts = [f"{table(rows)}\nsimulated; {value['calibration'] or 'not calibrated'}"]
    if "unfitted_check" in value:
        parts.append(f"{UNFITTED}:\n{table(value['unfitted_check'])}")
    if wanted and traced:
        value["trace"] = wanted.write(traced)
        parts.append(said_of(value["trace"]))
    show(value, as_json, "\n\n".join(parts))


UNFITTED = "The published function cost table, to which nothing was fitted (its run is a traced base)"
