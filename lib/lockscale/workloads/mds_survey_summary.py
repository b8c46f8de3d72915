# SPDX-License-Identifier: MIT
"""The summary of mds-survey, which is also its standard output.

A line is a number of threads; in it each test has a rate and [slowest, fastest] second of any MDT. Over
several MDTs the rate is the mean of theirs (get_global_stats), although the README says aggregate; before
LU-3624 (Lustre 2.5.51; no space after `[`) it was the first MDT's alone, and such lines are refused.
"""

import re
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.workloads.command_line import LOST_LINES, after_prompt, whole
from lockscale.workloads.rows import Row, rate_row, unconfirmed

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


def recognise(text: str) -> bool:
    """Whether there is a line of results."""
    return re.search(rf"^{_HEAD.pattern}[a-z]", text, re.MULTILINE) is not None


def read(text: str) -> tuple[list[Row], list[str]]:
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
    rows = [row for line in lines if _belongs(line, asked, lines, warnings) for row in _rows(line, warnings)]
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


def _rows(line: _Line, warnings: list[str]) -> list[Row]:
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
