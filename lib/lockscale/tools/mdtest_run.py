# SPDX-License-Identifier: MIT
"""One run of mdtest: what it was asked to do, and its result lines as they are printed."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from lockscale.errors import BadInput
from lockscale.tools.workload_rows import Row, rate_row

_PHASES = {"creation": "create", "removal": "remove"}
_FLAGS = {"C": "creation", "T": "stat", "E": "read", "U": "rename", "r": "removal"}
_NO_SUCH_PHASE = {"dir_read", "rename"}  # a file is not renamed, a directory not read
_SHORT = re.compile(r"-([A-Za-z]+)(?:=(.*))?")
_VALUE = re.compile(r"-([iV])=?(\d+)")
# An option that takes a value ends its word: the S of -dScratch is none.
_TAKES_VALUE = re.compile(r"-([a-zA-Z]*?[abdefiIlnNpsVwWxz])[^=].*")
_OTHER_LOAD = {
    "S": "all tasks open one shared file (-S)",
    "c": "task 0 creates for all (-c)",
}


@dataclass(frozen=True)
class Asked:
    """The phases, how often, and which parts of the output there must be.

    `metrics` are those of the summary, `processes` is --print-all-procs, `rank_statistics` is
    --showRankStatistics. `by_time`: creation ends after -W seconds, so nobody says how many items.
    """

    tests: frozenset[str]
    repeats: int
    verbose: bool
    metrics: frozenset[str]
    processes: bool
    rank_statistics: bool
    by_time: bool


def phase_name(kind: str, name: str) -> str:
    """`create` of `File creation`, `dir_stat` of `Directory stat`."""
    phase = _PHASES.get(name, name)
    return phase if kind == "File" else f"dir_{phase}"


def whole(digits: str) -> int:
    """A count; BadInput above 10^15, which no run prints."""
    if len(digits) > 15:
        raise BadInput("mdtest's output is damaged: a count has more than 15 digits")
    return int(digits)


def read_command(command: str, version: str) -> Asked:
    """What `command` asks of that version; BadInput for a load that is another test."""
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise BadInput(f"mdtest's command line is damaged: {error}") from error
    letters = set(_letters(argv))
    for letter, what in _OTHER_LOAD.items():
        if letter in letters:
            raise BadInput(f"{what}: mdtest's rates are then of another load and are not read")
    values = dict(_values(argv))
    repeats = values.get("i", "1")
    if not re.fullmatch(r"[1-9]\d*", repeats):
        raise BadInput("mdtest's command line has no number after -i: its output is damaged")
    return Asked(
        tests=_tests(letters, renames=version.startswith("4.")),
        repeats=whole(repeats),
        verbose="v" in letters or values.get("V", "0") != "0",
        metrics=frozenset({"rate", "time"} if "P" in letters else {"time"} if "Z" in letters else {"rate"}),
        processes="--print-all-procs" in argv,
        rank_statistics="--showRankStatistics" in argv,
        by_time="W" in letters,
    )


def _letters(argv: list[str]) -> Iterator[str]:
    """Every flag, also of a group (-vCr); -C=0 is off, and of -dScratch only the d is one."""
    for word in argv:
        if (match := _TAKES_VALUE.fullmatch(word)) or ((match := _SHORT.fullmatch(word)) and match[2] != "0"):
            yield from match[1]


def _values(argv: list[str]) -> Iterator[tuple[str, str]]:
    """The values of -i and -V, written -i 3, -i=3 or -i3."""
    for word, following in pairwise([*argv, ""]):
        if word in ("-i", "-V"):
            yield word[1], following
        elif match := _VALUE.fullmatch(word):
            yield match[1], match[2]


def _tests(letters: set[str], *, renames: bool) -> frozenset[str]:
    """Without any of -C -T -E -U -r all phases run, from 4.0.0 on the renaming of directories too."""
    names = [name for letter, name in _FLAGS.items() if letter in letters] or [*_FLAGS.values()]
    both = {"D", "F"} <= letters
    kinds = [k for k, other in (("File", "D"), ("Directory", "F")) if both or other not in letters]
    unknown = _NO_SUCH_PHASE if renames else _NO_SUCH_PHASE | {"dir_rename"}
    return frozenset({phase_name(kind, name) for kind in kinds for name in names} - unknown)


@dataclass(frozen=True)
class Result:
    """One result line: its number, the test, the numbers on it, and its iteration if it has one."""

    line: int
    test: str
    values: tuple[float, ...]
    iteration: int | None = None


@dataclass
class Run:
    """`summary` and `processes` are keyed by `rate` (ops/s) and `time` (s)."""

    version: str
    tasks: int
    items_total: int
    asked: Asked
    iterations: list[Result] = field(default_factory=list)
    summary: dict[str, list[Result]] = field(default_factory=dict)
    processes: dict[str, list[Result]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def leave_out(self, result: Result, reason: str) -> None:
        """Says that a line is left out."""
        self.warnings.append(f"line {result.line}: {reason}, left out")

    def miss(self, found: int, expected: int, what: str) -> None:
        """Says so when fewer results than expected were kept."""
        if found < expected:
            self.warnings.append(f"only {found} of {expected} {what} could be read")

    def has(self, result: Result, values: tuple[float, ...], *, rounded: bool = False) -> bool:
        """Whether a phase was asked for and has numbers; mdtest prints zeros for the others."""
        asked = result.test in self.asked.tests
        if asked and not any(values):
            reason = "is too short for the milliseconds printed" if rounded else "has no rate"
            self.leave_out(result, f"{result.test} {reason}")
        elif not asked and any(values):
            self.leave_out(result, f"{result.test} was not asked for and has numbers")
        return asked and any(values)

    def row(self, result: Result, metric: str, value: float, whose: str, iteration: int | None) -> Row:
        """A rate in ops/s or a time in s."""
        if metric == "rate":
            return rate_row(result.test, self.tasks, iteration, value, whose)
        return Row(result.test, self.tasks, iteration, metric, "s", value, whose)


def like(result: Result, results: list[Result]) -> Result | None:
    """The result of the same phase and iteration."""
    same = [r for r in results if (r.test, r.iteration) == (result.test, result.iteration)]
    return same[0] if same else None
