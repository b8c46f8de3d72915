# SPDX-License-Identifier: MIT
"""What lies where in runs/<id>/, and which run is the latest."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import full_disk_is_one_sentence, need_place_for_folder, sync_folder
from lockscale.measure.run_files import names_kernels, read_study_file


@dataclass(frozen=True)
class Run:
    """One run of a study: a folder and the files in it."""

    folder: Path

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def rows(self) -> Path:
        return self.folder / "rows.csv"

    @property
    def provenance(self) -> Path:
        return self.folder / "provenance.json"

    @property
    def prediction(self) -> Path:
        return self.folder / "prediction.json"

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    @property
    def raw(self) -> Path:
        return self.folder / "raw"

    @property
    def figures(self) -> Path:
        return self.folder / "figures"

    @property
    def notebooks(self) -> Path:
        return self.folder / "notebooks"

    @property
    def tables(self) -> Path:
        """Copies of the study's own tables, as the run found them."""
        return self.folder / "tables"

    @property
    def changelog(self) -> Path:
        return self.folder / "changelog.txt"


def new_run(study: str) -> Run:
    """A new folder runs/<study>-<UTC time>. Raises BadInput where there can be none."""
    _need_place_for_runs()
    while True:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        run = Run(paths.RUNS / f"{study}-{stamp}")
        with full_disk_is_one_sentence(paths.RUNS):
            try:
                run.folder.mkdir(parents=True)
                sync_folder(paths.RUNS)
                return run
            except FileExistsError:  # another run began in the same second
                time.sleep(0.2)


def _need_place_for_runs() -> None:
    try:
        need_place_for_folder(paths.RUNS)
    except BadInput as error:
        raise BadInput(f"{error} in LOCKSCALE_RUNS") from None


def list_runs() -> list[Run]:
    """Every run on this machine, the oldest first."""
    return [Run(path.parent) for path in sorted(paths.RUNS.glob("*/study.json"))]


def target_of(run: Run) -> tuple[str, str] | None:
    """The study and the target that a run is of; None where its study.json is damaged."""
    try:
        said = read_study_file(run.folder)
    except BadInput:
        return None
    return str(said["name"]), str(said["target"])


def find_run(name: str) -> Run:
    """A run by its id, here or in data/measured, or by its folder."""
    for folder in _folders(name):
        return Run(folder.resolve())
    raise BadInput(f"there is no run {name!r} under {paths.RUNS}: lockscale study status lists them")


def is_run(name: str) -> bool:
    """Whether find_run() finds one."""
    return any(_folders(name))


def _folders(name: str) -> list[Path]:
    places = (paths.RUNS / name, paths.MEASURED / name, Path(name))
    return [folder for folder in places if "\0" not in name and (folder / "study.json").is_file()]


def is_curated(run: Run) -> bool:
    """Whether it is one of data/measured: those are read, and never written to."""
    return run.folder.resolve().is_relative_to(paths.MEASURED.resolve())


def curated_run(study: str) -> Run:
    """The latest run of `study` in data/measured. Raises BadInput where there is none."""
    for run in _of_our_kernels(paths.MEASURED, study):
        return run
    raise BadInput(f"study {study} has no run in data/measured: lockscale study keep RUN puts one there")


def latest_run(study: str) -> Run:
    """The latest run of `study` here that measured kernels of ours, else the curated one in data/measured.

    A run on a machine as it is, of kind local, has no arms to tell of. Raises BadInput where there is none.
    """
    for folder in (paths.RUNS, paths.MEASURED):
        for run in _of_our_kernels(folder, study):
            return run
    raise BadInput(f"study {study} has no measured run: make study STUDY={study}")


def _of_our_kernels(folder: Path, study: str) -> Iterator[Run]:
    """The measured runs of `study` in `folder` whose provenance names kernels, the latest first."""
    for rows in sorted(folder.glob(f"{study}-2*/rows.csv"), reverse=True):
        if names_kernels(rows.parent):
            yield Run(rows.parent)
