# SPDX-License-Identifier: MIT
"""Reads what xfstests' check prints.

It prints a line a test and ends in a summary, which is what counts: the lines add times and reasons
and have to agree with it. A run that was cut or interrupted has no result, because the tests that it did
not reach would look as if they were missing.
"""

import re
from dataclasses import dataclass
from typing import Literal

from lockscale.errors import BadInput

TOOL = "xfstests"
Status = Literal["pass", "fail", "notrun", "expunged"]

NAME = r"[a-z][a-z0-9_]*/\d{3,}(?:-[A-Za-z0-9-]+)?"
TEST = re.compile(rf"^({NAME})(?:\s+\d+s \.\.\.)?(?=\s|$)\s*(.*)$")
SKIPPED = ("[expunged]", "- no such test?", "- unknown test, ignored")
SECONDS = re.compile(r"^(\d+)s$")
PLATFORM = re.compile(r"^PLATFORM +-- \S+ \S+ (\S+)")
FAILED = re.compile(r"^Failed (\d+) of (\d+) tests$")
PASSED = re.compile(r"^Passed all (\d+) tests$")


@dataclass(frozen=True)
class TestResult:
    """One test: `seconds` are whole, and printed only of a test that passed; `reason` is check's text.

    expunged: left out on demand, or not there.
    """

    __test__ = False  # pytest: this is no test

    test: str
    status: Status
    seconds: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class CheckRun:
    """One whole run of check on one kernel (`uname -r`; "" when the output does not say)."""

    kernel: str
    results: tuple[TestResult, ...]

    def status(self, test: str) -> Status | None:
        """What became of `test`; None when the run does not name it."""
        return next((r.status for r in self.results if r.test == test), None)


@dataclass
class _Summary:
    """The names after Ran:, Not run: and Failures:, and the counts of the last line."""

    ran: tuple[str, ...] = ()
    notrun: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    counts: tuple[int, int] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every test; check counts one that is not run among those that it ran."""
        return tuple(dict.fromkeys((*self.ran, *self.notrun)))


def parse(text: str) -> CheckRun:
    """The run that check printed on its standard output."""
    lines = text.splitlines()
    if any(line.startswith("SECTION ") for line in lines):
        raise BadInput("xfstests' output has sections: give the output of a run without them")
    told = _told(lines)
    summary = _summary(lines, next(reversed(told), ""))
    if any(told.get(t, TestResult(t, "expunged")).status != s for t, s in _statuses(summary)):
        raise BadInput("xfstests' output is damaged: its lines and its summary do not agree")
    extra = [r for r in told.values() if r.status != "expunged" and r.test not in summary.names]
    if extra:
        raise BadInput(f"xfstests' output is damaged: its summary leaves out {extra[0].test}")
    return CheckRun(_first(PLATFORM, lines), tuple(told.values()))


def _first(pattern: re.Pattern[str], lines: list[str]) -> str:
    return next((match[1] for line in lines if (match := pattern.match(line))), "")


def _told(lines: list[str]) -> dict[str, TestResult]:
    """What the line of each test says, in order; a failure's reason may stand on the next line."""
    found: dict[str, TestResult] = {}
    last = ""
    for line in lines:
        if line.startswith("Ran: "):
            break
        if match := TEST.match(line):
            last = match[1]
            if last in found:
                raise BadInput(f"xfstests' output has {last} twice: give the output of one run")
            found[last] = _result(last, match[2].strip())
        elif last and found[last].status == "fail" and not found[last].reason and line.strip():
            found[last] = TestResult(last, "fail", None, line.strip())
    return found


def _result(test: str, said: str) -> TestResult:
    if match := SECONDS.match(said):
        return TestResult(test, "pass", int(match[1]))
    if said.startswith("[not run]"):
        return TestResult(test, "notrun", None, said.removeprefix("[not run]").strip())
    if said in SKIPPED:
        return TestResult(test, "expunged", None, said)
    return TestResult(test, "fail", None, said)


def _summary(lines: list[str], last: str) -> _Summary:
    """The summary at the end; BadInput when it is not there or does not add up."""
    found = _Summary()
    for line in lines:
        head, colon, names = line.partition(": ")
        field = {"Ran": "ran", "Not run": "notrun", "Failures": "failed"}.get(head)
        if colon and field:
            setattr(found, field, tuple(names.split()))
        elif line == "Interrupted!":
            raise BadInput(f"this run of xfstests was interrupted{_at(last)}: run it again")
        elif match := FAILED.match(line):
            found.counts = (int(match[1]), int(match[2]))
        elif match := PASSED.match(line):
            found.counts = (0, int(match[1]))
    if found.counts is None:
        said = next((line.strip() for line in lines if line.strip()), "nothing")
        raise BadInput(f"xfstests' output ends before its summary{_at(last) or f' (it says: {said[:80]})'}")
    distinct = all(len(set(names)) == len(names) for names in (found.ran, found.notrun, found.failed))
    apart = set(found.failed) <= set(found.ran) - set(found.notrun)
    if not (distinct and apart and found.names and found.counts == (len(found.failed), len(found.ran))):
        raise BadInput("xfstests' output is damaged: its summary and its counts do not agree")
    return found


def _at(last: str) -> str:
    return f" at {last}" if last else ""


def _statuses(summary: _Summary) -> list[tuple[str, Status]]:
    failed, notrun = set(summary.failed), set(summary.notrun)
    return [(t, "fail" if t in failed else "notrun" if t in notrun else "pass") for t in summary.names]
