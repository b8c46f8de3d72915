# SPDX-License-Identifier: MIT
"""A patch series: kernel-patches/<study>/<arm>/series and the git am-able patches it lists."""

import glob
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput, near
from lockscale.kernels.base import chosen_line
from lockscale.kernels.mail import read_mail, read_text, refuse_crlf
from lockscale.programs import need
from lockscale.scratch import scratch_folder

UNSAFE = re.compile(r"^# unsafe: (\S.*)$")
# What `git apply --summary` says of a mode that is not a plain file's, 100644.
MODE = re.compile(r"^ ((?:create|delete) mode (?!100644 )\d.*|mode change .*)$", re.MULTILINE)
OFFSET = re.compile(r"^Hunk #\d+ succeeded at \d+ \(offset (-?\d+) lines?\)\.$", re.MULTILINE)
MOVED = re.compile(r"^(?:rename|copy) from (.+)$", re.MULTILINE)  # --numstat names the new path only


@dataclass(frozen=True)
class Series:
    """The patches of one arm in order; none means that the arm is the base itself.

    ``unsafe``: what its kernel may do to a file system, from a line `# unsafe: ...`; else empty.
    ``base``: the line of the kernel that it is for, as kernel-patches/base.toml names it; empty: the first.
    """

    study: str
    arm: str
    folder: Path
    patches: tuple[Path, ...]
    unsafe: str = ""
    base: str = ""

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


def has_series(study: str, arm: str) -> bool:
    """Whether an arm has a folder of patches of its own name."""
    return (paths.KERNEL_PATCHES / study / arm / "series").exists()


def read_series(study: str, arm: str, folder_name: str | None = None, line: str = "") -> Series:
    """The series of an arm, its own or that of another folder, for the base of a line; or what is lacking.

    Where the folder has a file `series.LINE`, that one lists the patches for this base.
    """
    folder = paths.KERNEL_PATCHES / study / (folder_name or arm)
    if not (folder / "series").exists():
        asked = f"{study}/{folder.name}"
        raise BadInput(f"no series {asked} under {paths.KERNEL_PATCHES}{near(asked, _known())}")
    line = chosen_line(line)
    patches, unsafe = _listed(folder, line)
    return Series(study, arm, folder, patches, " ".join(unsafe), line)


def _listed(folder: Path, line: str) -> tuple[tuple[Path, ...], list[str]]:
    """The patches that the `series` of a folder lists, its own or another arm's; why they are unsafe."""
    own = folder / f"series.{line}"
    listing = own if own.is_file() else folder / "series"
    names = [name.strip() for name in read_text(listing).splitlines()]
    unsafe = [_unsafe(name, listing) for name in names if name.startswith("#") and "unsafe" in name.lower()]
    listed = [name for name in names if name and not name.startswith("#")]
    patches = tuple(folder / name for name in listed)
    if twice := next((name for name in listed if listed.count(name) > 1), None):
        raise BadInput(f"{listing} lists {twice!r} twice: drop one of the lines")
    for patch in patches:
        if not (_is_below(patch, folder) or _is_of_another_arm(patch)):
            said = os.path.relpath(patch, folder)
            raise BadInput(
                f"{listing} lists {said!r}, which is neither a file beside it nor a patch of another arm: "
                f"add the file or drop the line"
            )
    return patches, unsafe


def unlisted(series: Series) -> list[str]:
    """Patches beside a `series` that none there names, not even in a comment."""
    named = {
        name.strip(" \t#")
        for listing in series.folder.glob("series*")
        for name in read_text(listing).splitlines()
    }
    return sorted(path.name for path in series.folder.glob("*.patch") if path.name not in named)


def _is_of_another_arm(patch: Path) -> bool:
    """What several arms begin with exists once: the others name it as ../../STUDY/ARM/0001-x.patch."""
    if not _is_below(patch, paths.KERNEL_PATCHES):
        return False
    home = patch.resolve().parent
    arms = (home, home.parent)  # ARM/x.patch, ARM/7.3/x.patch
    return any((arm / "series").is_file() for arm in arms)


def _is_below(patch: Path, folder: Path) -> bool:
    try:
        return patch.resolve().is_relative_to(folder.resolve()) and patch.is_file()
    except (OSError, ValueError, RuntimeError):  # a name too long or with a NUL, a loop of links
        return False


def with_on_top(series: Series, on_top: str | None) -> Series:
    """`series` with the patches of kernel-patches/`on_top` behind its own."""
    if on_top is None:
        return series
    patches, _ = _listed(paths.KERNEL_PATCHES / on_top, series.base)
    return replace(series, patches=(*series.patches, *patches))


def _unsafe(line: str, listing: Path) -> str:
    """The reason in a line `# unsafe: ...`; a comment that may be meant as one is not overlooked."""
    found = UNSAFE.match(line)
    if not found:
        raise BadInput(
            f"{listing}: {line!r} contains the word unsafe: write `# unsafe: why`, or leave the word out"
        )
    return found[1]


def refuse_unsafe(series: Series, *, disposable: bool, target: str) -> None:
    """Refuse an unsafe arm on a target whose disk may hold what somebody needs."""
    if series.unsafe and not disposable:
        raise BadInput(
            f"arm {series.name} is unsafe ({series.unsafe}): it runs only on a target with "
            f"`disposable: true`, which {target} lacks"
        )


def safe_of(chosen: Sequence[Series]) -> list[Series]:
    """The arms of `chosen` that lose nothing by design; BadInput when there is none to prove anything of."""
    safe = [series for series in chosen if not series.unsafe]
    if not safe:
        raise BadInput(
            f"{chosen[0].name} is unsafe ({chosen[0].unsafe}) and is left out, so nothing is "
            f"left to do: name a safe arm"
        )
    return safe


def all_series() -> list[Series]:
    """Every series in kernel-patches, by study and arm."""
    return [read_series(study, arm) for study, arm in _found()]


def _found() -> list[tuple[str, str]]:
    """Study and arm of each folder that holds a `series`, readable or not."""
    listings = sorted(paths.KERNEL_PATCHES.glob("*/*/series"))
    return [(path.parent.parent.name, path.parent.name) for path in listings]


def chosen_names(which: str | None) -> list[tuple[str, str]]:
    """Study and arm of every series of `which`, readable or not: a study, a study/arm, or None for all."""
    chosen = [(study, arm) for study, arm in _found() if which in (None, study, f"{study}/{arm}")]
    if not chosen and which and len(Path(which).parts) == 2 and (paths.KERNEL_PATCHES / which).is_dir():
        raise BadInput(
            f"kernel-patches/{which} has no file `series`: name its patches there, one a line, in their order"
        )
    if not chosen:
        raise BadInput(f"there is no series {which!r}{near(str(which), _known())}")
    return chosen


def _known() -> list[str]:
    return ["/".join(at) for at in _found()]


def chosen_series(which: str | None) -> list[Series]:
    """Every series of `which`; BadInput for one that cannot be read, which no other arm suffers from."""
    return [read_series(study, arm) for study, arm in chosen_names(which)]


def touched_files(series: Series) -> list[str]:
    """The files that a series changes, as paths inside the tree."""
    touched: dict[str, None] = {}
    for patch in series.patches:
        refuse_crlf(patch)
        moved = MOVED.findall(read_text(patch))
        for name in (*_changed_by(patch), *moved):
            if ".." in Path(name).parts or Path(name).is_absolute():
                raise BadInput(f"{patch} changes {name!r}, which is outside the kernel tree: leave it out")
            touched[name] = None
    return list(touched)


def _changed_by(patch: Path) -> list[str]:
    done = run_git(["apply", "--numstat", "--summary", "-z", str(patch.resolve())], patch.resolve().parent)
    if done.returncode:
        raise BadInput(
            f"{patch} is not a patch that git can read ({_error_of(done)}): make it with git format-patch"
        )
    *entries, summary = done.stdout.split("\0")
    if mode := MODE.search(summary):
        raise BadInput(
            f"{patch} contains a symbolic link or a file mode ({mode[1]}): leave it out, only regular "
            f"files of mode 100644 are allowed"
        )
    return [entry.split("\t", 2)[2] for entry in entries]


def apply_beside(series: Series, tree: Path) -> dict[str, bytes | None]:
    """What the touched files of the pristine `tree` become; `tree` itself is not changed.

    git apply takes no fuzz. A series that does not apply, is in already, or is not git am's to take, is
    refused in a sentence.
    """
    return apply_with_offset(series, tree)[0]


def apply_with_offset(series: Series, tree: Path) -> tuple[dict[str, bytes | None], int]:
    """The same, and by how many lines a hunk lies elsewhere in `tree` than it says, at most."""
    touched = touched_files(series)
    for patch in series.patches:
        read_mail(patch)
    with scratch_folder("series") as stage:
        for name in touched:
            if (tree / name).is_file():
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / name, stage / name)
        farthest = max((_apply_one(series, at, stage, tree) for at in range(len(series.patches))), default=0)
        after = {n: (stage / n).read_bytes() if (stage / n).is_file() else None for n in touched}
        return after, farthest


def _apply_one(series: Series, at: int, stage: Path, tree: Path) -> int:
    """The largest offset of its hunks in lines, either way.

    git takes the nearest lines that look alike, in whatever function: one that could come out nearer is in.
    """
    patch = series.patches[at]
    out = run_git(["apply", "--verbose", "--check", "-R", str(patch.resolve())], stage)
    done = run_git(["apply", "--verbose", str(patch.resolve())], stage)
    is_nearer = out.returncode == 0 and _offset(out) < _offset(done)
    if done.returncode == 0 and not is_nearer:
        return _offset(done)
    done = run_git(["apply", str(patch.resolve())], stage)  # its words without what it searched for
    if is_nearer or _is_in((patch,), stage) or _is_in(series.patches[at:], stage):
        why = "is already in this kernel source: drop it, or name a source without it"
    elif run_git(["apply", "--check", "--ignore-whitespace", str(patch.resolve())], stage).returncode == 0:
        why = "applies only if white space is ignored: mail or an editor changed its tabs; export it again"
    elif missing := _without_prefix(patch, tree):
        why = (
            f"changes {missing}, which the kernel source has one folder further down: its paths lack a/ and "
            "b/, so make it again without --no-prefix (diff.noprefix)"
        )
    else:
        why = f"does not apply to this kernel source ({_error_of(done)}): rebase it, fuzz is not allowed"
    raise BadInput(f"series {series.name}: {patch.name} {why}")


def _offset(done: subprocess.CompletedProcess[str]) -> int:
    return max((abs(int(lines)) for lines in OFFSET.findall(done.stderr)), default=0)


def _without_prefix(patch: Path, tree: Path) -> str:
    """A file that git looks for one folder too high, as it takes the first one for a/; empty if none."""
    for name in _changed_by(patch):
        if not (tree / name).is_file() and any(tree.glob(f"*/{glob.escape(name)}")):
            return name
    return ""


def _is_in(patches: tuple[Path, ...], stage: Path) -> bool:
    """Whether `patches` can be taken out of the stage, the last one first; the stage is spoilt."""
    return all(run_git(["apply", "-R", str(p.resolve())], stage).returncode == 0 for p in reversed(patches))


def run_git(argv: list[str], folder: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run git in `folder` on the text `given`, blind to the user's settings and to any repository around it.

    Below the top of a repository git apply skips, in silence, files that it thinks lie outside.
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {"LC_ALL": "C", "GIT_CEILING_DIRECTORIES": str(folder.resolve().parent)}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        [need("git"), *argv],
        cwd=folder,
        env=env,
        input=given,
        capture_output=True,
        text=True,
        errors="replace",
    )


def _error_of(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.splitlines() or ["git apply failed"]
    first = next((line for line in lines if line.startswith("error: ")), lines[0])
    return first.removeprefix("error: ")
