# SPDX-License-Identifier: MIT
"""`lockscale export`."""

from pathlib import Path

import click

from lockscale.cli.output import as_json, show

FORMATS = "svg,pdf,html,txt,csv"


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every published table, every study, and the scale study.")
@click.option(
    "--format",
    "formats",
    default=FORMATS,
    show_default=True,
    help="Of a measured study also changelog,cover,ticket: its text for a commit, a series, an issue.",
)
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder.  [default: figures]"
)
@click.option("--run", default="", help="A study's run.  [default: its latest in data/measured]")
@as_json
def export(
    names: tuple[str, ...], every: bool, formats: str, output: Path | None, run: str, as_json: bool
) -> None:
    """Figures of published tables and of studies, and a measured study's changelog text.

    Without NAME and --all it prints the names. The same name gives the same bytes on one machine.
    """
    from lockscale import paths
    from lockscale.show.exports import export as write
    from lockscale.show.exports import export_names

    if not names and not every:
        show(export_names(), as_json, "\n".join(export_names()))
        return
    chosen = export_names() if every else list(dict.fromkeys(names))
    written = write(chosen, [one.strip() for one in formats.split(",")], output or paths.FIGURES, run)
    show([str(path) for path in written], as_json, "\n".join(map(str, written)))
