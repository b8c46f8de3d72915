# SPDX-License-Identifier: MIT
"""Whether a series adds compiler warnings: `make W=1` of what it touches, before and after."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from lockscale.kernels.series import Series, touched_files
from lockscale.kernels.steps import run_step
from lockscale.tools import need

# gcc, kernel-doc and objtool: path, then line and column or nothing, then the word.
WARNING = re.compile(r"^(?P<path>[^\s:]+)(?::\d+)*: (?P<said>warning: .*)$")
OFFSET = re.compile(r"\+0x[0-9a-f]+")
LINES_OF_A_COMPILE = 20  # only scales the progress bar


@dataclass(frozen=True)
class Warnings:
    """The objects that were compiled, and the warnings that only the patched ones give."""

    compiled: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def detail(self) -> str:
        what = ", ".join(self.compiled) or "nothing: no .c file is touched"
        found = f"{len(self.new)} new, first: {self.new[0]}" if self.new else "no new ones"
        return f"warnings of W=1: {found}; compiled {what}"


def new_warnings(
    series: Series, tree: Path, objects: Path, held: Callable[[], AbstractContextManager[None]]
) -> Warnings:
    """Compile the .c files that `series` touches with W=1 in the pristine `tree` and inside `held()`.

    `held` puts the series in the tree and takes it out again. `objects` is a configured O= folder; let
    it be one of its own, because W=1 changes the flags of every object. A header is checked through the
    touched files that include it. RunFailed with the compiler's first error.
    """
    names = [name for name in touched_files(series) if name.endswith(".c")]
    before = _compile([n for n in names if (tree / n).is_file()], tree, objects, "base")
    with held():
        there = [n for n in names if (tree / n).is_file()]
        after = _compile(there, tree, objects, series.name)
    new = tuple(sorted((after - before).elements()))
    return Warnings(tuple(_object(name) for name in there), new)


def _object(name: str) -> str:
    return name.removesuffix(".c") + ".o"


def _compile(names: list[str], tree: Path, objects: Path, what: str) -> Counter[str]:
    """The warnings of compiling `names` now, whether make thinks it needed or not."""
    if not names:
        return Counter()
    targets = [_object(name) for name in names]
    for target in targets:
        (objects / target).unlink(missing_ok=True)
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
