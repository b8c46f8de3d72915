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
_MAP = re.compile(r"@(\w*)\[(?:([^,\[\]\s][^,\[\]]*), *)?")  # maybe of the process, too
_HELD = re.compile(r"(?:^|_)(?:hold|held)(?:_|$)")
_MAP_ENDS = re.compile(r"(?:, .*)?\]: \S")
_MAP_END = re.compile(r"(?:, (\S[^\]]*))?\]: (\d{1,18})", re.ASCII)
_HEAD = re.compile(r"(?:Tracing off-CPU time|Sampling at) .*")
_LASTED = re.compile(r" for (\d{1,9}) secs?\b", re.ASCII)
_OFFSET = re.compile(r"\+(?:0x)?[0-9a-f]+$")
_PROBE = re.compile(
    r"__traceiter_\w+|trace_(?:contention|call_bpf|event_raw)\w*|__bpf_trace_\w+|bpf_trace_run\w+|bpf_prog_\w+"
)
"""What runs to count, within the function that is counted."""


class _Stack(NamedTuple):
    line: int
    process: str
    frames: tuple[str, ...]  # the innermost first
    number: int
    map: str = ""
    unit_ns: float | None = None  # of a time that was added up

    @property
    def is_held(self) -> bool:
        """Whether the time is how long a lock is held."""
        return bool(self.unit_ns and _HELD.search(self.map))


def recognise(text: str) -> bool:
    """Whether there is the head of bcc's output, or a map of stacks."""
    lines = [one.text for one in lines_of(text)]
    is_map = any(map(_MAP.fullmatch, lines)) and any(map(_MAP_ENDS.match, lines))
    return is_map or any(map(_HEAD.fullmatch, lines))


def profiles(text: str) -> list[LockProfile]:
    """The stacks; a head within the text begins another output."""
    lines, cut = whole_lines(text)
    starts = [at for at, one in enumerate(lines) if _HEAD.fullmatch(one.text)] or [0]
    parts = [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]
    found = [one for part in parts if (one := _profile(part, cut))]
    if not found:
        raise BadInput(
            "the text has no stack with a number: give everything that bcc or bpftrace printed, of a map "
            "whose key is kstack, or comm and kstack, and whose value is of count() or sum()"
        )
    return found


def _profile(lines: Sequence[TextLine], cut: Sequence[str]) -> LockProfile | None:
    """Of one output; None where no stack is whole."""
    lost: list[TextLine] = []
    stacks = list(_stacks(lines, lost))
    warnings = [*cut, *(one.text for one in lost)]
    waited = [one for one in stacks if not one.is_held]
    if held := next((one for one in stacks if one.is_held), None):
        said = f"line {held.line}: @{held.map} is left out, it is of how long a lock is held"
        if not waited:
            raise BadInput(f"{said}: give the map of the waits")
        warnings.append(said)
    if not waited:
        return None
    title = lines[0].text.strip() if _HEAD.fullmatch(lines[0].text) else TOOL
    timed = _are_timed(waited)
    asleep = timed or title.startswith("Tracing off-CPU") or None
    numbers = [
        (
            (one.process, *reversed(_without_probe(one.frames))),
            one.number * one.unit_ns / 1e3 if one.unit_ns else one.number,
            one.line,
        )
        for one in waited
    ]
    lost_line = lost[0].number if lost else None
    found = profile_of_stacks(TOOL, numbers, title, lines[0].number, warnings, asleep, lost_line)
    if timed:
        found = _of_waits(found)
    elif asleep is None and not title.startswith("Sampling"):
        found = _of_what(found)
    lasted = _LASTED.search(title)
    return replace(found, seconds=float(lasted[1])) if lasted else found


def _without_probe(frames: Sequence[str]) -> Sequence[str]:
    """The frames without those at their inner end that are the tracepoint's own."""
    first = next((k for k, name in enumerate(frames) if not _PROBE.fullmatch(name)), 0)
    return frames[first:]


def _are_timed(stacks: Sequence[_Stack]) -> bool:
    """Whether the map is of time; one name is one map, and times of two are not added up."""
    if not any(one.unit_ns for one in stacks):
        return False
    if other := next((one for one in stacks if one.map != stacks[0].map), None):
        maps = f"@{stacks[0].map} and @{other.map}"
        raise BadInput(f"line {other.line}: the text has the maps {maps}: give one of them")
    return True


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


def _stacks(lines: Sequence[TextLine], lost: list[TextLine]) -> Iterator[_Stack]:
    """Each whole stack; what is cut or interrupted is told in `lost`, with its line."""
    frames: list[str] = []
    begun: int | None = None
    process: str | None = None
    in_map = False
    name, who, unit_ns = "", "", None
    for number, line in lines:
        begins, ends = _MAP.fullmatch(line), _MAP_END.fullmatch(line)
        if ends and in_map and frames:
            yield _Stack(begun or number, ends[1] or who, tuple(frames), int(ends[2]), name, unit_ns)
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
            said = f"the stack above is left out, it is cut off: {printable(line.strip())}"
            lost.append(TextLine(number, f"line {number}: {said}"))
        elif frames and not in_map:
            lost.append(TextLine(number, f"line {number}: the stack above is left out, it has no count"))
        frames, begun, process, in_map = [], None, None, bool(begins)
        name, who = (begins[1], begins[2] or "") if begins else ("", "")
        unit_ns = unit_of_map(name)
    if frames:
        number = lines[-1].number
        lost.append(TextLine(number, f"line {number}: the last stack is left out, it is cut off"))
