# SPDX-License-Identifier: MIT
"""What commands share: options, and how they print: one JSON value, or text for a person."""

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from lockscale.errors import BadInput, printable_lines

INTERRUPTED, UNREAD = 130, 141  # as a shell reports SIGINT and SIGPIPE


def _remember(context: click.Context, _: click.Parameter, asked: bool) -> None:
    context.meta["json"] = asked


T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., object])

as_json = click.option(
    "--json", is_flag=True, expose_value=False, callback=_remember, help="Print JSON on stdout."
)
threads_list = click.option(
    "--threads", metavar="N,N,...", default="48", show_default=True, help="Thread counts, such as 1,2,4,48."
)
replications = click.option(
    "--replications", default=5, show_default=True, help="Simulations at each thread count, for the interval."
)
seed = click.option("--seed", default=1, show_default=True, help="Random seed of the simulation.")
operations = click.option(
    "--operations",
    default=20_000,
    show_default=True,
    help="Operations per replication. Near the threshold of a storm there are two stable states: short runs "
    "can all stay in one of them without the interval showing it; use more there.",
)


def parameter(of: str) -> Callable[[Command], Command]:
    """-p NAME=VALUE, any number of times; of: what it sets, for --help."""
    return click.option("-p", "parameters", multiple=True, metavar="NAME=VALUE", help=of)


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order of --help."""
    return lambda command: functools.reduce(lambda c, option: option(c), reversed(options), command)


def show(value: Any, text: str) -> None:
    """`value` with --json, else `text`."""
    click.echo(json.dumps(value) if click.get_current_context().meta["json"] else printable_lines(text))


def show_verdicts(found: Sequence[Any], text: str) -> int:
    """What each arm or series was found to be; the exit status, 1 where one is not in order."""
    show([one.as_json() for one in found], text)
    return 0 if all(one.ok for one in found) else 1


def loaded(names: Sequence[str], load: Callable[[str], T]) -> tuple[list[T], str]:
    """Those of the named files that can be read, and what is wrong with the others."""
    found, damaged = [], []
    for name in names:
        try:
            found.append(load(name))
        except BadInput as error:
            damaged.append(str(error))
    return found, "; ".join(damaged)


def thread_counts(text: str) -> list[int]:
    """The value of --threads: "1,2,4"."""
    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise BadInput(f"--threads {text!r} is not a list of whole numbers: write it like 1,2,4") from None


def named_values(option: str, texts: Sequence[str], form: str = "NAME=...") -> dict[str, str]:
    """What an option that takes NAME=VALUE, such as --grid, was given; each name once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals):
            raise BadInput(f"{option} {text!r} is not of the form {form}")
        if name in found:
            raise BadInput(f"{option} names {name!r} twice: give it once")
        found[name] = value
    return found


def named_numbers(option: str, texts: Sequence[str], example: str) -> dict[str, float]:
    """The same of an option that takes NAME=NUMBER, such as --fixed."""
    form, found = f"NAME=NUMBER: write {option} {example}", {}
    for name, value in named_values(option, texts, form).items():
        try:
            found[name] = float(value)
        except ValueError:
            raise BadInput(f"{option} '{name}={value}' is not of the form {form}") from None
    return found


def say(text: str) -> None:
    """A line on stderr, beside what is printed."""
    click.echo(printable_lines(text), err=True)


def warn(*sentences: str) -> None:
    """Say it on stderr: what is printed stands all the same."""
    for sentence in sentences:
        say(f"warning: {sentence}")


def table(rows: list[dict[str, Any]], *columns: str) -> str:
    """The rows below one another; of `columns` alone where some are named."""
    import pandas as pd

    from lockscale.text_table import text_table, yes_no

    said = [{name: yes_no(row[name]) for name in columns or row} for row in rows]
    return text_table(pd.DataFrame(said)).rstrip() if rows else "none"
