# SPDX-License-Identifier: MIT
"""What a shell completes: commands and options by click, and here the names of studies, runs and tables.

Each key that is pressed asks once, so nothing is read but the names of files.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.sim.models import list_models

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_LOCKSCALE_COMPLETE"
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _complete(names: Callable[[], Iterable[str]]) -> Complete:
    """Those of `names` that begin so; where none does, files."""

    def found(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
        known = [CompletionItem(name) for name in sorted(names()) if name.startswith(begun)]
        return known or [CompletionItem(begun, type="file")]

    return found


def _stems(folder: Path, pattern: str) -> list[str]:
    return [path.stem for path in folder.glob(pattern)]


def _studies() -> list[str]:
    return _stems(paths.STUDIES, "*.yaml")


def _runs() -> list[str]:
    return [
        path.parent.name for folder in (paths.RUNS, paths.MEASURED) for path in folder.glob("*/study.json")
    ]


def _tables() -> list[str]:
    return _stems(paths.PUBLISHED, "*.csv")


def _arms() -> list[str]:
    series = paths.KERNEL_PATCHES.glob("*/*/series")
    return [path.parent.relative_to(paths.KERNEL_PATCHES).as_posix() for path in series]


studies, runs, tables, arms = (_complete(names) for names in (_studies, _runs, _tables, _arms))
targets = _complete(lambda: _stems(paths.TARGETS, "*.yaml"))
models = _complete(list_models)
studies_and_runs = _complete(lambda: [*_studies(), *_runs()])
studies_and_tables = _complete(lambda: [*_studies(), *_tables()])
studies_and_arms = _complete(lambda: [*_studies(), *_arms()])


def show_completion(context: click.Context, _: click.Parameter, shell: str | None) -> None:
    """Print what the shell is to read, and end; by default for the one that $SHELL names."""
    if shell is None:
        return
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise BadInput(f"no completion for the shell {name!r}: use one of {', '.join(SHELLS)}")
    kind = get_completion_class(name)
    assert kind is not None
    root = context.find_root()
    click.echo(kind(root.command, {}, "lockscale", VARIABLE).source())
    context.exit()
