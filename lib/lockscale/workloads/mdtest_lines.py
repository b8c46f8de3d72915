# SPDX-License-Identifier: MIT
"""The lines of mdtest's output, before anybody says what they mean."""

import re

from lockscale.errors import BadInput
from lockscale.workloads.mdtest_asked import phase_name, whole
from lockscale.workloads.mdtest_asked import read as read_command
from lockscale.workloads.mdtest_run import Result, Run

BANNER = re.compile(r"^mdtest-(\S+) was launched with (\d+) total task", re.M)
_COMMAND = "Command line used: "
_TASKS = re.compile(r"(\d+) tasks, (\d+) (?:files?|directories|files/directories)")
_ITERATION = re.compile(r"V-1: (?:Rank +0 Line +\d+ )?main: \* iteration (\d+) \*")
_NUMBER = r" +(\d{1,15}\.\d{3})"
_NAME = r"(File|Directory) (creation|stat|read|rename|removal)"
_RESULT = re.compile(
    rf"V-1: (?:Rank +0 Line +\d+ )? +{_NAME} *:?{_NUMBER} sec,{_NUMBER} ops/sec",
)
_SUMMARY = re.compile(r"SUMMARY (rate|time)(?: \(in [^)]*\))?: \(of (\d+) iterations\)")
_SUMMARY_ROW = re.compile(rf" +{_NAME} *:?((?:{_NUMBER}){{4,7}})")
_PROCESSES = re.compile(r"Per process result \((rate|time)\):")
_PROCESSES_ITERATION = re.compile(r"iteration: (\d+)")
_PROCESSES_ROW = re.compile(rf"Test {_NAME} (\d\.\d{{6}}e[-+]\d\d(?:,\d\.\d{{6}}e[-+]\d\d)*)")
_LOOKS_LIKE_ROW = re.compile(r"(V-1: .*)? {2,}(File|Directory) [a-z]+\b.*\d|.*ops/sec|Test ")
_TROUBLE = re.compile(
    r"(?!(?:Path|FS) *:|Command line used: ).*\b"
    r"(?:warnings?(?!: Read bytes is 0, thus)|errors?|fail(?:s|ed|ures?))\b",
    re.IGNORECASE,
)
_END = "-- finished at "
_NO_ROW = re.compile(r".*Tree (creation|removal)\b|Test Directory read ")  # this one reads nothing


def banner(text: str) -> tuple[str, int]:
    """The version and how many tasks; BadInput unless it is the output of one run."""
    found = BANNER.findall(text)
    if len(found) != 1:
        raise BadInput(f"mdtest's banner is in the output {len(found)} times: give one whole run")
    return found[0][0], whole(found[0][1])


def read(text: str) -> Run:
    """The lines of one run; BadInput if it is not whole, or over several task counts."""
    version, tasks = banner(text)
    lines = [line.rstrip() for line in text.split("\n")]
    used = [line[len(_COMMAND) :] for line in lines if line.startswith(_COMMAND)]
    if len(used) != 1:
        raise BadInput("mdtest's output does not repeat its command line: give the whole output")
    run = Run(version, tasks, _items(lines, tasks), read_command(used[0], version))
    _Reader(run).read(lines)
    run.warnings += _ending(lines)
    return run


def _ending(lines: list[str]) -> list[str]:
    """A warning where the end is missing, or is followed by what another tool printed."""
    ends = [number for number, line in enumerate(lines, 1) if line.startswith(_END)]
    if not ends:
        return ["the output ends before mdtest finished"]
    behind = [number for number, line in enumerate(lines, 1) if number > ends[0] and line]
    return [f"line {behind[0]} and those behind it are not mdtest's and are not read"] if behind else []


def _items(lines: list[str], tasks: int) -> int:
    counts = [match for line in lines if (match := _TASKS.fullmatch(line))]
    if len(counts) != 1 or whole(counts[0][1]) != tasks or not tasks:
        raise BadInput("mdtest's output does not hold one task count: give a whole run without -f")
    return whole(counts[0][2])


class _Reader:
    """Goes through the lines; a heading says what the rows below it are."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.rows: tuple[re.Pattern[str], list[Result]] | None = None
        self.iteration = 0
        self.processes_iteration: int | None = None
        self.troubles: list[int] = []

    def read(self, lines: list[str]) -> None:
        for number, line in enumerate(lines, 1):
            if match := _RESULT.fullmatch(line):
                self._add(self.run.iterations, number, match, f"{match[3]} {match[4]}", self.iteration)
            elif _TROUBLE.match(line):
                self.troubles.append(number)
            elif not self._heading(line) and not _NO_ROW.match(line):
                self._row(number, line)
        if self.troubles:
            self.run.warnings.append(
                f"the run printed {len(self.troubles)} warnings or errors, the first in line"
                f" {self.troubles[0]}: its rates may count operations that failed"
            )

    def _heading(self, line: str) -> bool:
        if match := _ITERATION.fullmatch(line):
            self.iteration = self._next(self.iteration, whole(match[1]))
        elif match := _SUMMARY.fullmatch(line):
            self._summary(match)
        elif match := _PROCESSES.fullmatch(line):
            self.processes_iteration = 0
            self.rows = (_PROCESSES_ROW, self.run.processes.setdefault(match[1], []))
        elif self.processes_iteration is not None and (match := _PROCESSES_ITERATION.fullmatch(line)):
            self.processes_iteration = self._next(self.processes_iteration, whole(match[1]) + 1)
        return match is not None

    def _summary(self, match: re.Match[str]) -> None:
        asked = self.run.asked
        if whole(match[2]) != asked.repeats or match[1] not in asked.metrics:
            raise BadInput("mdtest's summary is not the one its command line asks for: give a whole run")
        self.processes_iteration = None
        self.rows = (_SUMMARY_ROW, self.run.summary.setdefault(match[1], []))

    def _next(self, before: int, now: int) -> int:
        if now != before + 1 or now > self.run.asked.repeats:
            raise BadInput(f"mdtest's iteration {now} follows {before}: its output is damaged")
        return now

    def _row(self, number: int, line: str) -> None:
        match = self.rows[0].fullmatch(line) if self.rows else None
        if self.rows and match:
            self._add(self.rows[1], number, match, match[3].replace(",", " "), self.processes_iteration)
        elif _LOOKS_LIKE_ROW.match(line):
            self.run.warnings.append(f"line {number} is not understood and is left out")

    def _add(
        self, results: list[Result], number: int, match: re.Match[str], numbers: str, iteration: int | None
    ) -> None:
        test = phase_name(match[1], match[2])
        if iteration == 0 or any((r.test, r.iteration) == (test, iteration) for r in results):
            raise BadInput(f"line {number} of mdtest's output repeats a result or has no iteration")
        results.append(Result(number, test, tuple(map(float, numbers.split())), iteration))
