# SPDX-License-Identifier: MIT
"""Whether a series adds compiler warnings: `make W=1` of what it touches, before and after."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from lockscale.kernels.series import Series, touched_files
from lockscale.kernels.steps import run_step
from lockscale.programs import need

# gcc, kernel-doc and objtool: path, then line and column or nothing, then the word.
WARNING = re.compile(r"^(?P<path>[^\s:]+)(?::\d+)*: (?P<said>warning: .*)$")
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
    argv = [need("make"), f"--directory={tree}", f"O={objects}", f"-j{os.cpu_count()}", "W=1", *targets]
    run_step(argv, f"compile {what} with W=1", LINES_OF_A_COMPILE, log)
    return warnings_in(log.read_text(errors="replace").splitlines(), tree)


def warnings_in(lines: Iterable[str], tree: Path) -> Counter[str]:
    """The warnings with their paths inside `tree`, without what moves when lines are added."""
    found: Counter[str] = Counter()
    for line in lines:
        if match := WARNING.match(line):
            path = match["path"].removeprefix(f"{tree}/")
            while path.startswith("../"):
                path = path[3:]
            found[f"{path}: {OFFSET.sub('', match['said'])}"] += 1
    return found
