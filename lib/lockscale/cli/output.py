# SPDX-License-Identifier: MIT
"""How every command prints: one JSON value, or text for a person."""

import json
from typing import Any

import click

as_json = click.option("--json", "as_json", is_flag=True, help="One JSON value on stdout.")
parameter = click.option("-p", "parameters", multiple=True, metavar="NAME=VALUE")


def show(value: Any, asked_json: bool, text: str) -> None:
    click.echo(json.dumps(value) if asked_json else text)


def table(rows: list[dict[str, Any]]) -> str:
    import pandas as pd

    from lockscale.report.text_table import text_table

    return text_table(pd.DataFrame(rows)).rstrip() if rows else "none"
