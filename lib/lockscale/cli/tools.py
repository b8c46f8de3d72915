# SPDX-License-Identifier: MIT
"""`lockscale doctor` and `parse`: which tools are there, and what they printed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lockscale.cli.completion import targets
from lockscale.cli.output import as_json, show, table, warn
from lockscale.errors import BadInput


@click.command()
@click.option(
    "--target",
    metavar="TARGET",
    shell_complete=targets,
    help="Also boot this target and check it from inside.",
)
@as_json
def doctor(target: str | None) -> int:
    """Report what is missing on this machine or a target, and how to fix it."""
    from lockscale.doctor import doctor as examine

    found = examine(target)
    lines = [
        f"{'ok ' if c['ok'] else 'NO '} {c['name']}: {c['found']}" + (f" -> {c['fix']}" if c["fix"] else "")
        for c in found["checks"]
    ]
    show(found, "\n".join(lines))
    return 0 if found["ok"] else 1


def _or_list(context: click.Context, _: click.Parameter, tool: str | None) -> str | None:
    if tool == "help":
        from lockscale.tools.registry import READERS

        click.echo("\n".join(READERS))
        context.exit()
    return tool


def tool_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """--tool of a command that reads what a tool printed; `--tool help` lists them."""
    said = f"The tool that printed {what}, if several did or it is not recognised; help lists them."
    return click.option("--tool", metavar="TOOL", is_eager=True, callback=_or_list, help=said)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@tool_option("FILE")
@click.option("--table", "number", metavar="N", help="Number or title of the table, if FILE has several.")
@as_json
def parse(file: Path, tool: str | None, number: str | None) -> None:
    """Read the output of a load generator or a profiler into rows; FILE may be - for a pipe."""
    from lockscale.tools.profile_entry import stack_text
    from lockscale.tools.registry import file_name, parse_file

    try:
        found = parse_file(file, tool, number).to_json()
    except BadInput as said:
        raise BadInput(f"{file_name(file)}: {said}") from None
    warn(*found["warnings"])
    # as printed by the tool: a table's four digits would be a number that is not in the file
    rows = [
        {**row, "test": stack_text(row["test"].split(" < ")), "value": f"{row['value']:.12g}"}
        for row in found["rows"]
    ]
    show(found, table(rows))
