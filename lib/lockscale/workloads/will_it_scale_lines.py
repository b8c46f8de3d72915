# SPDX-License-Identifier: MIT
"""What a test case of will-it-scale prints: 6 seconds of warm-up, the measured seconds, their average.

main.c: of each second the fewest and the most operations of one task, and those of all tasks together.
A text may hold several runs, each with its command line above it.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath

from lockscale.errors import BadInput
from lockscale.workloads.command_line import after_prompt, whole
from lockscale.workloads.rows import Row, rate_row, unconfirmed

TITLE = re.compile(r"^testcase:.*\n+warmup\r?$", re.MULTILINE)
WARM_UP = 6
MAX_TASKS = 2048  # main.c takes no more
# The test cases that exercise a file system's metadata, and how each one calls itself.
CASES = {
    "fallocate1": "Separate file fallocate ",
    "fallocate2": "Separate file fallocate",
    "open1": "Separate file open/close",
    "open2": "Separate file open/close in different directories",
    "open3": "Same file open/close",
    "unlink1": "Separate file open/close/unlink",
    "unlink2": "Separate file open/close/unlink in different directories",
}
_SECOND = re.compile(r"min:([0-9]{1,15}) max:([0-9]{1,15}) total:([0-9]{1,15})")
_AVERAGE = re.compile(r"average:([0-9]{1,15})")
_PROGRAM = re.compile(r"(\w+)_(?:processes|threads)")


@dataclass
class _Run:
    """One run; `tasks` and `seconds` are None where no command line says them, 0 where it is damaged."""

    line: int
    title: str
    program: str = ""
    case: str = ""
    tasks: int | None = None
    seconds: int | None = None
    warm_up: int = 0
    measured: list[tuple[int, int, int]] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    average: int | None = None

    @property
    def test(self) -> str:
        """The program's name where it is known to belong to the title, else the title."""
        return self.program if self.case in CASES else self.title.strip()


def run_rows(text: str) -> tuple[list[Row], list[str]]:
    """Rows and warnings; BadInput for two runs alike.

    A run is left out unless it is whole and its numbers agree.
    """
    warnings: list[str] = []
    rows: list[Row] = []
    runs = _runs(text.splitlines(), warnings)
    if len({(run.test, run.tasks) for run in runs}) < len(runs):
        raise BadInput("will-it-scale's output has two runs that nothing tells apart: give one of them")
    for run in runs:
        why = _fault(run)
        if why:
            warnings.append(f"the run of line {run.line} is left out: {why}")
        else:
            rows += _rows(run)
    if any(row.threads not in (1, 2) for row in rows):
        warnings.append(unconfirmed("the fewest and the most operations of one task"))
    return rows, warnings


def _runs(lines: list[str], warnings: list[str]) -> list[_Run]:
    runs: list[_Run] = []
    for number, line in enumerate((line.strip() for line in lines), 1):
        if line.startswith("testcase:"):
            runs.append(_new(number, lines[number - 1].removeprefix("testcase:"), lines[: number - 1]))
        elif not line or after_prompt(line) is not None:
            continue
        elif not runs or not _add(runs[-1], line):
            warnings.append(f"line {number} is not understood")
            if runs and (runs[-1].average is None or line.startswith("average")):
                runs[-1].marks.append("?")
    return runs


def _new(number: int, title: str, above: list[str]) -> _Run:
    """A run that begins on this line; the line above it may be its command."""
    argv = after_prompt(above[-1]) if above else None
    program = _PROGRAM.fullmatch(PurePosixPath(argv[0]).name) if argv else None
    if argv is None or program is None:
        return _Run(number, title)
    options = {name: whole(value) or 0 for name, value in pairwise([*argv, ""])}
    return _Run(number, title, program[0], program[1], options.get("-t", 1), options.get("-s", 0))


def _add(run: _Run, line: str) -> bool:
    if line in ("warmup", "measurement"):
        run.marks.append(line)
    elif found := _SECOND.fullmatch(line):
        if run.marks == ["warmup"]:
            run.warm_up += 1
        run.measured += [(int(found[1]), int(found[2]), int(found[3]))] * (run.marks != ["warmup"])
    elif (found := _AVERAGE.fullmatch(line)) and run.average is None:
        run.average = int(found[1])
    else:
        return False
    return True


def _fault(run: _Run) -> str | None:
    if run.marks != ["warmup", "measurement"] or run.warm_up != WARM_UP:
        return "it has lines too many or too few"
    if run.average is None or not run.measured:
        return "it has no average: it was cut short"
    stranger = CASES.get(run.case, run.title) != run.title
    if stranger or run.tasks == 0 or run.seconds not in (None, len(run.measured)):
        return "its command line says something else"
    possible = range(1, MAX_TASKS + 1) if run.tasks is None else [run.tasks]
    if not any(all(_adds_up(tasks, *second) for second in run.measured) for tasks in possible):
        return "the fewest, the most and all operations of a second do not fit together"
    if run.average != sum(total for _, _, total in run.measured) // len(run.measured):
        return "the average is not that of the seconds"
    return None


def _adds_up(tasks: int, least: int, most: int, total: int) -> bool:
    if tasks == 1:
        return least == most == total
    rest = tasks - 2
    return least <= most and rest * least <= total - least - most <= rest * most


def _rows(run: _Run) -> list[Row]:
    least, most, totals = zip(*run.measured, strict=True)
    values = {
        "total_mean": run.average or 0,
        "total_min": min(totals),
        "total_max": max(totals),
        "ranks_min": min(least),
        "ranks_max": max(most),
    }
    return [rate_row(run.test, run.tasks, None, float(value), name) for name, value in values.items()]
