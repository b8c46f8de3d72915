# SPDX-License-Identifier: MIT
"""Progress of every wait over two seconds.

In a terminal a tqdm bar; in JupyterLab one of its own; under the pipeline, whose notebooks run in other
processes, lines appended to the file named by LOCKSCALE_PROGRESS, which the pipeline shows.
"""

import contextlib
import html
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, Self

from tqdm import tqdm

FILE_VARIABLE = "LOCKSCALE_PROGRESS"
LINE_EVERY_S, SHOWN_EVERY_S = 2.0, 0.2
BARE = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
"""tqdm's bar without its own guess of the time left."""


class Progress(Protocol):
    """What a long step calls: how much is done of `total`, and one note about now."""

    def update(self, done: float, note: str = "") -> None: ...


def _share(done: float, total: float | None) -> str:
    return f" {done:.0f}/{total:.0f}" if total else ""


SURE_AFTER_S, SURE_AFTER_SHARE = 10.0, 0.05
"""What is done says nothing of the rest before it took so long and is one of several, or that of one."""


def _left(passed_s: float, done: float, total: float | None) -> str:
    """Where something is left, and enough is done to tell how long it takes."""
    if not total or not 0 < done < total or passed_s < SURE_AFTER_S:
        return ""
    if done < (1.0 if total > 1 else SURE_AFTER_SHARE * total):
        return ""
    return f", about {passed_s * (total - done) / done:.0f} s left"


class _Lines:
    """Lines for a log or the pipeline: at most one every two seconds, and the last one always."""

    def __init__(self, what: str, total: float | None, path: Path | None, *, tells_left: bool) -> None:
        self.what, self.total, self.path, self.tells_left = what, total, path, tells_left
        self.started_s = self.last_s = time.monotonic()
        self.pending = ""
        self.writing = threading.Lock()
        self.later: threading.Timer | None = None

    def update(self, done: float, note: str = "") -> None:
        now_s = time.monotonic()
        left = _left(now_s - self.started_s, done, self.total) if self.tells_left else ""
        self.pending = f"{self.what}:{_share(done, self.total)}{' ' + note if note else ''}{left}"
        wait_s = self.last_s + LINE_EVERY_S - now_s
        if wait_s <= 0:
            self.flush()
        elif self.later is None or not self.later.is_alive():
            self.later = threading.Timer(wait_s, self.flush)  # the next update may be minutes away
            self.later.daemon = True
            self.later.start()

    def flush(self) -> None:
        with self.writing:
            if not self.pending:
                return
            self.last_s = time.monotonic()
            if self.path is None:
                say(self.pending)
            else:
                _append(self.path, self.pending + "\n")
            self.pending = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.later is not None:
            _stop(self.later)
        self.flush()


class _Bar:
    def __init__(self, bar: Any) -> None:
        self.bar = bar

    def update(self, done: float, note: str = "") -> None:
        if note:
            self.bar.set_postfix_str(note, refresh=False)
        self.bar.n = done
        self.bar.refresh()


class _InNotebook:
    """A bar below the cell, which is empty once the wait is over.

    Not tqdm's, which is a widget: whoever saves the notebook keeps it, and reads "model not found" later.
    """

    def __init__(self, what: str, total: float | None, *, tells_left: bool) -> None:
        self.what, self.total, self.tells_left = what, total, tells_left
        self.started_s = self.last_s = time.monotonic()
        self.shown: Any = None

    def update(self, done: float, note: str = "") -> None:
        now_s = time.monotonic()
        if self.shown is None or now_s - self.last_s >= SHOWN_EVERY_S or done == self.total:
            self.last_s = now_s
            self._show(self._bar(done, note, now_s - self.started_s))

    def _bar(self, done: float, note: str, passed_s: float) -> str:
        value = f' value="{done:g}" max="{self.total:g}"' if self.total else ""
        left = _left(passed_s, done, self.total) if self.tells_left else ""
        said = html.escape(f"{_share(done, self.total)} {note} {passed_s:.0f} s{left}")
        return f"<div>{html.escape(self.what)} <progress{value}></progress>{said}</div>"

    def _show(self, page: str) -> None:
        data = {"text/html": page, "text/plain": ""}
        if self.shown is None:
            notebook: Any = importlib.import_module("IPython.display")
            self.shown = notebook.display(data, raw=True, display_id=True)
        else:
            self.shown.update(data, raw=True)

    def __enter__(self) -> Self:
        self.update(0)
        return self

    def __exit__(self, *_: object) -> None:
        self._show("")


@contextlib.contextmanager
def progress(what: str, total: float | None = None, *, tells_left: bool = True) -> Iterator[Progress]:
    """Show how far `what` is; `total` in any unit, None when it is not known.

    tells_left: also how long the rest takes; not where the caller says it, as two estimates contradict.
    """
    path = os.environ.get(FILE_VARIABLE)
    if _in_a_notebook() and not path:
        with _InNotebook(what, total, tells_left=tells_left) as bar_below:
            yield bar_below
        return
    if path or not sys.stderr.isatty():
        with _Lines(what, total, Path(path) if path else None, tells_left=tells_left) as lines:
            yield lines
        return
    with tqdm(total=total, desc=what, leave=False, bar_format=None if tells_left else BARE) as bar:
        yield _Bar(bar)


TABLE_MARK = "| "
"""Before each line of what tell() and tables say: the pipeline shows all of them, and notes only at times."""


def tell(text: str) -> None:
    """Lines of log above the progress bars; each is shown."""
    lines = [TABLE_MARK + line for line in text.splitlines()]
    path = os.environ.get(FILE_VARIABLE)
    if path:
        _append(Path(path), "".join(line + "\n" for line in lines))
    else:
        say("\n".join(lines))


def say(text: str) -> None:
    """A line of standard error, where it still goes anywhere: a terminal may be closed, a pipe unread."""
    with contextlib.suppress(OSError):
        tqdm.write(text, file=sys.stderr)
        sys.stderr.flush()


def _append(path: Path, text: str) -> None:
    """No wait ends because its progress is not written: whatever has to be on a full disk says so itself."""
    with contextlib.suppress(OSError), path.open("a") as stream:
        stream.write(text)


@contextlib.contextmanager
def told_if_long(what: str) -> Iterator[None]:
    """Say `what` once it has taken longer than anybody waits without a word; nothing of a short wait."""
    later = threading.Timer(LINE_EVERY_S, tell, (f"{what}: not done yet",))
    later.daemon = True
    later.start()
    try:
        yield
    finally:
        _stop(later)


def _stop(later: threading.Timer) -> None:
    """What it has begun to say is said before the caller's output goes on, or its stream is closed."""
    later.cancel()
    later.join()


def updated_table() -> Callable[[Any, str], None]:
    """A table for call(frame, ending): in a notebook one in its place, elsewhere lines by tell()."""
    shown: list[Any] = []

    def show(frame: Any, ending: str) -> None:
        if _in_a_notebook():
            notebook: Any = importlib.import_module("IPython.display")
            page = notebook.HTML(f"{frame.to_html() if len(frame) else ''}<p>{ending}</p>")
            if shown:
                shown[0].update(page)
            else:
                shown.append(notebook.display(page, display_id=True))
        if not _in_a_notebook() or os.environ.get(FILE_VARIABLE):
            tell(f"{frame.to_string()}\n{ending}" if len(frame) else ending)

    return show


def _in_a_notebook() -> bool:
    """Whether a Jupyter kernel runs this code; a module that is merely imported says nothing."""
    interactive = sys.modules.get("IPython")
    return interactive is not None and type(interactive.get_ipython()).__name__ == "ZMQInteractiveShell"
