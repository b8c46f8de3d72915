# SPDX-License-Identifier: MIT
"""What commands share: options, and how they print: one JSON value, or text for a person."""

import json
from collections.abc import Sequence
from typing import Any

import click

from lockscale.errors import BadInput

as_json = click.option("--json", "as_json", is_flag=True, help="One JSON value on stdout.")
parameter = click.option("-p", "parameters", multiple=True, metavar="NAME=VALUE")
operations = click.option(
    "--operations",
    default=20_000,
    show_default=True,
    help="Counted in each replication. Near a storm's threshold there are two lasting states: short runs can "
    "all stay in one of them, and the interval does not show it; then give more.",
)


def show(value: Any, asked_json: bool, text: str) -> None:
    click.echo(json.dumps(value) if asked_json else text)


def thread_counts(text: str) -> list[int]:
    """The value of --threads: "1,2,4"."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise BadInput(f"--threads {text!r} is not a list of whole numbers: write 1,2,4") from None


def named_numbers(option: str, texts: Sequence[str], example: str) -> dict[str, float]:
    """The values of an option that takes NAME=NUMBER, such as --fixed."""
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        name = name.strip()
        if name in found:
            raise BadInput(f"{option} gives {name} twice: give it once")
        try:
            found[name] = float(value)
        except ValueError:
            raise BadInput(f"{option} {text!r} is no NAME=NUMBER: write {option} {example}") from None
    return found


def table(rows: list[dict[str, Any]]) -> str:
    import pandas as pd

    from lockscale.text_table import text_table

    return text_table(pd.DataFrame(rows)).rstrip() if rows else "none"
