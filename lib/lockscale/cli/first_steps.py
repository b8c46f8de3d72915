# SPDX-License-Identifier: MIT
"""What people do first: what `lockscale` says when nothing is asked of it, and `lockscale new study`."""

import click

from lockscale.cli.output import as_json, show
from lockscale.studies.examples import EXAMPLE_MODEL, EXAMPLE_STUDY

FIRST_STEPS = (
    ("whatif -r 1:35k,64:140k", "predict the gain of a patch"),
    ("compare my.csv", "find the law that fits your table"),
    (f"sim {EXAMPLE_MODEL} --threads 1,8,48", "see where a lock stops scaling"),
    (f"study run {EXAMPLE_STUDY} --short", "measure a patch in virtual time"),
    ("new study NAME", "study your own patch"),
)
"""Command, without the word lockscale, and what it does."""


def first_steps() -> str:
    """One line each with its command, and where the other commands are."""
    commands = [f"lockscale {command}" for command, _ in FIRST_STEPS]
    width = max(map(len, commands))
    lines = [f"  {c:<{width}}  {says}" for c, (_, says) in zip(commands, FIRST_STEPS, strict=True)]
    return "\n".join(
        [
            "From a lock-contention profile of a Linux file system to a proven kernel patch.",
            "Five ways to start:",
            "",
            *lines,
            "",
            "lockscale doctor reports what is missing, lockscale --help lists all commands.",
        ]
    )


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
