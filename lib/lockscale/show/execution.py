# SPDX-License-Identifier: MIT
"""Which notebooks there are, and one of them through papermill: its output kept, its progress shown."""

import ast
import json
import logging
import os
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lockscale import paths
from lockscale.errors import BadInput, FullDisk, Interrupted, RunFailed
from lockscale.files import FULL, MAKE_ROOM, full_disk_is_one_sentence
from lockscale.progress import FILE_VARIABLE, TABLE_MARK, say

ENDS_S = 5.0
"""How long an interrupted kernel may take to end what it does, as jupyter_client has it."""
HEARTBEAT_S = 10.0
NO_SPACE = tuple(f"[Errno {number}]" for number in FULL)


def sources() -> list[Path]:
    return sorted(paths.NOTEBOOK_SOURCES.glob("[0-9][0-9]_*.py"))


def all_sources() -> list[Path]:
    return sorted(paths.NOTEBOOK_SOURCES.rglob("*.py"))


def notebook_names() -> dict[str, Path]:
    """Every notebook by its path below notebooks/ without its ending, the numbered ones first."""
    found = (path for path in paths.NOTEBOOKS.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
    named = {path.relative_to(paths.NOTEBOOKS).with_suffix("").as_posix(): path for path in found}
    return dict(sorted(named.items()))


def notebook_of(source: Path) -> Path:
    """notebooks/src/NN_name.py -> notebooks/NN_name.ipynb; likewise in explore/."""
    return paths.NOTEBOOKS / source.relative_to(paths.NOTEBOOK_SOURCES).with_suffix(".ipynb")


def parameters_of(notebook: Path) -> dict[str, Any]:
    """The values in the parameters cell of a notebook, by name; nothing where there is no such cell."""
    return parameters_in(json.loads(notebook.read_text())["cells"])


def parameters_in(cells: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The same of a notebook's cells."""
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    lines = [line for cell in tagged for line in ast.parse("".join(cell["source"])).body]
    given = [(line.targets[0], line.value) for line in lines if isinstance(line, ast.Assign)]
    return {to.id: ast.literal_eval(value) for to, value in given if isinstance(to, ast.Name)}


def execute(
    notebook: Path,
    output: Path,
    parameters: Mapping[str, Any],
    log: Path,
    *,
    shown: bool = True,
    ends_s: float = ENDS_S,
    place: str = "",
) -> None:
    """Run `notebook` with those of `parameters` that it knows and write it to `output`, cell by cell.

    Its progress goes into `log`, and with `shown` to standard error. ends_s: how long it may take to end
    what it does when it is interrupted. place: which of how many it is, as 5/8. Raises the library's own
    sentence where a cell did, else RunFailed with the cell; Interrupted for an interrupt.
    """
    with warnings.catch_warnings():  # papermill imports modules that warn of their own age
        warnings.simplefilter("ignore")
        import papermill

        from lockscale.show.private_kernel import DeadKernelError, last_words, private_kernel
    logging.getLogger("papermill").setLevel(logging.CRITICAL + 1)  # what it says is raised as well
    known = parameters_of(notebook)
    output.parent.mkdir(parents=True, exist_ok=True)
    with (
        _progress_shown(f"{place} {notebook.stem}".strip(), log, shown),
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
        except DeadKernelError:
            said = (
                last_words(config)
                or "it printed nothing, so it crashed or was killed, perhaps for lack of memory"
            )
            raise RunFailed(f"the kernel of {output.name} died: {said} (see {output})") from None
        except KeyboardInterrupt:
            logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)  # sockets that closed under it
            raise Interrupted("interrupted") from None


def _as_sentence(error: Any, output: Path) -> Exception:
    """The library's own sentence where it raised one, else which cell of which notebook failed."""
    for ours in (FullDisk, BadInput, Interrupted, RunFailed):
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
def _progress_shown(what: str, log: Path, shown: bool) -> Iterator[None]:
    """Write the notebook's own progress to `log`, and copy it to standard error meanwhile."""
    log.touch()
    os.environ[FILE_VARIABLE] = str(log)
    ended, done = threading.Event(), threading.Event()
    watcher = threading.Thread(target=_show, args=(what, log, ended, done), daemon=True)
    if shown:
        watcher.start()
    try:
        yield
        done.set()
    finally:
        ended.set()
        if shown:
            watcher.join()
        del os.environ[FILE_VARIABLE]


def _show(what: str, log: Path, ended: threading.Event, done: threading.Event) -> None:
    """Every table and the latest note of `log`; where nothing is new, the last one again."""
    started_s = shown_s = time.monotonic()
    note = ""
    with log.open() as lines:
        lines.seek(0, os.SEEK_END)
        say(f"[{what}] starts")
        over = False
        while not over:
            over = ended.wait(0.5)  # what it said last is said, too
            news = [line.rstrip() for line in lines if line.strip()]
            now_s = time.monotonic()
            for line in [x for x in news[:-1] if x.startswith(TABLE_MARK)] + news[-1:]:
                say(f"[{what}] {line}")
            note = next((x for x in reversed(news) if not x.startswith(TABLE_MARK)), note)
            if not news and now_s - shown_s >= HEARTBEAT_S:
                say(works_line(what, now_s - started_s, note))
            if news or now_s - shown_s >= HEARTBEAT_S:
                shown_s = now_s
    how = "done in" if done.is_set() else "not done, after"
    say(f"[{what}] {how} {time.monotonic() - started_s:.0f} s")


def works_line(what: str, seconds: float, note: str) -> str:
    """Of a notebook that says nothing new: how long it has worked, and what it said last."""
    return f"[{what}] running for {seconds:.0f} s" + (f"; last: {note}" if note else "")
