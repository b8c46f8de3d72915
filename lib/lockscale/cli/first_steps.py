# SPDX-License-Identifier: MIT
"""What `lockscale` says when nothing is asked of it: the five things that people do first."""

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
