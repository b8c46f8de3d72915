# SPDX-License-Identifier: MIT
"""mds-survey (lustre-iokit): find it, read its summary or its .detail file.

It prints no version and not what it was asked to do: that is taken from the command line above its output,
where there is one after a shell's prompt.

The summary is also its standard output. A line is a number of threads; in it each test has a rate and
[slowest, fastest] second of any MDT. Over several MDTs the rate is the mean of theirs
(get_global_stats), although the README says aggregate; before LU-3624 (Lustre 2.5.51; no space after
`[`) it was the first MDT's alone, and such lines are refused.

The .detail file has what lctl printed on each MDT (lustre/utils/obd.c): a line each second and a last one
with the rate over all of the test. Under `<test> global` the script adds for each MDT: number of those
lines, rate, slowest and fastest second.
"""

import re
from dataclasses import dataclass, field

from lockscale.errors import BadInput
from lockscale.tools.parsed_rows import Parsed, ParsedRow, after_prompt, lost_lines, parsed, rate_row, whole
from lockscale.tools.target_tools import Part, TargetTool, on_path, printed

TOOL = "mds-survey"
TESTS = ("create", "lookup", "md_getattr", "setxattr", "destroy")
ON_TARGET = TargetTool(
    name=TOOL,
    ask=on_path(TOOL, "lctl", "--version"),
    version=printed(r"lctl (\S+)"),
    without="creates and removes are measured with mdtest or fsload, through the file system and without "
    "an MDS",
    get="install lustre-iokit on a Lustre MDS",
    parts=[Part("lctl", on_path("lctl"), "mds-survey exits at once")],
)


_NUMBER = r"[0-9]{1,12}\.[0-9]{2}"
_HEAD = re.compile(r"mdt +([0-9]+) +file +([0-9]+) +dir +([0-9]+) +thr +([0-9]+) +")
_CELL = re.compile(rf"([a-z][a-z_]*) +(?:ERROR|({_NUMBER}) \[( *{_NUMBER}),( *{_NUMBER})\])(?: +|$)")
_LINE = re.compile(rf"{_HEAD.pattern}(?:{_CELL.pattern})+", re.MULTILINE)
_SUMMARY = re.compile(rf"^{_HEAD.pattern}[a-z]", re.MULTILINE)
_STARTED = re.compile(r".* \S*mds-survey from \S+")

_RATE = r"([0-9]{1,12}\.[0-9]{6})"
_RUN = re.compile(
    r"^=+> mdt +([0-9]{1,5}) +file +[0-9]{1,10} +dir +[0-9]{1,6} +thr +([0-9]{1,6}) *$", re.MULTILINE
)
_SECTION = re.compile(r"=+> ([a-z][a-z_]*)(?: -c -?[0-9]+)? (\S+)")
_OTHER = re.compile(r"=+> (?:Create|Destroy) [0-9]+ directories on \S+|--threads: .*|")
_SECOND = re.compile(rf"[0-9]{{1,6}}/([0-9]{{1,6}}) Total: {_RATE}/second")
_TOTAL = re.compile(rf"Total: total [0-9]{{1,15}} threads ([0-9]{{1,6}}) sec {_RATE} {_RATE}/second")
_SUMS = re.compile(rf"(-1|[0-9]{{1,9}}) {_RATE} {_RATE} {_RATE}")


def recognise(text: str) -> bool:
    """Whether there is a line of results of the summary, or the head of a run of the .detail file."""
    return _SUMMARY.search(text) is not None or _RUN.search(text) is not None


def parse(text: str) -> Parsed:
    """Rates in ops/s over the whole of a test, and of its slowest and fastest second.

    Of one MDT `total`, `total_interval_min`, `total_interval_max`; of several, in the summary
    `per_mdt_mean`, `mdt_interval_min`, `mdt_interval_max`, in .detail `mdt0`, `mdt0_interval_min`, ...
    `threads` works on each MDT at once.
    """
    return parsed(TOOL, *(_read_detail(text) if _RUN.search(text) else _read_summary(text)))


@dataclass(frozen=True)
class _SummaryLine:
    """One number of threads; of each test its rate, slowest and fastest second, None for ERROR."""

    line: int
    load: tuple[int, int, int]
    """MDTs, files and directories."""
    threads: int
    tests: dict[str, re.Match[str] | None]


def _read_summary(text: str) -> tuple[list[ParsedRow], list[str]]:
    asked: tuple[tuple[int, int], tuple[int, ...], tuple[str, ...]] | None = None
    lines: list[_SummaryLine] = []
    warnings: list[str] = []
    for number, line in enumerate((line.strip() for line in text.splitlines()), 1):
        if (argv := after_prompt(line)) and argv[-1].endswith("mds-survey"):
            if asked or lines:
                raise BadInput("this is the output of two mds-survey runs: give one")
            asked = _asked(argv)
        elif found := _summary_line(number, line):
            lines.append(found)
        elif line and not _STARTED.fullmatch(line):
            warnings.append(f"line {number} is not understood and is left out")
    if len({line.threads for line in lines}) < len(lines):
        raise BadInput(
            "mds-survey's summary has the same number of threads twice: give the output of one run"
        )
    load, tests = (lines[0].load, tuple(lines[0].tests)) if lines else ((0, 0, 0), ())
    if asked:
        load, tests = (load[0], *asked[0]), asked[2]
    rows = [row for line in lines for row in _summary_rows(line, load, tests, warnings)]
    lost = lost_lines(asked[1] if asked else None, {line.threads for line in lines}, "threads")
    return rows, [*warnings, *lost]


def _asked(argv: list[str]) -> tuple[tuple[int, int], tuple[int, ...], tuple[str, ...]]:
    """What the command line says, in variables of the environment: files and directories, threads, tests."""
    variables = dict(word.split("=", 1) for word in argv if "=" in word)
    low, high = whole(variables.get("thrlo", "4"), 10**5), whole(variables.get("thrhi", "32"), 10**5)
    dirs = whole(variables.get("dir_count", str(low)))
    files = whole(variables.get("file_count", "100000"))
    if not low or not high or not dirs or not files:
        raise BadInput("mds-survey's command line is damaged: one of its values is not a number")
    threads = tuple(low << k for k in range(17) if dirs <= low << k <= high)
    return (files, dirs), threads, tuple(variables.get("tests_str", " ".join(TESTS)).split())


def _summary_line(number: int, line: str) -> _SummaryLine | None:
    head = _HEAD.match(line)
    if head is None or not _LINE.fullmatch(line):
        return None
    cells = list(_CELL.finditer(line, head.end()))
    tests = {cell[1]: cell if cell[2] else None for cell in cells}
    mdts, files, dirs, threads = (whole(digits) or 0 for digits in head.groups())
    if len(tests) < len(cells) or not (mdts and files and dirs and threads):
        return None
    return _SummaryLine(number, (mdts, files, dirs), threads, tests)


def _summary_rows(
    line: _SummaryLine, load: tuple[int, int, int], tests: tuple[str, ...], warnings: list[str]
) -> list[ParsedRow]:
    """None of a line of another run than that of this load and these tests."""
    mdts = load[0]
    if line.load != load or tuple(line.tests) != tests:
        warnings.append(
            f"line {line.line} is left out: its files, directories, MDTs or tests are those of another run"
        )
        return []
    rows = []
    rate, seconds = ("total", "total") if mdts == 1 else ("per_mdt_mean", "mdt")
    for test, cell in line.tests.items():
        if cell is None:
            warnings.append(f"{test} with {line.threads} threads failed: mds-survey printed ERROR")
        elif mdts > 1 and _before_lu_3624(cell):
            warnings.append(
                f"line {line.line}: {test} is left out: before LU-3624 this is the rate of the first MDT "
                f"alone"
            )
        elif not _among_its_seconds(cell):
            warnings.append(
                f"line {line.line}: {test} is left out: its rate is outside the minimum and "
                f"maximum of its seconds"
            )
        else:
            names = (rate, f"{seconds}_interval_min", f"{seconds}_interval_max")
            rows += [
                rate_row(test, line.threads, 1, float(value), name)
                for name, value in zip(names, cell.groups()[1:], strict=True)
            ]
    return rows


def _before_lu_3624(cell: re.Match[str]) -> bool:
    """printf '[%7.2f,%7.2f]' before LU-3624, '[ %7.2f, %7.2f]' since."""
    return all(len(printed) == max(7, len(printed.strip())) for printed in (cell[3], cell[4]))


def _among_its_seconds(cell: re.Match[str]) -> bool:
    """Whether the rate is between the slowest and the fastest second; of a short test it may not be."""
    rate, low, high = (float(printed) for printed in cell.groups()[1:])
    return low - 0.01 <= rate <= high + 0.01


@dataclass
class _DetailTest:
    """One test by one number of threads: the lines of lctl on each MDT; `sums` are those under `global`."""

    name: str
    mdts: list[list[re.Match[str]]]
    sums: list[tuple[int, float, float, float]] | None = None


@dataclass
class _DetailRun:
    """All tests by one number of threads."""

    line: int
    mdts: int
    threads: int
    tests: list[_DetailTest] = field(default_factory=list)


def _read_detail(text: str) -> tuple[list[ParsedRow], list[str]]:
    warnings: list[str] = []
    runs: list[_DetailRun] = []
    for number, line in enumerate((line.strip() for line in text.splitlines()), 1):
        if found := _RUN.fullmatch(line):
            runs.append(_DetailRun(number, int(found[1]), int(found[2])))
        elif not _OTHER.fullmatch(line) and not (runs and _add(runs[-1].tests, line)):
            warnings.append(f"line {number} is not understood")
    seen: set[tuple[int, str]] = set()
    rows: list[ParsedRow] = []
    for run in runs:
        for test in run.tests:
            why = "it appears twice" if (run.threads, test.name) in seen else _fault(run, test)
            seen.add((run.threads, test.name))
            if why:
                warnings.append(f"{test.name} with {run.threads} threads is left out: {why}")
            else:
                rows += _detail_rows(run, test)
        if [test.name for test in run.tests] != [test.name for test in runs[0].tests]:
            warnings.append(f"the runs of line {runs[0].line} and line {run.line} do not have the same tests")
    if "> Destroy " not in text.rpartition("Total: ")[2]:
        warnings.append("the file ends before mds-survey finished")
    return rows, warnings


def _add(tests: list[_DetailTest], line: str) -> bool:
    """Takes a line into the test that it belongs to, if there is one."""
    test = tests[-1] if tests else None
    if found := _SECTION.fullmatch(line):  # `create host:device`, the next MDT's, or `create global`
        if found[2] == "global":
            if test is None or test.name != found[1] or test.sums is not None:
                return False
            test.sums = []
        elif test is not None and test.name == found[1] and test.sums is None:
            test.mdts.append([])
        else:
            tests.append(_DetailTest(found[1], [[]]))
        return True
    if test is None:
        return False
    if test.sums is not None:
        if found := _SUMS.fullmatch(line):
            test.sums.append((int(found[1]), float(found[2]), float(found[3]), float(found[4])))
        return found is not None
    found = None if _is_over(test.mdts[-1]) else _SECOND.fullmatch(line) or _TOTAL.fullmatch(line)
    test.mdts[-1] += [found] if found else []
    return found is not None


def _is_over(mdt: list[re.Match[str]]) -> bool:
    return bool(mdt) and mdt[-1].re is _TOTAL


def _fault(run: _DetailRun, test: _DetailTest) -> str | None:
    """Why a test is not whole; mds-survey counts the lines of each MDT."""
    if test.sums is None or not len(test.sums) == len(test.mdts) == run.mdts:
        return "it does not have one result for each MDT"
    for mdt, (lines, rate, _, _) in zip(test.mdts, test.sums, strict=True):
        if lines <= 0:
            return "it failed on an MDT"
        if not _is_over(mdt) or lines != len(mdt):
            return "lines of it are missing"
        if {int(one[1]) for one in mdt} != {run.threads} or float(mdt[-1][3]) != rate:
            return "its threads or its rate do not match its run"
    return None


def _detail_rows(run: _DetailRun, test: _DetailTest) -> list[ParsedRow]:
    rows = []
    for k, (lines, rate, low, high) in enumerate(test.sums or []):
        whose = "total" if run.mdts == 1 else f"mdt{k}"
        rows.append(rate_row(test.name, run.threads, 1, rate, whose))
        if lines > 1:
            rows.append(rate_row(test.name, run.threads, 1, low, f"{whose}_interval_min"))
            rows.append(rate_row(test.name, run.threads, 1, high, f"{whose}_interval_max"))
    return rows
