# SPDX-License-Identifier: MIT
"""One notebook through papermill, in a process of its own: its output kept, its progress told."""

import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lockscale import paths
from lockscale.errors import BadInput, FullDisk, RunFailed
from lockscale.files import FULL, MAKE_ROOM, full_disk_is_one_sentence
from lockscale.progress import FILE_VARIABLE, TABLE_MARK
from lockscale.show.notebooks import ENDS_S, parameters_of, private_kernel

HEARTBEAT_S = 10.0
NO_SPACE = tuple(f"[Errno {number}]" for number in FULL)


class Interrupted(RunFailed):
    """Somebody ended it; the message is for a caller that knows no better one."""


def execute(
    notebook: Path,
    output: Path,
    parameters: Mapping[str, Any],
    log: Path,
    *,
    shown: bool = True,
    ends_s: float = ENDS_S,
) -> None:
    """Run `notebook` with those of `parameters` that it knows and write it to `output`, cell by cell.

    Its progress goes into `log`, and with `shown` to standard error. ends_s: how long it may take to end
    what it does when it is interrupted. Raises the library's own sentence
    where a cell did, else RunFailed with the cell; Interrupted for an interrupt.
    """
    with warnings.catch_warnings():  # papermill imports modules that warn of their own age
        warnings.simplefilter("ignore")
        import papermill
    known = parameters_of(notebook)
    output.parent.mkdir(parents=True, exist_ok=True)
    with (
        _told(notebook.stem, log, shown),
        full_disk_is_one_sentence(output.parent),
        private_kernel(ends_s) as config,
    ):
        config.NotebookClient.store_widget_state = False  # megabytes, and nobody is there to move them
        config.NotebookClient.extra_arguments = ["--IPKernelApp.log_level=CRITICAL"]  # cron would mail it
        try:
            papermill.execute_notebook(
                str(notebook),
                str(output),
                parameters={k: v for k, v in parameters.items() if k in known},
                cwd=str(paths.ROOT),
                progress_bar=False,
                kernel_name="python3",
                config=config,
            )
        except papermill.PapermillExecutionError as error:
            raise _as_sentence(error, output) from None
        except KeyboardInterrupt:
            logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)  # sockets that closed under it
            raise Interrupted("interrupted") from None


def _as_sentence(error: Any, output: Path) -> Exception:
    """The library's own sentence where it raised one, else which cell of which notebook failed."""
    for ours in (FullDisk, BadInput, RunFailed):
        if error.ename in _names(ours):
            return ours(error.evalue)
    if error.ename == "OSError" and error.evalue.startswith(NO_SPACE):
        return FullDisk(f"a disk is full ({output.name}, cell {error.exec_count}): {MAKE_ROOM}")
    return RunFailed(
        f"{output.name} failed in cell {error.exec_count}: {error.ename}: {error.evalue} (see {output})"
    )


def _names(ours: type[Exception]) -> list[str]:
    """Of a kind of error and all that are of it."""
    return [ours.__name__, *(name for kind in ours.__subclasses__() for name in _names(kind))]


@contextmanager
def _told(what: str, log: Path, shown: bool) -> Iterator[None]:
    """Have the notebook's own progress in `log`, and show it on standard error meanwhile."""
    log.touch()
    os.environ[FILE_VARIABLE] = str(log)
    ended, done = threading.Event(), threading.Event()
    teller = threading.Thread(target=_tell, args=(what, log, ended, done), daemon=True)
    if shown:
        teller.start()
    try:
        yield
        done.set()
    finally:
        ended.set()
        if shown:
            teller.join()
        del os.environ[FILE_VARIABLE]


def _tell(what: str, log: Path, ended: threading.Event, done: threading.Event) -> None:
    started_s = told_s = time.monotonic()
    print(f"[{what}] starts", file=sys.stderr, flush=True)
    with log.open() as lines:
        lines.seek(0, os.SEEK_END)
        while not ended.wait(0.5):
            news = [line.rstrip() for line in lines if line.strip()]
            now_s = time.monotonic()
            for line in [x for x in news[:-1] if x.startswith(TABLE_MARK)] + news[-1:]:
                print(f"[{what}] {line}", file=sys.stderr, flush=True)
            if not news and now_s - told_s >= HEARTBEAT_S:
                print(f"[{what}] works, {now_s - started_s:.0f} s", file=sys.stderr, flush=True)
            if news or now_s - told_s >= HEARTBEAT_S:
                told_s = now_s
    how = "done in" if done.is_set() else "not done, after"
    print(f"[{what}] {how} {time.monotonic() - started_s:.0f} s", file=sys.stderr, flush=True)
