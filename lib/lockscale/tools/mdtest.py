# SPDX-License-Identifier: MIT
"""mdtest (from IOR): find it, run it, read it.

Two outputs are read: the lines of a run, and the csv of --saveRankPerformanceDetails (4.0.0rc1 and
later). In that the row `all` is of the first iteration: all items / the slowest rank's time, and
`items` is what one rank had. Then come the ranks of the first iteration, of the second, and so on: each
rank's own items / its time up to the barrier. The file says neither its version nor its iterations.

For the creation and stat of directories `all` counts one rank's items only: mdtest writes two
elements past `time_before_barrier` into `items` (4.0.0; mended in IOR's e311a95, May 2024).
"""

import os
import re
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.tools.mdtest_rows import check_version, rows_of
from lockscale.tools.mdtest_run import Result, Run, phase_name, whole
from lockscale.tools.mdtest_run import read_command as read_command
from lockscale.tools.target_tools import TargetTool, on_path, printed, tried
from lockscale.tools.workload_rows import Parsed, Row, rate_row

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


def read_run(text: str) -> Run:
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


CSV_VERSION = "4.x"
_CSV_START = "rank,items,rate-Directory creation,time-Directory creation,"
_CSV_PHASES = [
    *(f"Directory {name}" for name in ("creation", "stat", "read", "rename", "removal")),
    *(f"File {name}" for name in ("creation", "stat", "read", "removal")),
]
_CSV_TREE = ["Tree creation", "Tree removal"]
_CSV_HEADER = [
    "rank",
    "items",
    *(f"{m}-{name}" for name in _CSV_PHASES + _CSV_TREE for m in ("rate", "time")),
]
_CSV_NUMBER = re.compile(r"\d\.\d{10}e[-+]\d\d")
_READS_NOTHING = "dir_read"


@dataclass
class _File:
    """The rows of ranks in order, what one rank had to do, and how many ranks there were."""

    items: int
    ranks: int
    all: list[str]
    lines: list[list[str]]
    warnings: list[str]


def is_ranks_csv(text: str) -> bool:
    """Whether the first line is the csv's header."""
    return text.startswith(_CSV_START)


def parse_ranks_csv(text: str) -> Parsed:
    """`rank<k>` in each iteration and `slowest_rank` in the first: rates in ops/s, times in s."""
    file = _read(text)
    rows = _rows(file, file.all, 1, "slowest_rank", file.items * file.ranks)
    for number, cells in enumerate(file.lines):
        iteration, rank = divmod(number, file.ranks)
        rows += _rows(file, cells, iteration + 1, f"rank{rank}", file.items)
    if not rows:
        raise BadInput("nothing could be read from mdtest's csv: its rates, times and items disagree")
    return Parsed("mdtest", CSV_VERSION, tuple(rows), tuple(file.warnings))


def _read(text: str) -> _File:
    lines = [line.rstrip("\r").split(",") for line in text.split("\n")]
    if lines[0] != _CSV_HEADER or len(lines) < 3 or lines[1][:1] != ["all"]:
        raise BadInput("mdtest's csv has not its header, the row of all and those of ranks: give a whole one")
    total, ranks = lines[1], [line for line in lines[2:] if line != [""]]
    if len(total) != len(_CSV_HEADER) or not re.fullmatch(r"[1-9]\d*", total[1]):
        raise BadInput("the row of all in mdtest's csv is damaged: give a whole one")
    file = _File(whole(total[1]), 0, total, ranks, [])
    file.ranks = _ranks(file)
    _check_order(file)
    done = len(ranks) // file.ranks
    file.warnings.append(f"the file does not say how many iterations ran: {done} are whole in it")
    return file


def _ranks(file: _File) -> int:
    """How many ranks shared the items of `all`, by the phases for which it is right."""
    found = set()
    for index, name in enumerate(_CSV_PHASES):
        pair = _pair(file.all, index)
        if pair and name not in ("Directory creation", "Directory stat"):
            found.add(round(pair[0] * pair[1] / file.items, 6))
    if len(found) != 1 or not (ranks := found.pop()).is_integer() or not ranks:
        raise BadInput("the row of all in mdtest's csv does not tell how many ranks there were")
    return int(ranks)


def _check_order(file: _File) -> None:
    names = [cells[0] for cells in file.lines]
    if names != [str(number % file.ranks) for number in range(len(names))]:
        raise BadInput("the ranks in mdtest's csv are not in order: rows are missing or moved")
    if len({tuple(cells) for cells in file.lines}) != len(file.lines):
        raise BadInput("a row of mdtest's csv is there twice")


def _pair(cells: list[str], index: int) -> tuple[float, float] | None:
    """Rate and time of the phase `index`; None where they are no numbers."""
    pair = cells[2 + 2 * index : 4 + 2 * index]
    if len(pair) != 2 or not all(map(_CSV_NUMBER.fullmatch, pair)):
        return None
    return float(pair[0]), float(pair[1])


def _rows(file: _File, cells: list[str], iteration: int, whose: str, items: int) -> list[Row]:
    rows = []
    for index, name in enumerate(_CSV_PHASES):
        test, pair = phase_name(*name.split()), _pair(cells, index)
        if test == _READS_NOTHING or cells[2 + 2 * index : 4 + 2 * index] == ["", ""]:
            continue
        if not pair or abs(pair[0] * pair[1] - items) > 1e-8 * items:
            file.warnings.append(f"{test} of {cells[0]}, iteration {iteration}: not of {items} items")
            continue
        rows.append(rate_row(test, file.ranks, iteration, pair[0], whose))
        rows.append(Row(test, file.ranks, iteration, "time", "s", pair[1], whose))
    return rows


TOOL = "mdtest"


def command(
    processes: int,
    items: int,
    directory: str,
    *,
    phase: str = "both",
    executable: str = "mdtest",
    as_root: bool | None = None,
    preload: str = "",
) -> list[str]:
    """argv of S1's test, one iteration: `items` files a process, each in its own directory.

    `phase` is create, remove or both. `as_root` (default: whether we are) is Open MPI's leave to
    run as root; --oversubscribe is its leave to start more processes than cores. preload: a library
    for the ranks alone.
    """
    flags = {"create": ["-C"], "remove": ["-r"], "both": ["-C", "-r"]}
    if phase not in flags:
        raise BadInput(f"mdtest has no phase {phase}: use create, remove or both")
    root = os.geteuid() == 0 if as_root is None else as_root
    rank = ["env", f"LD_PRELOAD={preload}", executable] if preload else [executable]
    return [
        "mpirun", *(["--allow-run-as-root"] if root else []), "--oversubscribe",
        "-np", str(processes), *rank, "-n", str(items), "-d", directory,
        "-F", *flags[phase], "-u", "-i", "1", "-v",
    ]  # fmt: skip


def recognise(text: str) -> bool:
    """Whether there is mdtest's banner, or the header of its csv of rank details."""
    return BANNER.search(text) is not None or is_ranks_csv(text)


def parse(text: str) -> Parsed:
    """Rates in ops/s and times in s per phase, named by what they mean in the version that ran."""
    if is_ranks_csv(text):
        return parse_ranks_csv(text)
    check_version(banner(text)[0])
    run = read_run(text)
    rows = rows_of(run)
    if not rows:
        reason = f": {run.warnings[0]}" if run.warnings else ""
        raise BadInput(f"nothing could be read from mdtest's output{reason}")
    return Parsed(TOOL, run.version, tuple(rows), tuple(run.warnings))


def _version(text: str) -> str:
    """Only a run tells it."""
    version, _ = banner(text)
    check_version(version)
    return version


ON_TARGET = TargetTool(
    name=TOOL,
    ask=tried(TOOL, command(1, 1, "t", as_root=True)),
    version=_version,
    without="creates and removes are measured with fsload, and the rows say so",
    get="build IOR >= 3.2, which has mdtest",
)
MPIRUN = TargetTool(
    name="mpirun",
    ask=on_path("mpirun", "mpirun", "--version"),
    version=printed(r"mpirun \(Open MPI\) (\S+)"),
    without="mdtest cannot be started: creates and removes are measured with fsload",
    get="apt-get install openmpi-bin",
)
