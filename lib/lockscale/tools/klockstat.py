# SPDX-License-Identifier: MIT
"""Waits for and holds of the kernel's mutexes (and, in libbpf-tools, rwsems) by caller: bcc's klockstat.

Read in bcc: tools/klockstat.py (times in ns) and libbpf-tools/klockstat.c (times with a unit). Two tables, of
waits (`Avg Spin`, `Avg Wait`) and of holds, a row for each stack, of which the caller is printed; its count
is of acquisitions, waited for or not. A row whose total is not count x average is left out: so no number is
of another row.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from lockscale.errors import BadInput, printable
from lockscale.tools.bpf_histogram import losses
from lockscale.tools.lock_functions import function_of
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.mail_text import TextLine, lines_of, whole_lines
from lockscale.tools.parsed_rows import NS, with_step
from lockscale.tools.profile_entry import Entry

TOOL = "klockstat"

_HEAD = re.compile(
    r" *Caller +Avg (Spin|Wait|Hold) +Count +Max (?:spin|wait|hold) +Total (?:spin|wait|hold)", re.IGNORECASE
)
_TIME = r"(\d{1,18}(?:\.\d+)?(?: ?(?:ns|us|ms|s|m|h))?)"
_MISSED = "[Missed Kernel Stack]"  # where its table of stacks was full
_ROW = re.compile(rf" *({re.escape(_MISSED)}|\S+) +{_TIME} +(\d{{1,18}}) +{_TIME} +{_TIME}", re.ASCII)
_IN_PYTHON = re.compile(r"^b'(.*)'$")  # as some of bcc's tools print bytes
_BESIDE = re.compile(r" *(?:Max PID \d+.*|\S+|\^C.*|Tracing .*|Exiting trace .*|# .*|\$ .*|)")


class _Row(NamedTuple):
    line: int
    acquisitions: int
    max_ns: float
    total_ns: float
    mean_ns: float


class _Table(dict[str, list[_Row]]):
    """The rows of each caller; kind: of its locks, where all are of one."""

    kind: str | None = None

    def sums(self) -> dict[str, _Row]:
        return {caller: rows[0] if len(rows) == 1 else _sum(rows) for caller, rows in self.items()}


def _sum(rows: Sequence[_Row]) -> _Row:
    """Those of all stacks of a caller."""
    count, total_ns = sum(one.acquisitions for one in rows), sum(one.total_ns for one in rows)
    return _Row(rows[0].line, count, max(one.max_ns for one in rows), total_ns, total_ns / count)


def recognise(text: str) -> bool:
    """Whether the head of one of its tables is there."""
    return any(_HEAD.fullmatch(one.text) for one in lines_of(text))


def profiles(text: str) -> list[LockProfile]:
    """Each output in the text: a table of waits, and the holds that follow it."""
    lines, left_out = whole_lines(text)
    outputs = _outputs([one for one in lines if not losses([one])], left_out)
    left_out += losses(lines)
    _refuse_a_lost_head([tables for tables, _ in outputs])
    found = [_profile(n, *one, left_out) for n, one in enumerate(outputs, 1) if one[0].get("wait")]
    if not found:
        raise BadInput("klockstat printed no row of waits: run it during the load")
    return found


def _outputs(lines: Sequence[TextLine], left_out: list[str]) -> list[tuple[dict[str, _Table], int]]:
    """The tables `wait` and `hold` of each output, and where it begins; left_out: what is no row."""
    found: list[tuple[dict[str, _Table], int]] = []
    rows: _Table | None = None
    for line in lines:
        if head := _HEAD.fullmatch(line.text):
            of = "hold" if head[1].lower() == "hold" else "wait"
            if of == "hold" and (not found or of in found[-1][0]):
                raise BadInput(
                    f"klockstat: line {line.number} starts holds without waits above: give its whole output"
                )
            if not found or of in found[-1][0]:
                found.append(({}, line.number))
            rows = found[-1][0][of] = _Table()
            # `Wait` is libbpf-tools', which traces mutexes and rwsems and does not say which is which
            rows.kind = "mutex" if head[1].lower() == "spin" else None
        elif rows and not line.text:
            rows = None  # a table ends here
        elif rows is not None:
            left_out += _read(rows, line)
        elif _ROW.fullmatch(line.text):
            left_out.append(f"line {line.number} is left out, the header of its table is missing")
    return found


def _refuse_a_lost_head(outputs: Sequence[dict[str, _Table]]) -> None:
    """A caller may be there for each of its stacks, or as the head between two tables was lost.

    That is known only where the text is of one output, with both its heads.
    """
    tables = [table for one in outputs for table in one.values()]
    again = [rows[1].line for table in tables for rows in table.values() if len(rows) > 1]
    if again and len(tables) != 2:
        what = (
            "several outputs are in the text" if len(outputs) > 1 else "the header between the two is missing"
        )
        raise BadInput(f"klockstat: line {min(again)} repeats a caller, and {what}: give one whole output")


def _read(rows: _Table, line: TextLine) -> list[str]:
    """Adds a row; a warning where the line is one that cannot be right."""
    found = _ROW.fullmatch(line.text)
    if found is None:
        known = _BESIDE.fullmatch(line.text)
        return [] if known else [f"line {line.number} is left out, it is not a row: {printable(line.text)}"]
    count, (mean, of_mean), (longest, _), (total, of_total) = int(found[3]), *map(_ns, found.group(2, 4, 5))
    off = abs(total - count * mean) > count * of_mean + of_total or longest > total + of_total
    if off or not count:
        return [f"line {line.number} is left out, its total is not count x average: {printable(line.text)}"]
    if found[1] == _MISSED:
        said = f"{found[5]} ns" if found[5].isdecimal() else found[5]
        return [f"line {line.number} is left out, bcc has no stack of it: whose {said} they are is not known"]
    row, same = _Row(line.number, count, longest, total, mean), rows.setdefault(found[1], [])
    if copied := next((one for one in same if one[1:] == row[1:]), None):
        raise BadInput(
            f"klockstat: line {line.number} is line {copied.line} again: give its output with no line copied"
        )
    same.append(row)
    return []


def _ns(printed: str) -> tuple[float, float]:
    """A time, and one unit of its last digit."""
    number = printed.rstrip("nusmh ")
    unit_ns = NS[printed[len(number) :].strip() or "ns"]
    time, step = with_step(number)
    return time * unit_ns, step * unit_ns


def _profile(n: int, tables: dict[str, _Table], line: int, left_out: Sequence[str]) -> LockProfile:
    waits, holds = tables["wait"].sums(), tables.get("hold", _Table()).sums()
    entries = tuple(
        Entry(
            function_of(_IN_PYTHON.sub(r"\1", caller)),
            row.line,
            kind=tables["wait"].kind,
            wait_ns=row.total_ns,
            mean_ns=row.mean_ns,
            max_ns=row.max_ns,
            acquisitions=row.acquisitions,
            hold_ns=holds[caller].total_ns if caller in holds else None,
        )
        for caller, row in waits.items()
    )
    added = [
        f"line {rows[0].line}: {len(rows)} rows of {printable(caller)}, one for each stack, are added up"
        for caller, rows in tables["wait"].items()
        if len(rows) > 1
    ]
    return LockProfile(TOOL, "lock waits", entries, f"output {n}", line, None, (*left_out, *added))
