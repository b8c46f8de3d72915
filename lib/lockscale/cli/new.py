# SPDX-License-Identifier: MIT
"""`lockscale new study`: what one begins with."""

import click

from lockscale.cli.output import as_json, show


@click.group()
def new() -> None:
    """Begin something of your own: a study."""


@new.command("study")
@click.argument("name")
@as_json
def new_study(name: str) -> None:
    """Write a study to begin with: its file, and an arm as the kernel is beside one for your patches.

    It is whole as it stands, so `lockscale study show NAME` shows it; README.md in the folder of its arms
    says what to put in.
    """
    from lockscale.studies.skeleton import write_study

    written = write_study(name)
    value = {"study": name, "file": str(written.file), "folder": str(written.folder)}
    show(value, f"{written.file}\n{written.folder}\nWhat to do next is in {written.folder / 'README.md'}")
