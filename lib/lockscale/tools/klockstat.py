# SPDX-License-Identifier: MIT
"""Waits for and holds of the kernel's mutexes (and, in libbpf-tools, rwsems) by caller: bcc's klockstat.

Read in bcc: tools/klockstat.py (times in ns) and libbpf-tools/klockstat.c (times with a unit). Two tables, of
waits (`Avg Spin`, `Avg Wait`) and of holds, a row for each caller; its count is of acquisitions, waited for
or not. A row whose total is not count x average is left out: so no number is of another row.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from lockscale.errors import BadInput, printable
from lockscale.tools.lock_functions import function_of
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.mail_text import TextLine, lines_of, whole_lines
from lockscale.tools.profile_entry import Entry

TOOL = "klockstat"

_HEAD = re.compile(
    r" *Caller +Avg (Spin|Wait|Hold) +Count +Max (?:spin|wait|hold) +Total (?:spin|wait|hold)", re.IGNORECASE
)
_TIME = r"(\d{1,18}(?:\.\d+)?(?: ?(?:ns|us|ms|s|m|h))?)"
_ROW = re.compile(rf" *(\S+) +{_TIME} +(\d{{1,18}}) +{_TIME} +{_TIME}", re.ASCII)
_BESIDE = re.compile(r" *(?:Max PID \d+.*|\S+|\^C.*|Tracing .*|Exiting trace .*|# .*|\$ .*|)")
_NS = {"": 1, "ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 6e10, "h": 3.6e12}


class _Row(NamedTuple):
    line: int
    mean_ns: float
    acquisitions: int
    max_ns: float
    total_ns: float


def recognise(text: str) -> bool:
    """Whether the head of one of its tables is there."""
    return any(_HEAD.fullmatch(one.text) for one in lines_of(text))


def profiles(text: str) -> list[LockProfile]:
    """Each output in the text: a table of waits, and the holds that follow it."""
    outputs: list[dict[str, dict[str, _Row]]] = []
    starts: list[int] = []
    lines, left_out = whole_lines(text)
    rows: dict[str, _Row] | None = None
    for line in lines:
        if head := _HEAD.fullmatch(line.text):
            of = "hold" if head[1].lower() == "hold" else "wait"
            if of == "hold" and (not outputs or of in outputs[-1]):
                raise BadInput(
                    f"klockstat: line {line.number} starts holds without waits above: give its whole output"
                )
            if not outputs or of in outputs[-1]:
                outputs.append({})
                starts.append(line.number)
            rows = outputs[-1][of] = {}
        elif rows and not line.text:
            rows = None  # a table ends here
        elif rows is not None:
            left_out += _read(rows, line)
        elif _ROW.fullmatch(line.text):
            left_out.append(f"line {line.number} is left out, the header of its table is missing")
    found = [
        LockProfile(TOOL, "lock waits", tuple(_entries(one)), f"output {n}", start, None, tuple(left_out))
        for n, (one, start) in enumerate(zip(outputs, starts, strict=True), 1)
        if one.get("wait")
    ]
    if not found:
        raise BadInput("klockstat printed no row of waits: run it during the load")
    return found


def _read(rows: dict[str, _Row], line: TextLine) -> list[str]:
    """Adds a row; a warning where the line is one that cannot be right."""
    found = _ROW.fullmatch(line.text)
    if found is None:
        known = _BESIDE.fullmatch(line.text)
        return [] if known else [f"line {line.number} is left out, it is not a row: {printable(line.text)}"]
    row = _Row(line.number, _ns(found[2]), int(found[3]), _ns(found[4]), _ns(found[5]))
    rounding = row.acquisitions * _step(found[2]) + _step(found[5])
    off = abs(row.total_ns - row.acquisitions * row.mean_ns) > rounding or row.max_ns > row.total_ns + _step(
        found[5]
    )
    if found[1] in rows:
        raise BadInput(
            f"klockstat: line {line.number} repeats a caller: the header between the two is missing"
        )
    if off or not row.acquisitions:
        return [f"line {line.number} is left out, its total is not count x average: {printable(line.text)}"]
    rows[found[1]] = row
    return []


def _ns(printed: str) -> float:
    number = printed.rstrip("nusmh ")
    return float(number) * _NS[printed[len(number) :].strip()]


def _step(printed: str) -> float:
    """The last digit in ns."""
    number = printed.rstrip("nusmh ")
    return _NS[printed[len(number) :].strip()] * 10.0 ** -len(number.partition(".")[2])


def _entries(tables: dict[str, dict[str, _Row]]) -> Sequence[Entry]:
    holds = tables.get("hold", {})
    return [
        Entry(
            function_of(caller),
            row.line,
            kind="mutex",
            wait_ns=row.total_ns,
            mean_ns=row.mean_ns,
            max_ns=row.max_ns,
            acquisitions=row.acquisitions,
            hold_ns=holds[caller].total_ns if caller in holds else None,
        )
        for caller, row in tables["wait"].items()
    ]
