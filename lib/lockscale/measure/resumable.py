# SPDX-License-Identifier: MIT
"""What ended in the middle and can go on: the sentence for a person says how."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from lockscale.errors import BadInput, FullDisk, RunFailed
from lockscale.measure.layout import Run

BEFORE_ANY_WORK = {"study.json", "lock", "pipeline.lock"}


@contextmanager
def says_how_to_go_on(run: Run) -> Iterator[None]:
    """Interrupted, or out of disk: what a person does then to have the rest.

    The sentence of a full disk is BadInput when it has been told, so that it is told once.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise RunFailed(f"interrupted{_how(run, ': ')}") from None
    except FullDisk as error:
        raise BadInput(f"{error}{_how(run, '; ')}") from error.__cause__


def _how(run: Run, after: str) -> str:
    if not is_begun(run):
        return ""
    known = (run.folder / "study.json").is_file()
    again = f"`lockscale study resume {run.id}`" if known else "running this again"
    return f"{after}no finished step is lost, {again} goes on with it"


def is_begun(run: Run) -> bool:
    """Whether anything of it was told or measured, so that there is something to go on with."""
    return not {path.name for path in run.folder.iterdir()} <= BEFORE_ANY_WORK


def forget_unbegun(run: Run) -> None:
    """Leave no run behind that was refused before anything of it was told or measured."""
    if not is_begun(run):
        shutil.rmtree(run.folder, ignore_errors=True)
