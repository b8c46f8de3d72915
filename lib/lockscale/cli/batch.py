# SPDX-License-Identifier: MIT
"""`lockscale batch`."""

from pathlib import Path

import click

from lockscale.cli.output import as_json, show


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder.  [default: runs/<FILE's name>]",
)
@as_json
def batch(file: Path, output: Path | None, as_json: bool) -> int:
    """Run notebooks over a grid of parameters; ends with one line that says where the index is.

    FILE is YAML: `notebooks`, a list of names or patterns; `grid`, each parameter with its values (`{}`, or
    no grid: one set); and where wanted `parameters`, the same in every set, and `curated: true`, to read
    data/measured instead of measuring. The same command again runs what is left and what failed; a finished
    notebook runs again only when its text, its study or its parameters changed. Exit status 1: a set failed.
    """
    from lockscale.batch.work import run_batch

    found = run_batch(file, output)
    value = {
        "batch": found.batch,
        "path": str(found.path),
        "index": str(found.index),
        "sets": found.sets,
        "done": found.done,
        "failed": found.failed,
        "ran": found.ran,
    }
    show(value, as_json, found.says())
    return 1 if found.failed else 0
