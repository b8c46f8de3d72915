# SPDX-License-Identifier: MIT
"""The .detail file of mds-survey: what lctl printed on each MDT, a line a second, and its own sums.

lustre/utils/obd.c: `<threads that did something>/<threads> Total: <rate>/second` for each second, then
`Total: total <operations> threads <threads> sec <seconds> <rate>/second`. Under `<test> global` the
script adds for each MDT: number of those lines, rate, slowest and fastest second.
"""

import re
from dataclasses import dataclass, field

from lockscale.workloads.rows import Row, rate_row

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


def recognise(text: str) -> bool:
    """Whether there are the heads of a run and of a test."""
    return re.search(rf"^{_RUN.pattern} *$", text, re.MULTILINE) is not None


def read(text: str) -> tuple[list[Row], list[str]]:
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
                rows += _rows(run, test)
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


def _rows(run: _Run, test: _Test) -> list[Row]:
    rows = []
    for k, (mdt, (_, rate, low, high)) in enumerate(zip(test.mdts, test.sums or [], strict=True)):
        whose = "total" if run.mdts == 1 else f"mdt{k}"
        rows.append(rate_row(test.name, run.threads, 1, rate, whose))
        if mdt.seconds:
            rows.append(rate_row(test.name, run.threads, 1, low, f"{whose}_interval_min"))
            rows.append(rate_row(test.name, run.threads, 1, high, f"{whose}_interval_max"))
    return rows
