# SPDX-License-Identifier: MIT
"""Stacks with a number each, one function a line: bcc's offcputime and profile, and bpftrace's `@[kstack]`.

Read in bcc: tools/offcputime.py and tools/profile.py (print_stack), the innermost function first, then the
process and the number, which is microseconds asleep or samples. bpftrace prints `@name[`, the functions with
their offsets, `]: number`; of a map that is called by a unit (`@wait_ns`) the numbers are sums of time.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from lockscale.errors import BadInput, printable
from lockscale.tools.bpf_histogram import unit_of_map
from lockscale.tools.folded import profile_of_stacks
from lockscale.tools.lock_profile import LOCK_WAITS, SAMPLES, LockProfile
from lockscale.tools.mail_text import TextLine, lines_of, whole_lines

TOOL = "stack_counts"

_PROCESS = re.compile(r" +- +(\S.*?) \(\d+\)")
_NUMBER = re.compile(r" +(\d{1,18})", re.ASCII)
_FRAME = re.compile(r" +(?:b')?([A-Za-z_.<\[][^\s']*|0x[0-9a-f]+)'?(?:\+(?:0x)?[0-9a-f]+)?(?: \(.*\))?")
_PARTS = re.compile(r" +--")
_MAP = re.compile(r"@(\w*)\[")
_MAP_END = re.compile(r"(?:, (\S[^\]]*))?\]: (\d{1,18})", re.ASCII)
_HEAD = re.compile(r"(?:Tracing off-CPU time|Sampling at) .*")
_LASTED = re.compile(r" for (\d{1,9}) secs?\b", re.ASCII)
_OFFSET = re.compile(r"\+(?:0x)?[0-9a-f]+$")


class _Stack(NamedTuple):
    line: int
    process: str
    frames: tuple[str, ...]  # the innermost first
    number: int
    unit_ns: float | None = None  # of a time that was added up


def recognise(text: str) -> bool:
    """Whether there is the head of bcc's output, or a map of stacks."""
    lines = [one.text for one in lines_of(text)]
    is_map = any(map(_MAP.fullmatch, lines)) and any(map(_MAP_END.fullmatch, lines))
    return is_map or any(map(_HEAD.fullmatch, lines))


def profiles(text: str) -> list[LockProfile]:
    """The stacks; a head within the text begins another output."""
    lines, cut = whole_lines(text)
    starts = [at for at, one in enumerate(lines) if _HEAD.fullmatch(one.text)] or [0]
    found = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        left_out = [*cut]
        stacks = list(_stacks(lines[start:end], left_out))
        title = lines[start].text.strip() if _HEAD.fullmatch(lines[start].text) else TOOL
        timed = any(one.unit_ns for one in stacks)
        if timed and (other := next((one for one in stacks if not one.unit_ns), None)):
            raise BadInput(f"line {other.line}: this map is of no unit of time, others are: give one of them")
        counts = [
            (
                (one.process, *reversed(one.frames)),
                one.number * one.unit_ns / 1e3 if one.unit_ns else one.number,
                one.line,
            )
            for one in stacks
        ]
        asleep = timed or title.startswith("Tracing off-CPU") or None
        of_unknown = asleep is None and not title.startswith("Sampling")
        if counts:
            one = profile_of_stacks(TOOL, counts, title, lines[start].number, left_out, asleep)
            one = _of_what(one) if of_unknown else _of_waits(one) if timed else one
            lasted = _LASTED.search(title)
            found.append(replace(one, seconds=float(lasted[1])) if lasted else one)
    if not found:
        raise BadInput("the text has no stack with a count: give everything that bcc or bpftrace printed")
    return found


def _of_what(found: LockProfile) -> LockProfile:
    """Samples, unless no stack is of work: a probe of the function that waits counts its calls, not time."""
    if found.of != SAMPLES or not all(one.kind for one in found.entries):
        said = "the text does not say what was counted: samples are assumed"
        return replace(found, warnings=(*found.warnings, said))
    said = (
        "every stack waits for a lock, so these are taken for calls, not for samples or sums of time: what "
        "share of the time is spent waiting they do not say. Name a map of sums @wait_ns or @wait_us"
    )
    calls = [
        replace(
            one,
            share_pct=None,
            counts=None,
            contentions=round((one.share_pct or 0) * (found.samples or 0) / 100),
        )
        for one in found.entries
    ]
    return replace(found, of=LOCK_WAITS, entries=tuple(calls), samples=None, warnings=(*found.warnings, said))


def _of_waits(found: LockProfile) -> LockProfile:
    """Times asleep, unless no stack is of anything but waiting: who spins is in these, too."""
    if not all(one.kind for one in found.entries):
        return found
    waits = tuple(replace(one, share_pct=None, counts=None) for one in found.entries)
    return replace(found, of=LOCK_WAITS, entries=waits)


def _stacks(lines: Sequence[TextLine], left_out: list[str]) -> Iterator[_Stack]:
    """Each whole stack; what is cut or interrupted goes to left_out."""
    frames: list[str] = []
    begun: int | None = None
    process: str | None = None
    in_map = False
    unit_ns: float | None = None
    for number, line in lines:
        begins, ends = _MAP.fullmatch(line), _MAP_END.fullmatch(line)
        if ends and in_map and frames:
            yield _Stack(begun or number, ends[1] or "", tuple(frames), int(ends[2]), unit_ns)
        elif process is not None and not in_map and (found := _NUMBER.fullmatch(line)):
            yield _Stack(begun or number, process, tuple(frames), int(found[1]))
        elif frames and not in_map and process is None and (found := _PROCESS.fullmatch(line)):
            process = found[1]
            continue
        elif process is None and not begins and (_PARTS.fullmatch(line) or (found := _FRAME.fullmatch(line))):
            if not _PARTS.fullmatch(line) and found:
                begun = begun or number
                frames.append(_OFFSET.sub("", found[1]))
            continue
        elif (frames or process) and (line.strip() or process):
            left_out.append(
                f"line {number}: the stack above is left out, it is cut off: {printable(line.strip())}"
            )
        elif frames and not in_map:
            left_out.append(f"line {number}: the stack above is left out, it has no count")
        frames, begun, process, in_map = [], None, None, bool(begins)
        unit_ns = unit_of_map(begins[1]) if begins else None
    if frames:
        left_out.append(f"line {lines[-1].number}: the last stack is left out, it is cut off")
