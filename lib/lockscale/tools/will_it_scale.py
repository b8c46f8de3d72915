# SPDX-License-Identifier: MIT
"""will-it-scale: find it, read what its test cases print.

Its output names neither a version nor the number of tasks: the tasks, and whether they are processes or
threads, are taken from the command line above it, where there is one after a shell's prompt.

A test case prints 6 seconds of warm-up, the measured seconds and their average. main.c: of each second
the fewest and the most operations of one task, and those of all tasks together. A text may hold several
runs, each with its command line above it.

In the CSV of its runtest.py `linear` is what 1 task did, processes or threads, whichever was faster, x
tasks. It is a wish and not a measurement, so it makes no row.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath

from lockscale.errors import BadInput
from lockscale.tools.parsed_rows import LOST_LINES, Parsed, ParsedRow, after_prompt, parsed, rate_row, whole
from lockscale.tools.target_tools import Part, TargetTool, found_in

TOOL = "will-it-scale"
WARM_UP = 6
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
PLACES = ('"$WILL_IT_SCALE"', "/opt/will-it-scale", "/usr/lib/will-it-scale", '"$HOME/will-it-scale"')

_CSV_HEAD = re.compile(r"^tasks,processes,processes_idle,threads,threads_idle,linear\r?$", re.MULTILINE)
_CSV_ZERO = "0,0,100,0,100,0"
_IDLE = r"([0-9]{1,3}\.[0-9]{2})"
_CSV_LINE = re.compile(
    rf"([0-9]{{1,5}}),(-1|[0-9]{{1,15}}),{_IDLE},(-1|[0-9]{{1,15}}),{_IDLE},([0-9]{{1,15}})"
)
_TITLE = re.compile(r"^testcase:.*\n+warmup\r?$", re.MULTILINE)
_SECOND = re.compile(r"min:([0-9]{1,15}) max:([0-9]{1,15}) total:([0-9]{1,15})")
_AVERAGE = re.compile(r"average:([0-9]{1,15})")
_PROGRAM = re.compile(r"(\w+)_(?:processes|threads)")


def recognise(text: str) -> bool:
    """Whether there is runtest.py's header or a test case that warms up."""
    return _CSV_HEAD.search(text) is not None or _TITLE.search(text) is not None


def parse(text: str) -> Parsed:
    """Rates in ops/s, of a test case's binary or of runtest.py's CSV.

    Binary: over the measured seconds `total_mean`, `total_min` and `total_max`, and of one task
    `ranks_min` and `ranks_max`; a second's line has no number, so no row is of one second. CSV, which
    does not name its test case: `total_mean` of the processes and of the threads, and how idle the
    machine's CPUs were in %.
    """
    return parsed(TOOL, *(_csv_rows(text) if _CSV_HEAD.search(text) else _run_rows(text)))


def _csv_rows(text: str) -> tuple[list[ParsedRow], list[str]]:
    head = _CSV_HEAD.search(text)
    start = head.start() if head else 0
    warnings: list[str] = []
    rows: list[ParsedRow] = []
    seen: set[int] = set()
    for number, line in enumerate(text[start:].splitlines()[1:], text.count("\n", 0, start) + 2):
        found = _CSV_LINE.fullmatch(line.strip())
        if found is None:
            if line.strip() not in ("", _CSV_ZERO):
                warnings.append(f"line {number} is not understood and is left out")
            continue
        tasks = int(found[1])
        if tasks in seen:
            raise BadInput(
                "will-it-scale's CSV has the same number of tasks twice: give the output of one run"
            )
        seen.add(tasks)
        for kind, rate, idle_pct in (("processes", found[2], found[3]), ("threads", found[4], found[5])):
            if rate == "-1" or float(idle_pct) > 100:
                warnings.append(f"line {number}: the {kind} gave no average, or an impossible one")
                continue
            rows.append(rate_row(kind, tasks, None, float(rate), "total_mean"))
            rows.append(ParsedRow(kind, tasks, None, "cpu_idle", "%", float(idle_pct), "machine"))
    return rows, [*warnings, LOST_LINES]


@dataclass
class _TestcaseRun:
    """One run; `tasks` and `seconds` are None where no command line says them, 0 where it is damaged."""

    line: int
    title: str
    program: str = ""
    case: str = ""
    tasks: int | None = None
    seconds: int | None = None
    warm_up: list[tuple[int, int, int]] = field(default_factory=list)
    measured: list[tuple[int, int, int]] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    average: int | None = None

    @property
    def test(self) -> str:
        """The program's name where it is known to belong to the title, else the title."""
        return self.program if self.case in CASES else self.title.strip()


def _run_rows(text: str) -> tuple[list[ParsedRow], list[str]]:
    """Rows of each run that is whole, and warnings; BadInput for two runs alike."""
    warnings: list[str] = []
    rows: list[ParsedRow] = []
    runs = _runs(text.splitlines(), warnings)
    if len({(run.test, run.tasks) for run in runs}) < len(runs):
        raise BadInput(
            "will-it-scale's output has two runs of the same test with the same number of tasks: give one "
            "of them"
        )
    for run in runs:
        if why := _fault(run):
            warnings.append(f"the run of line {run.line} is left out: {why}")
        else:
            rows += _rows(run)
    return rows, warnings


def _runs(lines: list[str], warnings: list[str]) -> list[_TestcaseRun]:
    runs: list[_TestcaseRun] = []
    for number, line in enumerate((line.strip() for line in lines), 1):
        run = runs[-1] if runs else None
        if line.startswith("testcase:"):
            runs.append(_new(number, lines[number - 1].removeprefix("testcase:"), lines[: number - 1]))
        elif not line or after_prompt(line) is not None:
            continue
        elif run and line in ("warmup", "measurement"):
            run.marks.append(line)
        elif run and (found := _SECOND.fullmatch(line)):
            seconds = run.warm_up if run.marks == ["warmup"] else run.measured
            seconds.append((int(found[1]), int(found[2]), int(found[3])))
        elif run and run.average is None and (found := _AVERAGE.fullmatch(line)):
            run.average = int(found[1])
        else:
            warnings.append(f"line {number} is not understood")
            if run and (run.average is None or line.startswith("average")):
                run.marks.append("?")
    return runs


def _new(number: int, title: str, above: list[str]) -> _TestcaseRun:
    """A run that begins on this line; the line above it may be its command."""
    argv = after_prompt(above[-1]) if above else None
    program = _PROGRAM.fullmatch(PurePosixPath(argv[0]).name) if argv else None
    if argv is None or program is None:
        return _TestcaseRun(number, title)
    options = {name: whole(value) or 0 for name, value in pairwise([*argv, ""])}
    return _TestcaseRun(number, title, program[0], program[1], options.get("-t", 1), options.get("-s", 0))


def _fault(run: _TestcaseRun) -> str | None:
    """Why a run is not whole; the average of its seconds shows that one is missing."""
    if run.marks != ["warmup", "measurement"] or len(run.warm_up) != WARM_UP:
        return "it has too many or too few lines"
    if run.average is None or not run.measured:
        return "it has no average: it was cut short"
    other_case = CASES.get(run.case, run.title) != run.title
    if other_case or run.tasks == 0 or run.seconds not in (None, len(run.measured)):
        return "its command line does not match"
    if run.average != sum(total for _, _, total in run.measured) // len(run.measured):
        return "the average is not that of its seconds"
    return None


def _rows(run: _TestcaseRun) -> list[ParsedRow]:
    least, most, totals = zip(*run.measured, strict=True)
    values = {
        "total_mean": run.average or 0,
        "total_min": min(totals),
        "total_max": max(totals),
        "ranks_min": min(least),
        "ranks_max": max(most),
    }
    return [rate_row(run.test, run.tasks, None, float(value), name) for name, value in values.items()]


ON_TARGET = TargetTool(
    name=TOOL,
    ask=found_in(PLACES, "[ -x {}/fallocate2_processes ]"),
    version=None,
    without="fallocate2 is measured with fsload's fallocate2",
    get="build will-it-scale and set WILL_IT_SCALE to its folder",
    parts=[
        Part(
            "unshare and findmnt",
            ["sh", "-c", "command -v unshare && command -v findmnt"],
            "its tests cannot run on the file system under test",
        )
    ],
    variables=["WILL_IT_SCALE", "HOME"],
)
