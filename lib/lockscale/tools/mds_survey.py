# SPDX-License-Identifier: MIT
"""mds-survey (lustre-iokit): find it, run it on an MDS, read its summary or its .detail file.

It prints no version and not what it was asked to do: command() prints the command line above its output.

The .detail file has what lctl printed on each MDT, a line a second, and its own sums.

lustre/utils/obd.c: `<threads that did something>/<threads> Total: <rate>/second` for each second, then
`Total: total <operations> threads <threads> sec <seconds> <rate>/second`. Under `<test> global` the
script adds for each MDT: number of those lines, rate, slowest and fastest second.

The summary is also its standard output. A line is a number of threads; in it each test has a rate and
[slowest, fastest] second of any MDT. Over several MDTs the rate is the mean of theirs
(get_global_stats), although the README says aggregate; before LU-3624 (Lustre 2.5.51; no space after
`[`) it was the first MDT's alone, and such lines are refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from lockscale.errors import BadInput
from lockscale.tools.target_tools import Part, TargetTool, on_path, printed
from lockscale.tools.workload_rows import (
    LOST_LINES,
    NOT_STATED,
    Parsed,
    Row,
    after_prompt,
    rate_row,
    shown,
    unconfirmed,
    whole,
)

_RATE = r"([0-9]{1,12}\.[0-9]{6})"
_RUN = re.compile(r"=+> mdt +([0-9]{1,5}) +file +([0-9]{1,10}) +dir +([0-9]{1,6}) +thr +([0-9]{1,6})")
_SECTION = re.compile(r"=+> ([a-z][a-z_]*)(?: -c -?[0-9]+)? (\S+)")
_OTHER = re.compile(r"=+> (?:Create|Destroy) [0-9]+ directories on \S+|--threads: .*|")
_SECOND = re.compile(rf"[0-9]{{1,6}}/([0-9]{{1,6}}) Total: {_RATE}/second")
_TOTAL = re.compile(rf"Total: total ([0-9]{{1,15}}) threads ([0-9]{{1,6}}) sec {_RATE} {_RATE}/second")
_SUMS = re.compile(rf"(-1|[0-9]{{1,9}}) {_RATE} {_RATE} {_RATE}")


@dataclass
class _Mdt:
    """What one MDT did in one test; `total` is (operations, threads, seconds, rate)."""

    seconds: list[tuple[int, float]] = field(default_factory=list)
    total: tuple[int, int, float, float] | None = None
    spoilt: bool = False


@dataclass
class _Test:
    """One test by one number of threads; `sums` are the lines under `global`."""

    name: str
    mdts: list[_Mdt] = field(default_factory=list)
    sums: list[tuple[int, float, float, float]] | None = None


@dataclass
class _Run:
    """All tests by one number of threads."""

    line: int
    mdts: int
    files: int
    threads: int
    tests: list[_Test] = field(default_factory=list)


def is_detail(text: str) -> bool:
    """Whether there are the heads of a run and of a test."""
    return re.search(rf"^{_RUN.pattern} *$", text, re.MULTILINE) is not None


def read_detail(text: str) -> tuple[list[Row], list[str]]:
    """Rows and warnings; see mds_survey.parse."""
    warnings: list[str] = []
    runs = _runs([line.strip() for line in text.splitlines()], warnings)
    seen: set[tuple[int, str]] = set()
    rows: list[Row] = []
    for run in runs:
        for test in run.tests:
            why = "it is there twice" if (run.threads, test.name) in seen else _fault(run, test)
            seen.add((run.threads, test.name))
            if why:
                warnings.append(f"{test.name} by {run.threads} threads is left out: {why}")
            else:
                rows += _detail_rows(run, test)
        if [test.name for test in run.tests] != [test.name for test in runs[0].tests]:
            warnings.append(f"the runs of line {runs[0].line} and line {run.line} have not the same tests")
    if "> Destroy " not in text.rpartition("Total: ")[2]:
        warnings.append("the file ends before mds-survey finished")
    return rows, warnings


def _runs(lines: list[str], warnings: list[str]) -> list[_Run]:
    runs: list[_Run] = []
    for number, line in enumerate(lines, 1):
        if found := _RUN.fullmatch(line):
            runs.append(_Run(number, int(found[1]), int(found[2]), int(found[4])))
        elif _OTHER.fullmatch(line):
            continue
        elif not runs or not _add(runs[-1], line):
            warnings.append(f"line {number} is not understood")
            if runs and runs[-1].tests and runs[-1].tests[-1].mdts:
                runs[-1].tests[-1].mdts[-1].spoilt = True
    return runs


def _add(run: _Run, line: str) -> bool:
    """Takes a line into the test that it belongs to, if there is one."""
    test = run.tests[-1] if run.tests else None
    if found := _SECTION.fullmatch(line):
        return _begin(run, test, found[1], found[2])
    if test is None or not test.mdts:
        return False
    mdt = test.mdts[-1]
    if found := _SUMS.fullmatch(line):
        if test.sums is None:
            return False
        test.sums.append((int(found[1]), float(found[2]), float(found[3]), float(found[4])))
    elif test.sums is not None:
        return False
    elif found := _SECOND.fullmatch(line):
        mdt.seconds.append((int(found[1]), float(found[2])))
    elif (found := _TOTAL.fullmatch(line)) and mdt.total is None:
        mdt.total = (int(found[1]), int(found[2]), float(found[3]), float(found[4]))
    else:
        return False
    return True


def _begin(run: _Run, test: _Test | None, name: str, where: str) -> bool:
    """A section: `create host:device`, the next MDT's, or `create global`."""
    if where == "global":
        if test is None or test.name != name or test.sums is not None:
            return False
        test.sums = []
    elif test is not None and test.name == name and test.sums is None:
        test.mdts.append(_Mdt())
    else:
        run.tests.append(_Test(name, [_Mdt()]))
    return True


def _fault(run: _Run, test: _Test) -> str | None:
    if test.sums is None or not len(test.sums) == len(test.mdts) == run.mdts:
        return "it has not one result for each MDT"
    for mdt, (lines, rate, low, high) in zip(test.mdts, test.sums, strict=True):
        if lines <= 0:
            return "it failed on an MDT"
        if mdt.total is None or mdt.spoilt or lines != len(mdt.seconds) + 1:
            return "lines of it are missing"
        operations, threads, seconds, printed = mdt.total
        at_work = {of for of, _ in mdt.seconds} | {threads}
        if not threads or at_work != {run.threads} or operations != run.files // threads * threads:
            return "its threads or operations are not those of its run"
        rates = [of for _, of in mdt.seconds] or [printed]
        exact = abs(operations - printed * seconds) <= 1e-6 * (printed + seconds)
        if not exact or (printed, min(rates), max(rates)) != (rate, low, high):
            return "its rates and the sums of them do not agree"
    return None


def _detail_rows(run: _Run, test: _Test) -> list[Row]:
    rows = []
    for k, (mdt, (_, rate, low, high)) in enumerate(zip(test.mdts, test.sums or [], strict=True)):
        whose = "total" if run.mdts == 1 else f"mdt{k}"
        rows.append(rate_row(test.name, run.threads, 1, rate, whose))
        if mdt.seconds:
            rows.append(rate_row(test.name, run.threads, 1, low, f"{whose}_interval_min"))
            rows.append(rate_row(test.name, run.threads, 1, high, f"{whose}_interval_max"))
    return rows


TESTS = ("create", "lookup", "md_getattr", "setxattr", "destroy")
_NUMBER = r"[0-9]{1,12}\.[0-9]{2}"
_HEAD = re.compile(r"mdt +([0-9]+) +file +([0-9]+) +dir +([0-9]+) +thr +([0-9]+) +")
_CELL = re.compile(rf"([a-z][a-z_]*) +(?:ERROR|({_NUMBER}) \[( *{_NUMBER}),( *{_NUMBER})\])(?: +|$)")
_LINE = re.compile(rf"{_HEAD.pattern}(?:{_CELL.pattern})+", re.MULTILINE)
_STARTED = re.compile(r".* \S*mds-survey from \S+")


@dataclass(frozen=True)
class _Rates:
    """One test: the rate over all of it, of its slowest and of its fastest second."""

    rate: float
    low: float
    high: float
    before_lu_3624: bool = False


@dataclass(frozen=True)
class _Line:
    """One number of threads; a test without rates printed ERROR."""

    line: int
    mdts: int
    files: int
    dirs: int
    threads: int
    tests: dict[str, _Rates | None]


@dataclass(frozen=True)
class _Asked:
    """What the command line says, in variables of the environment."""

    files: int
    dirs: int
    threads: tuple[int, ...]
    tests: tuple[str, ...]


def is_summary(text: str) -> bool:
    """Whether there is a line of results."""
    return re.search(rf"^{_HEAD.pattern}[a-z]", text, re.MULTILINE) is not None


def read_summary(text: str) -> tuple[list[Row], list[str]]:
    """Rows and warnings; see mds_survey.parse."""
    asked: _Asked | None = None
    lines: list[_Line] = []
    warnings: list[str] = []
    for number, line in enumerate((line.strip() for line in text.splitlines()), 1):
        if (argv := after_prompt(line)) and argv[-1].endswith("mds-survey"):
            if asked or lines:
                raise BadInput("this is the output of two runs of mds-survey: give one")
            asked = _asked(argv)
        elif found := _line(number, line):
            lines.append(found)
        elif line and not _STARTED.fullmatch(line):
            warnings.append(f"line {number} is not understood and is left out")
    if len({line.threads for line in lines}) < len(lines):
        raise BadInput("mds-survey's summary has a number of threads twice: give the output of one run")
    rows = [
        row
        for line in lines
        if _belongs(line, asked, lines, warnings)
        for row in _summary_rows(line, warnings)
    ]
    alone = unconfirmed("the rates, any between those of the slowest and the fastest second")
    return rows, [*warnings, *[alone] * bool(rows), *_lost(lines, asked)]


def _asked(argv: list[str]) -> _Asked:
    told = dict(word.split("=", 1) for word in argv if "=" in word)
    low, high = whole(told.get("thrlo", "4"), 10**5), whole(told.get("thrhi", "32"), 10**5)
    dirs, files = whole(told.get("dir_count", str(low))), whole(told.get("file_count", "100000"))
    if not low or not high or not dirs or not files:
        raise BadInput("mds-survey's command line is damaged: one of its numbers is none")
    threads = tuple(low << k for k in range(17) if dirs <= low << k <= high)
    return _Asked(files, dirs, threads, tuple(told.get("tests_str", " ".join(TESTS)).split()))


def _line(number: int, line: str) -> _Line | None:
    head = _HEAD.match(line)
    if head is None or not _LINE.fullmatch(line):
        return None
    cells = list(_CELL.finditer(line, head.end()))
    tests = {cell[1]: _rates(cell) for cell in cells}
    mdts, files, dirs, threads = (whole(digits) or 0 for digits in head.groups())
    if len(tests) < len(cells) or not (mdts and files and dirs and threads):
        return None
    return _Line(number, mdts, files, dirs, threads, tests)


def _rates(cell: re.Match[str]) -> _Rates | None:
    """None for ERROR. printf '[%7.2f,%7.2f]' before LU-3624, '[ %7.2f, %7.2f]' since."""
    if cell[2] is None:
        return None
    old = all(len(field) == max(7, len(field.strip())) for field in (cell[3], cell[4]))
    return _Rates(float(cell[2]), float(cell[3]), float(cell[4]), old)


def _belongs(line: _Line, asked: _Asked | None, lines: list[_Line], warnings: list[str]) -> bool:
    """Whether a line is of the run that was asked for, or else of the same run as the first line."""
    like = lines[0]
    counts, tests = (like.files, like.dirs), tuple(like.tests)
    if asked:
        counts, tests = (asked.files, asked.dirs), asked.tests
    if (line.files, line.dirs) == counts and tuple(line.tests) == tests and line.mdts == like.mdts:
        return True
    warnings.append(f"line {line.line} is left out: its files, directories, MDTs or tests are another run's")
    return False


def _lost(lines: list[_Line], asked: _Asked | None) -> list[str]:
    if asked is None:
        return [LOST_LINES]
    lacking = [str(n) for n in asked.threads if n not in {line.threads for line in lines}]
    return [f"there is no line for {', '.join(lacking)} threads"] if lacking else []


def _summary_rows(line: _Line, warnings: list[str]) -> list[Row]:
    rows = []
    for test, rates in line.tests.items():
        if rates is None:
            warnings.append(f"{test} by {line.threads} threads failed: mds-survey printed ERROR")
        elif rates.before_lu_3624 and line.mdts > 1:
            warnings.append(
                f"line {line.line}: {test} is left out, before LU-3624 it is the first MDT's rate"
            )
        elif not rates.low - 0.01 <= rates.rate <= rates.high + 0.01:
            warnings.append(f"line {line.line}: {test} is left out, its rate is outside its own seconds'")
        else:
            rows += _rate_rows(test, line, rates)
    return rows


def _rate_rows(test: str, line: _Line, rates: _Rates) -> list[Row]:
    rate, seconds = ("total", "total") if line.mdts == 1 else ("per_mdt_mean", "mdt")
    values = {rate: rates.rate, f"{seconds}_interval_min": rates.low, f"{seconds}_interval_max": rates.high}
    return [rate_row(test, line.threads, 1, value, name) for name, value in values.items()]


TOOL = "mds-survey"
ON_TARGET = TargetTool(
    name=TOOL,
    ask=on_path(TOOL, "lctl", "--version"),
    version=printed(r"lctl (\S+)"),
    without="creates and removes are measured with mdtest or fsload, through the file system and no MDS",
    get="install lustre-iokit on a Lustre MDS",
    parts=[Part("lctl", on_path("lctl"), "mds-survey ends at once")],
)


def command(
    threads: Sequence[int], files: int, dirs: int, *, tests: Sequence[str] = ("create", "destroy")
) -> list[str]:
    """argv of a survey, as root on the MDS: `files` in all, in `dirs` directories, by each of `threads`.

    mds-survey doubles the threads and leaves out numbers below `dirs`; its first test has to be create
    and its last destroy. It leaves .summary, .detail and others under /tmp.
    """
    if not threads or any(after != 2 * before for before, after in pairwise(threads)):
        raise BadInput("mds-survey doubles its threads: ask for numbers such as 4, 8, 16")
    if not 1 <= dirs <= threads[0] or files < threads[-1]:
        raise BadInput("mds-survey needs a thread for each directory and a file for each thread")
    if len(tests) < 2 or (tests[0], tests[-1]) != ("create", "destroy") or not set(tests) <= set(TESTS):
        raise BadInput(f"mds-survey begins with create and ends with destroy: choose from {', '.join(TESTS)}")
    told = {"thrlo": threads[0], "thrhi": threads[-1], "file_count": files, "dir_count": dirs}
    words = [f"{name}={value}" for name, value in told.items()]
    return shown(["env", *words, f"tests_str={' '.join(tests)}", "mds-survey"])


def recognise(text: str) -> bool:
    """Whether there is a line of results of the summary, or the heads of the .detail file."""
    return is_summary(text) or is_detail(text)


def parse(text: str) -> Parsed:
    """Rates in ops/s over the whole of a test, and of its slowest and fastest second.

    Of one MDT `total`, `total_interval_min`, `total_interval_max`; of several, in the summary
    `per_mdt_mean`, `mdt_interval_min`, `mdt_interval_max`, in .detail `mdt0`, `mdt0_interval_min`, ...
    `threads` works on each MDT at once.
    """
    rows, warnings = read_detail(text) if is_detail(text) else read_summary(text)
    if not rows:
        why = warnings[0] if warnings else "it has no line of results"
        raise BadInput(f"nothing could be read from mds-survey's output: {why}")
    return Parsed(TOOL, NOT_STATED, tuple(rows), tuple(warnings))
