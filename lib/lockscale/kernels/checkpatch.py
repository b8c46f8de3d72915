# SPDX-License-Identifier: MIT
"""What the kernel's own checks say of a series: scripts/checkpatch.pl --strict, and new warnings of W=1."""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from lockscale.errors import RunFailed
from lockscale.kernels.logged_command import make_in, run_step
from lockscale.kernels.series import Series, touched_files
from lockscale.programs import need

TOTAL = re.compile(r"^total: (\d+) errors?, (\d+) warnings?, (\d+) checks?, \d+ lines checked$", re.MULTILINE)
ERROR = re.compile(r":(\d+): ERROR: ?(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Style:
    """What checkpatch counted in one patch; `first_error` is "" or "line N: what it says"."""

    patch: str
    errors: int
    warnings: int
    checks: int
    first_error: str = ""


def checkpatch(series: Series, tree: Path) -> list[Style]:
    """Counts per patch of `series`, by the script of the kernel in `tree`. Nothing is changed.

    Run in `tree`: at the top of a git repository a tracked patch is checked as a source file. HOME is `tree`,
    so that no .checkpatch.conf of the user's changes the result.
    """
    env, styles = {**os.environ, "LC_ALL": "C", "HOME": str(tree)}, []
    argv = [need("perl"), "scripts/checkpatch.pl", "--strict", "--terse", "--no-color"]
    for patch in series.patches:
        one = [*argv, str(patch.resolve())]
        done = subprocess.run(one, cwd=tree, env=env, capture_output=True, text=True, errors="replace")
        styles.append(read_style(patch.name, done.stdout, done.stderr, done.returncode))
    return styles


def checkpatch_detail(series: Series, tree: Path) -> tuple[bool, str]:
    """Whether no patch has an error, and one sentence; warnings and checks are counted, not refused."""
    styles = checkpatch(series, tree)
    bad = next((style for style in styles if style.errors), None)
    counts = [sum(getattr(s, what) for s in styles) for what in ("errors", "warnings", "checks")]
    said = "{} errors, {} warnings, {} checks".format(*counts)
    return bad is None, f"{said}; first: {bad.patch} {bad.first_error}" if bad else said


def read_style(patch: str, stdout: str, stderr: str, status: int) -> Style:
    """Read `checkpatch.pl --terse`, which prints nothing for a clean patch and ends in a total else."""
    if status == 0 and not stdout.strip():
        return Style(patch, 0, 0, 0)
    total, error = TOTAL.search(stdout), ERROR.search(stdout)
    if not total or bool(int(total[1])) != bool(error):
        lines = [line for line in (stderr + "\n" + stdout).splitlines() if line.strip()]
        raise RunFailed(f"checkpatch of {patch} failed: {lines[0].strip() if lines else 'no reason given'}")
    errors, warnings, checks = (int(count) for count in total.groups())
    return Style(patch, errors, warnings, checks, f"line {error[1]}: {error[2]}" if error else "")


# gcc, kernel-doc of 6.12 and objtool: path, then line and column or nothing, then the word.
WARNING = re.compile(r"^(?P<path>[^\s:]+)(?::\d+)*: (?P<said>warning: .*)$")
# kernel-doc since 6.16, which is Python: the word, then path and line.
DOC_WARNING = re.compile(r"^Warning: (?P<path>[^\s:]+):\d+ (?P<said>.*)$")
OFFSET = re.compile(r"\+0x[0-9a-f]+")
LINES_OF_A_COMPILE = 20  # only scales the progress bar
FOLDERS = ("fs/ext4", "fs/jbd2")  # compiled for a header that lies beside no C file, as in include/


@dataclass(frozen=True)
class Warnings:
    """The objects or folders that were compiled, and the warnings that only the patched ones give."""

    compiled: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def detail(self) -> str:
        what = ", ".join(self.compiled) or "nothing: no C file and no header is touched"
        found = f"{len(self.new)} new, first: {self.new[0]}" if self.new else "no new ones"
        return f"warnings of W=1: {found}; compiled {what}"


def new_warnings(
    series: Series, tree: Path, objects: Path, held: Callable[[], AbstractContextManager[None]]
) -> Warnings:
    """Compile what `series` touches with W=1 in the pristine `tree` and inside `held()`.

    `held` puts the series in the tree and takes it out again. `objects` is a configured O= folder; let
    it be one of its own, because W=1 changes the flags of every object. RunFailed with the compiler's
    first error.
    """
    names = touched_files(series)
    before = _compile(_targets(names, tree), tree, objects, "base")
    with held():
        targets = _targets(names, tree)
        after = _compile(targets, tree, objects, series.name)
    new = tuple(sorted((after - before).elements()))
    return Warnings(tuple(targets), new)


def _targets(names: Sequence[str], tree: Path) -> list[str]:
    """The objects of the touched C files, which include the touched headers.

    Where headers alone are touched it is every object of their folders that the configuration has: make
    knows which these are, and a C file that is configured out may not compile.
    """
    c_files = [name for name in names if name.endswith(".c")]
    if c_files:
        return [f"{name.removesuffix('.c')}.o" for name in c_files if (tree / name).is_file()]
    own = {Path(name).parent.as_posix() for name in names if name.endswith(".h")}
    with_c_files = {folder for folder in own if any((tree / folder).glob("*.c"))}
    elsewhere = {folder for folder in FOLDERS if (tree / folder).is_dir()} if own - with_c_files else set()
    return [f"{folder}/" for folder in sorted(with_c_files | elsewhere)]


def _compile(targets: Sequence[str], tree: Path, objects: Path, what: str) -> Counter[str]:
    """The warnings of compiling `targets` now, whether make thinks it needed or not."""
    if not targets:
        return Counter()
    for target in targets:
        old = (objects / target).rglob("*.o") if target.endswith("/") else [objects / target]
        for path in old:
            path.unlink(missing_ok=True)
    log = objects / "warnings.log"
    run_step(make_in(tree, objects, "W=1", *targets), f"compile {what} with W=1", LINES_OF_A_COMPILE, log)
    return warnings_in(log.read_text(errors="replace").splitlines(), tree)


def warnings_in(lines: Iterable[str], tree: Path) -> Counter[str]:
    """The warnings with their paths inside `tree`, without what moves when lines are added."""
    found: Counter[str] = Counter()
    for line in lines:
        if match := WARNING.match(line):
            found[f"{_inside(match['path'], tree)}: {OFFSET.sub('', match['said'])}"] += 1
        elif match := DOC_WARNING.match(line):
            found[f"{_inside(match['path'], tree)}: warning: {match['said']}"] += 1
    return found


def _inside(path: str, tree: Path) -> str:
    """A path that a compiler printed, as it is inside `tree`."""
    path = path.removeprefix(f"{tree}/")
    while path.startswith("../"):
        path = path[3:]
    return path
