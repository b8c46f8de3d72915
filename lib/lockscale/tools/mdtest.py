# SPDX-License-Identifier: MIT
"""mdtest (from IOR): find it, read what it prints; mdtest_command runs it, mdtest_csv reads its csv.

What the numbers of each version mean, read in the sources and checked by runs of each version:

banner                        `-v` line of an iteration      SUMMARY of rates
1.9.3 (IOR 3.2.0 to 3.2.2)    all ranks' items / rank 0's    -i 1: fastest rank; wrong for -i > 1 in
                              time from barrier to barrier   3.2.0 and 3.2.1 (hpc/ior #113, #183)
3.3.0, 3.3.1+dev              the same                       over ranks x iterations, SD with n
4.0.0rc1 to 4.1.0+dev         rank 0's own items / its       slowest rank x ranks, SD with n - 1
                              time from barrier to barrier

The SUMMARY of times (-Z, and -P beside the rates) is in seconds for the whole phase in every
version, whatever its heading says ("in ops/sec", "in ms/op"). 4.x has each process's rate, up to the
barrier, with --print-all-procs and --showRankStatistics.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lockscale.errors import BadInput
from lockscale.tools import mdtest_csv
from lockscale.tools.mdtest_command import TOOL, Asked, command, phase_of, read_command
from lockscale.tools.parsed_rows import Parsed, ParsedRow, parsed
from lockscale.tools.target_tools import TargetTool, on_path, printed, tried


@dataclass(frozen=True)
class Meaning:
    """Whose time a version's numbers come from; `ranks`: there are as many values as ranks x -i."""

    iteration: str
    summary: dict[str, str]
    summary_needs_one_iteration: bool = False


_IOR_3_2 = Meaning(
    "total", {"rate": "fastest_rank", "time": "slowest_rank"}, summary_needs_one_iteration=True
)
_IOR_3_3 = Meaning("total", {"rate": "ranks", "time": "ranks"})
_IOR_4 = Meaning("rank0_to_barrier", {"rate": "slowest_rank", "time": "slowest_rank"})
VERSIONS = {
    "1.9.3": _IOR_3_2,
    "3.3.0": _IOR_3_3,
    "3.3.1+dev": _IOR_3_3,
    "4.0.0rc1": _IOR_4,
    "4.0.0": _IOR_4,
    "4.0.1rc1+dev": _IOR_4,
    "4.1.0+dev": _IOR_4,
}
OF_TWO_MEANINGS = (
    "is what development was called from June 2020 to February 2023, and the meaning of the numbers changed "
    "on the way (hpc/ior #312, #336)"
)

_BANNER = re.compile(r"^mdtest-(\S+) was launched with (\d{1,9}) total task", re.MULTILINE)
_COMMAND = "Command line used: "
_TASKS = re.compile(r"(\d{1,9}) tasks, \d+ (?:files?|directories|files/directories)")
_NUMBER = r" +(\d{1,15}\.\d{3})"
_NAME = r"(File|Directory) (creation|stat|read|rename|removal)"
_ITERATION = re.compile(r"V-1: (?:Rank +0 Line +\d+ )?main: \* iteration (\d{1,9}) \*")
_RESULT = re.compile(rf"V-1: (?:Rank +0 Line +\d+ )? +{_NAME} *:?{_NUMBER} sec,{_NUMBER} ops/sec")
_SUMMARY = re.compile(r"SUMMARY (rate|time)(?: \(in [^)]*\))?: \(of (\d{1,9}) iterations\)")
_SUMMARY_ROW = re.compile(rf" +{_NAME} *:?((?:{_NUMBER}){{4,7}})")
_PROCESSES = re.compile(r"Per process result \((rate|time)\):")
_PROCESSES_ITERATION = re.compile(r"iteration: (\d{1,9})")
_PROCESSES_ROW = re.compile(rf"Test {_NAME} (\d\.\d{{6}}e[-+]\d\d(?:,\d\.\d{{6}}e[-+]\d\d)*)")
_LOOKS_LIKE_ROW = re.compile(r"(V-1: .*)? {2,}(File|Directory) [a-z]+\b.*\d|.*ops/sec|Test ")
_NO_ROW = re.compile(r".*Tree (creation|removal)\b|Test Directory read ")  # this one reads nothing
_TROUBLE = re.compile(
    r"(?!(?:Path|FS) *:|Command line used: ).*\b"
    r"(?:warnings?(?!: Read bytes is 0, thus)|errors?|fail(?:s|ed|ures?))\b",
    re.IGNORECASE,
)
_END = "-- finished at "
TOO_SHORT = "is too short to be measured with the printed milliseconds"
_STATISTICS = ("max", "min", "mean", "sd")


def recognise(text: str) -> bool:
    """Whether there is mdtest's banner, or the header of its csv of rank details."""
    return _BANNER.search(text) is not None or text.startswith(mdtest_csv.CSV_START)


def parse(text: str) -> Parsed:
    """Rates in ops/s and times in s per phase, named by what they mean in the version that ran."""
    if text.startswith(mdtest_csv.CSV_START):
        return mdtest_csv.parse(text)
    run = _read_run(text)
    meaning = VERSIONS[run.version]
    rows = [*_iterations(run, meaning), *_processes(run), *_summaries(run, meaning)]
    return parsed(TOOL, rows, run.warnings, run.version)


@dataclass(frozen=True)
class _Line:
    """A line of results: its number, the test, its numbers, and its iteration if it has one."""

    number: int
    test: str
    values: tuple[float, ...]
    iteration: int | None = None


@dataclass
class _MdtestRun:
    """`summary` and `processes` are keyed by `rate` (ops/s) and `time` (s)."""

    version: str
    tasks: int
    asked: Asked
    iterations: list[_Line] = field(default_factory=list)
    summary: dict[str, list[_Line]] = field(default_factory=dict)
    processes: dict[str, list[_Line]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def has(self, line: _Line, metric: str, numbers: Sequence[float]) -> bool:
        """Whether a phase was asked for and has numbers; mdtest prints zeros for the others."""
        asked = line.test in self.asked.tests
        if asked != any(numbers):
            why = "was not requested" if not asked else "has no rate" if metric == "rate" else TOO_SHORT
            self.leave_out(line, f"{line.test} {why}")
        return asked and any(numbers)

    def leave_out(self, line: _Line, why: str) -> None:
        self.warnings.append(f"line {line.number}: {why}, left out")

    def expect(self, found: int, expected: int, what: str) -> None:
        """A warning where there are fewer results than were asked for."""
        if found < expected:
            self.warnings.append(f"only {found} of {expected} {what} could be read")

    def row(self, line: _Line, metric: str, value: float, whose: str, iteration: int | None) -> ParsedRow:
        unit = "ops/s" if metric == "rate" else "s"
        return ParsedRow(line.test, self.tasks, iteration, metric, unit, value, whose)


def _banner(text: str) -> tuple[str, int]:
    """The version and how many tasks; BadInput unless it is one run, of a version that was looked up."""
    found = _BANNER.findall(text)
    if len(found) != 1:
        raise BadInput(f"mdtest's banner is in the output {len(found)} times: give one whole run")
    ((version, tasks),) = found
    if version not in VERSIONS:
        if version == "3.4.0+dev":
            raise BadInput(f"mdtest {version} {OF_TWO_MEANINGS}: run a release, such as that of IOR 4.0.0")
        known = ", ".join(VERSIONS)
        raise BadInput(f"mdtest {version} is not known: this reads {known} (IOR's version numbers)")
    return version, int(tasks)


def _read_run(text: str) -> _MdtestRun:
    """The lines of one run; BadInput if it is not whole, or over several task counts."""
    version, tasks = _banner(text)
    if f"\n{mdtest_csv.CSV_START}" in text:
        raise BadInput("mdtest's CSV of ranks is mixed with the lines of a run: give one at a time")
    lines = [line.rstrip() for line in text.split("\n")]
    used = [line.removeprefix(_COMMAND) for line in lines if line.startswith(_COMMAND)]
    if len(used) != 1:
        raise BadInput("mdtest's output does not repeat its command line: give the whole output")
    counts = [int(match[1]) for line in lines if (match := _TASKS.fullmatch(line))]
    if counts != [tasks] or not tasks:
        raise BadInput("mdtest's output does not have a single task count: give a whole run without -f")
    run = _MdtestRun(version, tasks, read_command(used[0], version))
    _read_lines(run, lines)
    ends = [number for number, line in enumerate(lines, 1) if line.startswith(_END)]
    behind = [number for number, line in enumerate(lines, 1) if ends and number > ends[0] and line]
    if not ends:
        run.warnings.append("the output ends before mdtest finished")
    elif behind:
        run.warnings.append(f"line {behind[0]} and what follows are not mdtest's and are not read")
    return run


def _read_lines(run: _MdtestRun, lines: Sequence[str]) -> None:
    """Goes through the lines; a heading says what the rows below it are."""
    rows: tuple[re.Pattern[str], list[_Line]] | None = None
    iteration, processes_iteration = 0, None
    troubles = []
    for number, line in enumerate(lines, 1):
        if match := _RESULT.fullmatch(line):
            _add(run.iterations, number, match, f"{match[3]} {match[4]}", iteration)
        elif _TROUBLE.match(line):
            troubles.append(number)
        elif match := _ITERATION.fullmatch(line):
            iteration = _next(run, iteration, int(match[1]))
        elif match := _SUMMARY.fullmatch(line):
            if int(match[2]) != run.asked.repeats or match[1] not in run.asked.metrics:
                raise BadInput("mdtest's summary does not match its command line: give a whole run")
            rows, processes_iteration = (_SUMMARY_ROW, run.summary.setdefault(match[1], [])), None
        elif match := _PROCESSES.fullmatch(line):
            rows, processes_iteration = (_PROCESSES_ROW, run.processes.setdefault(match[1], [])), 0
        elif processes_iteration is not None and (match := _PROCESSES_ITERATION.fullmatch(line)):
            processes_iteration = _next(run, processes_iteration, int(match[1]) + 1)
        elif _NO_ROW.match(line):
            continue
        elif rows and (match := rows[0].fullmatch(line)):
            _add(rows[1], number, match, match[3].replace(",", " "), processes_iteration)
        elif _LOOKS_LIKE_ROW.match(line):
            run.warnings.append(f"line {number} is not understood and is left out")
    if troubles:
        run.warnings.append(
            f"the run printed {len(troubles)} warnings or errors, the first in line"
            f" {troubles[0]}: its rates may count operations that failed"
        )


def _next(run: _MdtestRun, last: int, now: int) -> int:
    if now != last + 1 or now > run.asked.repeats:
        raise BadInput(f"mdtest's iteration {now} follows {last}: its output is damaged")
    return now


def _add(lines: list[_Line], number: int, match: re.Match[str], numbers: str, iteration: int | None) -> None:
    test = phase_of(match[1], match[2])
    if iteration == 0 or any((one.test, one.iteration) == (test, iteration) for one in lines):
        raise BadInput(f"line {number} of mdtest's output repeats a result or belongs to no iteration")
    lines.append(_Line(number, test, tuple(map(float, numbers.split())), iteration))


def _iterations(run: _MdtestRun, meaning: Meaning) -> list[ParsedRow]:
    if run.asked.by_time:
        if run.iterations:
            run.warnings.append(
                "the iterations are left out: with -W the output does not say how many items they had"
            )
        return []
    rows = [
        run.row(line, "rate", line.values[1], meaning.iteration, line.iteration)
        for line in run.iterations
        if run.has(line, "rate", line.values[1:])
    ]
    if run.asked.verbose:
        run.expect(len(rows), len(run.asked.tests) * run.asked.repeats, "iterations x phases")
    return rows


def _processes(run: _MdtestRun) -> list[ParsedRow]:
    """`rank<k>` of each iteration: a process's own items / its time up to the barrier."""
    rows: list[ParsedRow] = []
    kept = 0
    for metric, lines in run.processes.items():
        for line in lines:
            if not run.has(line, metric, line.values):
                continue
            if len(line.values) != run.tasks:
                run.leave_out(line, "values of some processes are missing")
                continue
            kept += 1
            rows += [
                run.row(line, metric, value, f"rank{rank}", line.iteration)
                for rank, value in enumerate(line.values)
            ]
    if run.asked.processes:
        expected = len(run.asked.tests) * run.asked.repeats * len(run.asked.metrics)
        run.expect(kept, expected, "lines of processes")
    return rows


def _summaries(run: _MdtestRun, meaning: Meaning) -> list[ParsedRow]:
    asked = run.asked
    if meaning.summary_needs_one_iteration and asked.repeats > 1:
        run.warnings.append(f"the summary is left out: mdtest {run.version} computes it wrongly for -i > 1")
        return []
    rows: list[ParsedRow] = []
    kept = 0
    for metric, lines in run.summary.items():
        for line in lines:
            if not run.has(line, metric, line.values):
                continue
            # three statistics of the ranks if asked for, then the four of all
            ranks, values = line.values[:-4], line.values[-4:]
            if len(ranks) != (3 if asked.rank_statistics else 0):
                run.leave_out(line, "it does not have the requested columns")
                continue
            kept += 1
            if any(not one[1] <= one[2] <= one[0] for one in (ranks, values) if one):
                run.warnings.append(
                    f"line {line.number}: the mean is not between the minimum and the maximum"
                )
            whose = meaning.summary[metric]
            count = asked.repeats * (run.tasks if whose == "ranks" else 1)
            rows += _statistics(run, line, metric, "ranks_alone", ranks, asked.repeats * run.tasks)
            rows += _statistics(run, line, metric, whose, values, count)
    run.expect(kept, len(asked.tests) * len(asked.metrics), "phases of the summary")
    return rows


def _statistics(
    run: _MdtestRun, line: _Line, metric: str, whose: str, values: tuple[float, ...], count: int
) -> list[ParsedRow]:
    """One row where the statistics are of one value, else one for each."""
    iteration = 1 if run.asked.repeats == 1 else None
    if values and count == 1:
        return [run.row(line, metric, values[2], whose, 1)]
    return [
        run.row(line, metric, value, f"{whose}_{name}", iteration)
        for name, value in zip(_STATISTICS, values, strict=False)
    ]


ON_TARGET = TargetTool(
    name=TOOL,
    ask=tried(TOOL, command(1, 1, "t")),
    version=lambda text: _banner(text)[0],  # only a run prints it
    without="creates and removes are measured with fsload, as the rows say",
    get="build IOR >= 3.2, which contains mdtest",
)
MPIRUN = TargetTool(
    name="mpirun",
    ask=on_path("mpirun", "mpirun", "--version"),
    version=printed(r"mpirun \(Open MPI\) (\S+)"),
    without="mdtest cannot be started; creates and removes are measured with fsload",
    get="apt-get install openmpi-bin",
)
