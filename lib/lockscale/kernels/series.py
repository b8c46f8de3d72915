# SPDX-License-Identifier: MIT
"""A patch series: kernel-patches/<study>/<arm>/series and the git am-able patches it lists."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.tools import need


@dataclass(frozen=True)
class Series:
    """The patches of one arm in order; none means that the arm is the base itself."""

    study: str
    arm: str
    folder: Path
    patches: tuple[Path, ...]

    @property
    def name(self) -> str:
        return f"{self.study}/{self.arm}"

    @property
    def sha256(self) -> str:
        """Of the patches' content alone: two arms with the same patches are one kernel."""
        whole = hashlib.sha256()
        for patch in self.patches:
            whole.update(patch.read_bytes())
        return whole.hexdigest()


def read_series(study: str, arm: str) -> Series:
    """The series of an arm, or one sentence on what its folder lacks."""
    folder = paths.KERNEL_PATCHES / study / arm
    listing = folder / "series"
    if not listing.is_file():
        known = ", ".join(f"{s.study}/{s.arm}" for s in all_series()) or "none"
        raise BadInput(f"no series {study}/{arm} under {paths.KERNEL_PATCHES} (there are: {known})")
    names = [line.strip() for line in listing.read_text().splitlines()]
    patches = tuple(folder / name for name in names if name and not name.startswith("#"))
    for patch in patches:
        if not patch.resolve().is_relative_to(folder.resolve()) or not patch.is_file():
            raise BadInput(
                f"{listing} lists {patch.name!r}, which is not a file beside it: add it or drop the line"
            )
    return Series(study, arm, folder, patches)


def named_series(name: str) -> Series:
    """The series that "study/arm" names."""
    study, slash, arm = name.partition("/")
    if not (slash and study and arm):
        raise BadInput(f"{name!r} names no series: write STUDY/ARM, as in `lockscale patches list`")
    return read_series(study, arm)


def all_series() -> list[Series]:
    """Every series in kernel-patches, by study and arm."""
    found = sorted(paths.KERNEL_PATCHES.glob("*/*/series"))
    return [read_series(path.parent.parent.name, path.parent.name) for path in found]


def touched_files(series: Series) -> list[str]:
    """The files that a series changes, as paths inside the tree."""
    touched: dict[str, None] = {}
    for patch in series.patches:
        for line in _git(["apply", "--numstat", str(patch)], Path.cwd(), patch).splitlines():
            touched[line.split("\t", 2)[2]] = None
    return list(touched)


def apply_beside(series: Series, tree: Path) -> dict[str, bytes | None]:
    """What the touched files of the pristine `tree` become; `tree` itself is not changed.

    git apply takes no fuzz. A series that does not apply, or is in already, is refused in a sentence.
    """
    touched = touched_files(series)
    with tempfile.TemporaryDirectory(prefix="lockscale-series-") as scratch:
        stage = Path(scratch)
        for name in touched:
            if (tree / name).is_file():
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / name, stage / name)
        for patch in series.patches:
            _apply_one(series, patch, stage)
        return {n: (stage / n).read_bytes() if (stage / n).is_file() else None for n in touched}


def _apply_one(series: Series, patch: Path, stage: Path) -> None:
    error = _try_git(["apply", str(patch)], stage)
    if error is None:
        return
    if _try_git(["apply", "--check", "--reverse", str(patch)], stage) is None:
        raise BadInput(
            f"series {series.name}: {patch.name} is already in this kernel source: "
            "leave it out, or name a source without it"
        )
    raise BadInput(
        f"series {series.name}: {patch.name} does not apply to this kernel source ({error}): "
        "rebase it, no fuzz is taken"
    )


def _try_git(argv: list[str], folder: Path) -> str | None:
    """None when git succeeds, else the first line it said."""
    # A folder inside a repository would make git apply skip files that it thinks lie outside.
    env = {**os.environ, "LC_ALL": "C", "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(
        [need("git"), *argv], cwd=folder, env=env, capture_output=True, text=True, errors="replace"
    )
    if done.returncode == 0:
        return None
    return (done.stderr.splitlines() or ["git apply failed"])[0].removeprefix("error: ")


def _git(argv: list[str], folder: Path, patch: Path) -> str:
    done = subprocess.run([need("git"), *argv], cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode:
        first = (done.stderr.splitlines() or [""])[0].removeprefix("error: ")
        raise BadInput(f"{patch} is not a patch that git can read ({first}): make it with git format-patch")
    return done.stdout
