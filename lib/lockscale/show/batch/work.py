# SPDX-License-Identifier: MIT
"""Run what is left of a batch, one notebook at a time: a finished one never runs again."""

import json
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockscale import paths
from lockscale.errors import BadInput, Interrupted, RunFailed, printable
from lockscale.files import (
    locked,
    need_free_space,
    need_place_for_folder,
    now_utc,
    sha256_of,
    sha256_of_json,
    write_json,
    write_text,
)
from lockscale.measure.run_folder import Run, keep_study
from lockscale.show.batch.index import (
    BatchJournal,
    NotebookEntry,
    State,
    open_journal,
    page_of,
    state_of,
    write_index,
)
from lockscale.show.batch.plan import Batch, Set, read_batch
from lockscale.show.execution import execute, parameters_of
from lockscale.show.headlines import MIME
from lockscale.show.pipeline import preflight
from lockscale.study.file import load_target

KIND = "lockscale batch"
MOST_SAID = 500


@dataclass(frozen=True)
class BatchOutcome:
    """Of a batch: how many sets it has, of them done and failed, and how many notebooks ran just now."""

    batch: str
    path: Path
    sets: int
    done: int
    failed: int
    ran: int

    @property
    def index(self) -> Path:
        return self.path / "index.html"

    def says(self) -> str:
        """One line, for a person or for cron's mail."""
        failed = f", {self.failed} failed" if self.failed else ""
        counts = f"{self.done} of {self.sets} sets done{failed}, {self.ran} notebooks ran now"
        return f"batch {self.batch}: {counts}: {self.index}"


def run_batch(file: Path, output: Path | None = None) -> BatchOutcome:
    """Run the sets of a batch file that are not done, into `output`, by default runs/<its name>.

    Raises BadInput before anything runs where a set cannot; a notebook that fails ends its set alone.
    """
    batch = read_batch(file)
    folder = (output or paths.RUNS / batch.name).absolute()
    need_place_for_folder(folder, "with --output")
    _refuse_what_is_no_batch(folder, batch)
    for study, target in _to_build(batch).values():
        preflight(study, target)
    need_free_space(folder, 200, "a batch")
    with locked(folder / "batch.lock", f"batch {batch.name} in {folder}"):
        write_json(folder / "batch.json", {"kind": KIND, "name": batch.name})
        return _BatchFolder(batch, folder, open_journal(folder / "journal.jsonl")).run()


def _refuse_what_is_no_batch(folder: Path, batch: Batch) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        ours = json.loads((folder / "batch.json").read_text()) == {"kind": KIND, "name": batch.name}
    except (OSError, ValueError):
        ours = False
    if not ours and {path.name for path in folder.iterdir()} != {"batch.lock"}:
        raise BadInput(f"{folder} contains something other than batch {batch.name}: give another --output")


def _to_build(batch: Batch) -> dict[tuple[str, str], tuple[Any, Any]]:
    """Of each study and target whose kernels are built: what preflight() looks at."""
    if not any("target" in parameters_of(notebook) for notebook in batch.notebooks.values()):
        return {}
    wanted = [one for one in batch.sets if one.study and one.reads is None]
    return {(one.study.name, one.target): (one.study, load_target(one.target)) for one in wanted if one.study}


class _BatchFolder:
    """The folder of a batch while its sets run."""

    def __init__(self, batch: Batch, folder: Path, journal: BatchJournal) -> None:
        self.batch, self.folder, self.journal = batch, folder, journal
        self.ran = 0

    def run(self) -> BatchOutcome:
        for half in self.folder.rglob(".*.part"):  # of a process that was killed while it wrote
            half.unlink()
        write_index(self.batch, self.folder, self.entries())
        for number, one in enumerate(self.batch.sets, start=1):
            if self._state(one) != "done":
                if _is_watched():
                    print(f"set {number} of {len(self.batch.sets)}: {one.id}", file=sys.stderr, flush=True)
                self._run_set(one)
                write_index(self.batch, self.folder, self.entries())
        states = [self._state(one) for one in self.batch.sets]
        counts = {state: states.count(state) for state in ("done", "failed")}
        return BatchOutcome(self.batch.name, self.folder, len(states), **counts, ran=self.ran)

    def entries(self) -> dict[tuple[str, str], NotebookEntry]:
        """What is known of each notebook of each set as both are now, but for one whose output is gone."""
        known = {(one.id, name): entry for one in self.batch.sets for name, entry in self._known(one).items()}
        return {which: entry for which, entry in known.items() if entry}

    def _known(self, one: Set) -> dict[str, NotebookEntry | None]:
        found = {name: self.journal.entry(one.id, name, key) for name, key in self._keys(one)}
        return {
            name: entry if state_of([entry]) == "failed" or self._kept(one, name).is_file() else None
            for name, entry in found.items()
        }

    def _state(self, one: Set) -> State:
        return state_of(self._known(one).values())

    def _keys(self, one: Set) -> Iterator[tuple[str, str]]:
        """Each notebook with the hash of its set, its own text and that of those before it."""
        key = one.sha256
        for name, path in self.batch.notebooks.items():
            key = sha256_of_json([key, name, sha256_of(path)])
            yield name, key

    def _kept(self, one: Set, name: str) -> Path:
        return self.folder / one.id / "notebooks" / f"{name}.ipynb"

    def _run_set(self, one: Set) -> None:
        """Those of its notebooks that are left; none after one that fails."""
        run = Run(self.folder / one.id)
        run.folder.mkdir(exist_ok=True)
        if one.study:
            keep_study(run, one.study, one.target, one.reads)
        known = self._known(one)
        for name, key in self._keys(one):
            if state_of([known[name]]) != "done":
                entry = self._run_notebook(one, run, name, key)
                self.journal.add(entry)
                self.ran += 1
                if entry["status"] == "failed":
                    return

    def _run_notebook(self, one: Set, run: Run, name: str, key: str) -> NotebookEntry:
        notebook, into = self.batch.notebooks[name], run.folder / "running"
        running = into / notebook.name
        parameters = {**one.parameters, "target": one.target, "run": str(run.folder)}
        started_utc, started_s = now_utc(), time.monotonic()
        failure = ""
        try:
            execute(notebook, running, parameters, run.folder / "progress.log", shown=_is_watched())
        except Interrupted:
            raise Interrupted(
                "interrupted: no finished notebook is lost, the same command continues the batch"
            ) from None
        except (BadInput, RunFailed) as error:
            failure = str(error).replace(str(running), str(self._kept(one, name)))
        says, numbers = self._keep(one, name, running)
        shutil.rmtree(into)
        return NotebookEntry(
            set=one.id,
            notebook=name,
            key=key,
            status="failed" if failure else "done",
            says=printable(failure or says, MOST_SAID),
            numbers=numbers,
            wall_s=round(time.monotonic() - started_s, 1),
            started_utc=started_utc,
        )

    def _keep(self, one: Set, name: str, running: Path) -> tuple[str, dict[str, float]]:
        """Put the executed notebook and its page where the index links to them; its headline."""
        if not running.is_file():
            return "", {}
        text, pages = running.read_text(), self.folder / one.id / "pages"
        title = f"{self.batch.name}: {one.id}: {name}"
        page = page_of(text, title, name, self.batch.notebooks, pages, self.folder)
        write_text(pages / f"{name}.html", page)
        write_text(self._kept(one, name), text)
        return _headline(json.loads(text))


def _headline(notebook: dict[str, Any]) -> tuple[str, dict[str, float]]:
    """The last headline that a cell showed, else the notebook's title."""
    outputs = (output for cell in notebook["cells"] for output in cell.get("outputs", ()))
    if found := [output["data"][MIME] for output in outputs if MIME in output.get("data", {})]:
        return found[-1]["says"], found[-1]["numbers"]
    first = next((cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown"), "")
    return "".join(first).partition("\n")[0].lstrip("# "), {}


def _is_watched() -> bool:
    """Whether a person sees standard error: cron mails whatever is written there."""
    return sys.stderr.isatty()
