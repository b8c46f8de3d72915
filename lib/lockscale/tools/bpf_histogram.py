# SPDX-License-Identifier: MIT
"""Histograms of times: bpftrace's `@ns[...]: [1K, 2K) 34 |@@@|`, bcc's `1024 -> 2047 : 34 |**|`, funclatency.

Read in bpftrace: src/output.cpp (hist_index_label, K is 1024); in bcc: src/python/bcc/table.py
(_print_log2_hist) and tools/funclatency.py, which prints mean, total and count below. Without these a time
counts as the middle of its bucket. A number's unit is what the map's or the column's name says, else ns.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from lockscale.errors import BadInput, printable
from lockscale.tools.lock_functions import function_of, kind_of
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.mail_text import TextLine, lines_of, whole_lines
from lockscale.tools.profile_entry import Entry

TOOL = "bpf_histogram"

_UNITS = {"n": 1.0, "u": 1e3, "m": 1e6, "s": 1e9}
_MAP = re.compile(r"@(\w*)(?:\[(.*)\])?: *")
_MAP_BEGUN = re.compile(r"@(\w*)\[")
_MAP_ENDS = re.compile(r"(?:, .*)?\]: *")
_END = r"(\d{1,6})([KMGTPE]?)"
_BUCKET = re.compile(rf"[\[(](?:{_END}, {_END}\)|{_END}\]|\.\.\., 0\)) +(\d{{1,18}}) +\|[@ ]*\|", re.ASCII)
_LINEAR = re.compile(
    rf"(?:\(\.\.\., (?!0\)){_END}\)|\[{_END}, \.\.\.\)|\[0, (?!1\)){_END}\)) +\d+ +\|[@ ]*\|"
)  # lhist()'s
_BCC_UNIT = re.compile(r"nsecs?|usecs?|msecs?|secs")
_BCC_HEAD = re.compile(rf" *({_BCC_UNIT.pattern}) +: +count +distribution")
_BCC_BUCKET = re.compile(r" +(\d{1,20}) -> (\d{1,20}) +: (\d{1,18}) +\|[* +]*\|", re.ASCII)
_FUNCTION = re.compile(
    r"Function = (?:b')?([^\s']+)'?.*|Tracing \d+ functions? for \"(?:b')?([^\"']+)'?\".*"
    r"|Tracing (\S+)\.  Hit Ctrl-C to exit"  # libbpf-tools
)
_SUMMARY = re.compile(
    r" *avg = (\d{1,18}) (\w+), total: (\d{1,18}) \w+, count: (\d{1,18})", re.ASCII
)  # of funclatency
_HELD = re.compile(r"(?:^|_)(?:hold(?:s|time)?|held)(?:_|$)")
_LOSS = re.compile(
    r".*WARNING: .*(?:could not be displayed|Map full|map_update_elem).*|Lost \d+ events", re.ASCII
)
_MULTIPLE = {one: 1024**power for power, one in enumerate(["", *"KMGTPE"])}
_MIDDLE = "times are the middles of their buckets: off by a factor of 1.42 at most"


@dataclass
class _Histogram:
    """name: the function or key it is of; ends: (from, to, count) in the unit of `unit_ns`."""

    line: int
    name: str
    unit_ns: float | None  # None: not said
    map: str = ""  # of bpftrace
    callers: tuple[str, ...] | None = None
    ends: list[tuple[float, float, int]] = field(default_factory=list)
    summary: tuple[int, int, int] | None = None  # mean, total, count
    broken: str = ""

    @property
    def count(self) -> int:
        return sum(count for _, _, count in self.ends)


def recognise(text: str) -> bool:
    """Whether a bucket of either tool is there."""
    return any(_BUCKET.fullmatch(one.text) or _BCC_HEAD.fullmatch(one.text) for one in lines_of(text))


def profiles(text: str) -> list[LockProfile]:
    """All histograms of the text are one profile, an Entry each; BadInput where none is whole."""
    lines, warnings = whole_lines(text)
    found = without_holds(_histograms(lines), warnings)
    warnings += losses(lines)
    warnings += [f"line {one.line}: {one.name} is left out, {one.broken}" for one in found if one.broken]
    good = [one for one in found if not one.broken and one.count]
    _refuse_one_name_twice(good)
    if not good:
        raise BadInput(
            f"the text has no complete histogram of times{': ' + warnings[-1] if warnings else ''}"
        )
    if unknown := [one for one in good if one.unit_ns is None]:
        warnings.append(
            f"line {unknown[0].line}: {unknown[0].name} does not say its unit, ns are assumed: name the map "
            f"@wait_ns, @wait_us or @wait_ms"
        )
    if unnamed := next((one for one in good if not one.map and _BCC_UNIT.fullmatch(one.name)), None):
        warnings.append(
            f"line {unnamed.line}: nothing says which times the histogram is of: waits for a lock are assumed"
        )
    if any(one.summary is None for one in good):
        warnings.append(_MIDDLE)
    entries = tuple(map(_entry, good))
    return [LockProfile(TOOL, "lock waits", entries, "histograms", good[0].line, None, tuple(warnings))]


def _refuse_one_name_twice(found: Sequence[_Histogram]) -> None:
    """Of two maps they are of different things; of one map, printed at two times."""
    seen: dict[object, _Histogram] = {}
    for one in found:
        first = seen.setdefault((one.name, one.callers), one)
        if first.map != one.map:
            raise BadInput(
                f"line {one.line}: the maps @{first.map} and @{one.map} have a histogram of "
                f"{printable(one.name)} each: give one map"
            )
        if first is not one:
            raise BadInput(
                f"there are several histograms of {printable(one.name)} (lines {first.line} and {one.line}): "
                "give one print of one run"
            )


class _OfMap(Protocol):
    """What bpftrace printed of a map: where it begins, and the map's name."""

    @property
    def line(self) -> int: ...
    @property
    def map(self) -> str | None: ...


Printed = TypeVar("Printed", bound=_OfMap)


def losses(lines: Sequence[TextLine]) -> list[str]:
    """A warning where bcc or bpftrace says that it could not count or print all: a map or table was full."""
    found = next((one for one in lines if _LOSS.fullmatch(one.text)), None)
    return [f"line {found.number}: not all is there: {printable(found.text.strip())}"] if found else []


def without_holds(found: Sequence[Printed], warnings: list[str]) -> list[Printed]:
    """Without maps of how long a lock is held, `@hold_ns`, `@held_us`; BadInput where there are no others."""
    waits = [one for one in found if not _HELD.search(one.map or "")]
    if held := next((one for one in found if _HELD.search(one.map or "")), None):
        said = f"line {held.line}: @{held.map} is left out, it is of how long a lock is held"
        if not waits:
            raise BadInput(f"{said}: give the map of the waits")
        warnings.append(said)
    return waits


def _histograms(lines: Sequence[TextLine]) -> list[_Histogram]:
    found: list[_Histogram] = []
    function = map_name = ""
    stack: list[str] | None = None
    for number, line in lines:
        if stack is not None and not _MAP_ENDS.fullmatch(line) and line.startswith(" "):
            stack.append(line.strip())
        elif stack and _MAP_ENDS.fullmatch(line):
            name, *callers = (re.sub(r"\+\d+$", "", one) for one in stack)
            found.append(_Histogram(number, name, unit_of_map(map_name), map_name, tuple(callers)))
            stack = None
        elif begun := _MAP_BEGUN.fullmatch(line):
            stack, map_name = [], begun[1]
        elif head := _MAP.fullmatch(line):
            found.append(_Histogram(number, head[2] or f"@{head[1]}", unit_of_map(head[1]), head[1]))
        elif said := _FUNCTION.fullmatch(line.strip()):
            function = said[1] or said[2] or said[3]
        elif head := _BCC_HEAD.fullmatch(line):
            found.append(_Histogram(number, function or head[1], _UNITS[head[1][0]]))
        elif _LINEAR.fullmatch(line):
            raise BadInput(f"line {number}: this histogram is of lhist(): print one of hist()")
        elif found and (bucket := _BUCKET.fullmatch(line)):
            _add(found[-1], number, *_ends(bucket))
        elif found and (bucket := _BCC_BUCKET.fullmatch(line)):
            _add(found[-1], number, float(bucket[1]), float(bucket[2]) + 1, int(bucket[3]))
        elif found and (said := _SUMMARY.fullmatch(line)):
            found[-1].summary = (int(said[1]), int(said[3]), int(said[4]))
            if found[-1].count != int(said[4]):
                found[-1].broken = f"its buckets have {found[-1].count} of {said[4]} calls"
        elif found and "|" in line and re.search(r"\d", line):
            found[-1].broken = f"its line {number} is not a bucket"
    return found


def _ends(bucket: re.Match[str]) -> tuple[float, float, int]:
    low, low_unit, high, high_unit, alone, alone_unit, count = bucket.groups()
    if alone is not None:
        start = float(int(alone) * _MULTIPLE[alone_unit])
        return start, start + 1, int(count)
    if low is None:
        return 0.0, 0.0, int(count)
    return float(int(low) * _MULTIPLE[low_unit]), float(int(high) * _MULTIPLE[high_unit]), int(count)


def _add(histogram: _Histogram, line: int, low: float, high: float, count: int) -> None:
    """Buckets follow each other without a gap; where they do not, a line was lost or is of another.

    hist() of several bits divides a power of two, and prints 1K for each of its parts.
    """
    last = histogram.ends[-1] if histogram.ends else None
    if last and low != last[1]:
        histogram.broken = f"line {line} does not follow the bucket above: lines are missing"
    if low == high != 0:  # as the ends are whole numbers of K or M
        histogram.broken = f"the ends of line {line} are one number: print hist() without a number of bits"
    histogram.ends.append((low, high, count))


def unit_of_map(name: str) -> float | None:
    """How many ns a number is, by the name of its map: `@usecs`, `@wait_us`, `@ms`; None for other names."""
    found = re.search(r"(?:^|_)(n|u|m)s(?:ecs?)?$|(?:^|_)(s)ecs?$", name)
    return _UNITS[found[1] or found[2]] if found else None


def _entry(one: _Histogram) -> Entry:
    total = sum(count * (low * high) ** 0.5 if low else count * high / 2 for low, high, count in one.ends)
    mean, count = total / one.count, one.count
    if one.summary:
        mean, total, count = one.summary
    unit_ns = one.unit_ns or 1.0
    longest = max(high for _, high, count in one.ends if count)
    name = function_of(one.name)
    return Entry(
        name,
        one.line,
        one.callers,
        kind_of(name),
        contentions=count,
        wait_ns=total * unit_ns,
        mean_ns=mean * unit_ns,
        max_ns=longest * unit_ns,
    )
