# SPDX-License-Identifier: MIT
"""`lockscale new study`: what one begins with."""

import click

from lockscale.cli.output import as_json, show


@click.group()
def new() -> None:
    """Create a study of your own."""


@new.command("study")
@click.argument("name")
@as_json
def new_study(name: str) -> None:
    """Write a skeleton study: its file, an arm with the unmodified kernel, and one for your patches.

    It is complete as written, so `lockscale study show NAME` works; README.md in the folder of its arms
    says what to fill in.
    """
    from lockscale.studies.skeleton import write_study

    written = write_study(name)
    value = {"study": name, "file": str(written.file), "folder": str(written.folder)}
    show(value, f"{written.file}\n{written.folder}\nThe next steps are in {written.folder / 'README.md'}")
