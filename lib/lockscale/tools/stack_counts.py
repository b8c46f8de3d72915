# SPDX-License-Identifier: MIT
"""Stacks with a number each, one function a line: bcc's offcputime and profile, and bpftrace's `@[kstack]`.

Read in bcc: tools/offcputime.py and tools/profile.py (print_stack), the innermost function first, then the
process and the number, which is microseconds asleep or samples. bpftrace prints `@name[`, the functions with
their offsets, `]: number`; of a map that is called by a unit (`@wait_ns`) the numbers are sums of time.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import NamedTuple

from lockscale.errors import BadInput, printable
from lockscale.tools.bpf_histogram import losses, unit_of_map, without_holds
from lockscale.tools.folded import ends_asleep, profile_of_stacks, without_mark
from lockscale.tools.lock_profile import LOCK_WAITS, SAMPLES, LockProfile
from lockscale.tools.mail_text import TextLine, lines_of, whole_lines

TOOL = "stack_counts"
FORM = "a map whose key is kstack, or comm and kstack, and whose value is of count() or sum()"

_PROCESS = re.compile(r" +- +(\S.*?) \(\d+\)")
_PROCESS_ALONE = re.compile(r" +- {8,}\S.* \(\d+\)")  # what is enough to tell bcc's stacks
_NUMBER = re.compile(r" +(\d{1,18})", re.ASCII)
_MISSED = r"\[Missed (?:Kernel|User) Stack\]"  # bcc's, where the table of stacks was full
_NO_STACK = "[no stack]"
_OFFSET = r"(?:\+(?:0x)?[0-9a-f]+)?"
_AT = r"(?:#\d+ +)?(?:(?:0x)?[0-9a-f]{6,16} +)?"  # of offcputime -v, and of bpftrace's kstack(perf)
_FRAME = re.compile(
    rf" +{_AT}(?:b')?({_MISSED}|[A-Za-z_.<\[][^\s']*?|0x[0-9a-f]+)'?{_OFFSET}(?: \(.*\))?"
    # a demangled name has spaces: Put(Slice const&, int), operator new(unsigned long)
    rf"| +{_AT}(?:b')?((?=.*(?:::|[\w>]\(|operator ))[A-Za-z_.<(~].*?)'?{_OFFSET}(?: \([^()]*\))?"
)
_PARTS = re.compile(r" +--")
_MAP = re.compile(r"@(\w*)\[(?:([^,\[\]\s][^,\[\]]*), *)?")  # maybe of the process, too
_MANY_KEYS = re.compile(r"@(\w*)\[[^\[\]]*,[^\[\]]*,")
_MAP_ENDS = re.compile(r"(?:, .*)?\]: \S")
_MAP_END = re.compile(r"(?:, (\S[^\]]*))?\]: (\d{1,18})", re.ASCII)
_NO_SUMS = re.compile(r"(?:^|_)(?:avg|average|mean|max|maximum|min|minimum|longest|last)(?:_|$)")
_HEAD = re.compile(r"(?:Tracing off-CPU time|Sampling at) .*")
_LASTED = re.compile(r" for (\d{1,9}) secs?\b", re.ASCII)
_PROBE = re.compile(
    r"__traceiter_\w+|trace_(?:contention|call_bpf|event_raw)\w*|__bpf_trace_\w+|bpf_trace_run\w+|bpf_prog_\w+"
)
"""What runs to count, within the function that is counted."""


class _Stack(NamedTuple):
    line: int
    process: str
    frames: tuple[str, ...]  # the innermost first
    number: int
    map: str | None = None  # None: bcc's
    key: tuple[str, ...] = ()  # of a map, as it is printed: a map has it once
    run: int = 0  # stacks of one run follow each other without a line between them

    @property
    def unit_ns(self) -> float | None:
        """Of a time that was added up."""
        return unit_of_map(self.map or "")


def recognise(text: str) -> bool:
    """Whether there is the head of bcc's output, a stack's end as bcc prints it, or a map of stacks."""
    lines = [one.text for one in lines_of(text)]
    begin = any(_MAP.fullmatch(line) or _MANY_KEYS.fullmatch(line) for line in lines)
    is_map = begin and any(map(_MAP_ENDS.match, lines))
    ends = (_PROCESS_ALONE.fullmatch(a) and _NUMBER.fullmatch(b) for a, b in pairwise(lines))
    return is_map or any(map(_HEAD.fullmatch, lines)) or any(ends)


def profiles(text: str) -> list[LockProfile]:
    """The stacks; a head within the text begins another output."""
    lines, cut = whole_lines(text)
    starts = sorted({0, *(at for at, one in enumerate(lines) if _HEAD.fullmatch(one.text))})
    parts = [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]
    found = [one for part in parts if (one := _profile(part, cut))]
    if not found:
        raise BadInput(f"{_why_none(lines)} {FORM}")
    return found


def _why_none(lines: Sequence[TextLine]) -> str:
    """Why no stack is read: the first map that is of another form, where one is."""
    name = ""
    for number, line in lines:
        if begins := _MAP.fullmatch(line) or _MANY_KEYS.fullmatch(line):
            name = begins[1]
        if _MANY_KEYS.fullmatch(line):
            return f"line {number}: the key of the map @{name} has too many parts: print"
        if line == ",":
            return f"line {number}: the key of the map @{name} has two stacks: print"
        if _MAP_ENDS.match(line) and not _MAP_END.fullmatch(line):
            of = "stats()" if "]: count " in line else "another function"
            return f"line {number}: the value of the map @{name} is of {of}: print"
    return "the text has no stack with a number: give everything that bcc or bpftrace printed, of"


def _profile(lines: Sequence[TextLine], cut: Sequence[str]) -> LockProfile | None:
    """Of one output; None where no stack is whole."""
    lost: list[TextLine] = []
    stacks = list(_stacks(lines, lost))
    warnings = [*cut, *losses(lines), *(one.text for one in lost)]
    waited = without_holds(stacks, warnings)
    if not waited:
        return None
    _refuse_several_maps(waited)
    if waited[0].unit_ns and _NO_SUMS.search(waited[0].map or ""):
        raise BadInput(
            f"line {waited[0].line}: the map @{waited[0].map} is not of sums, by its name: print one of sum()"
        )
    waited = _last_print(waited, warnings)
    title = lines[0].text.strip() if _HEAD.fullmatch(lines[0].text) else TOOL
    timed = waited[0].unit_ns is not None
    asleep = timed or title.startswith("Tracing off-CPU")
    if title == TOOL and not timed:
        asleep = ends_asleep([(one.frames[0], one.number) for one in waited])
    numbers = [
        (
            (one.process, *reversed(_without_probe(one.frames))),
            one.number * one.unit_ns / 1e3 if one.unit_ns else one.number,
            one.line,
        )
        for one in waited
    ]
    lost_line = lost[0].number if lost else None
    warnings += _without_stack(numbers, "us" if asleep else "counts")
    found = profile_of_stacks(TOOL, numbers, title, lines[0].number, warnings, asleep, lost_line)
    if timed and _all_wait(found):  # else times asleep: who spins is in these, too
        waits = (replace(one, share_pct=None, counts=None) for one in found.entries)
        found = replace(found, of=LOCK_WAITS, entries=tuple(waits))
    elif (
        not timed and title == TOOL and not (asleep and waited[0].map is None)
    ):  # only offcputime prints such stacks
        found = _of_what(found)
    if found.of == LOCK_WAITS and not (found := _of_known_locks(found)).entries:
        return None
    lasted = _LASTED.search(title)
    return replace(found, seconds=float(lasted[1])) if lasted else found


def _last_print(stacks: Sequence[_Stack], warnings: list[str]) -> list[_Stack]:
    """A map has each key once, so one that is there again was printed again, with all that it had before:
    the last print alone counts. bcc's stacks may print alike and be of two threads."""
    if stacks[0].map is None:
        return list(stacks)
    prints: list[dict[tuple[str, ...], _Stack]] = []
    for _, run in groupby(stacks, lambda one: one.run):
        found: dict[tuple[str, ...], _Stack] = {}
        for one in run:
            if one.key in found:
                raise BadInput(
                    f"line {one.line}: the map @{one.map} has the stack of line {found[one.key].line} again: "
                    "give one print of the map, keyed by kstack"
                )
            found[one.key] = one
        if prints and not prints[-1].keys() & found.keys():
            prints[-1] |= found  # a line was lost between them
        else:
            prints.append(found)
    *earlier, last = prints
    first = next(iter(last.values()))
    for one in (one for before in earlier for one in before.values()):
        if one.key not in last or last[one.key].number < one.number:
            raise BadInput(
                f"line {first.line}: the map @{one.map} is printed again without all that it had above "
                f"(line {one.line}), so it was cleared, or printed in part: give one print"
            )
    if earlier:
        warnings.append(
            f"the map @{first.map} is printed {len(prints)} times: only the last print counts, from line "
            f"{first.line} on, as each contains those before it"
        )
    return list(last.values())


def _without_stack(numbers: Sequence[tuple[tuple[str, ...], float, int]], unit: str) -> list[str]:
    """A warning of what is in the total and of no lock that is known."""
    unknown = [(number, line) for frames, number, line in numbers if _is_unknown(frames[-1])]
    if not unknown:
        return []
    some, total = sum(number for number, _ in unknown), sum(number for _, number, _ in numbers)
    return [
        f"line {unknown[0][1]}: {some:.0f} of {total:.0f} {unit} have no kernel stack: which lock they "
        "are of is not known"
    ]


def _is_unknown(function: str) -> bool:
    return function == _NO_STACK or re.fullmatch(_MISSED, function) is not None


def _of_known_locks(found: LockProfile) -> LockProfile:
    """Waits of which the stack is known: the others are of no one lock."""
    known = tuple(one for one in found.entries if not _is_unknown(one.name))
    unknown = next((one.line for one in found.entries if _is_unknown(one.name)), None)
    return replace(found, entries=known, lost_line=found.lost_line or unknown)


def _all_wait(found: LockProfile) -> bool:
    """Whether each stack that there is waits for a lock."""
    return all(one.kind or _is_unknown(one.name) for one in found.entries)


def _without_probe(frames: Sequence[str]) -> Sequence[str]:
    """The frames without those at their inner end that are the tracepoint's own."""
    first = next((k for k, name in enumerate(frames) if not _PROBE.fullmatch(name)), 0)
    return frames[first:]


def _refuse_several_maps(stacks: Sequence[_Stack]) -> None:
    """What two maps count may be the same, or different things: it is not to be added up."""
    names = [
        "stacks of bcc" if one is None else f"@{one}" for one in dict.fromkeys(one.map for one in stacks)
    ]
    if len(names) > 1:
        other = next(one for one in stacks if one.map != stacks[0].map)
        maps = f"{', '.join(names[:-1])} and {names[-1]}"
        raise BadInput(f"line {other.line}: the text has the maps {maps}: give one of them")


def _of_what(found: LockProfile) -> LockProfile:
    """Samples, unless no stack is of work: a probe of the function that waits counts its calls, not time."""
    if found.of != SAMPLES or not _all_wait(found):
        what = "samples" if found.of == SAMPLES else "microseconds off the CPU"
        said = f"the text does not say what was counted: {what} are assumed"
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


@dataclass
class _Begun:
    """A stack whose lines are read; map: None of bcc's. line: of its first function."""

    map: str | None = None
    who: str = ""
    line: int = 0
    printed: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    process: str | None = None
    is_broken: bool = False  # an inner part of it could not be read

    def add(self, number: int, line: str) -> bool:
        """Whether the line is of the stack; where it is a function, it is added."""
        if self.process is not None:
            return False
        if found := _FRAME.fullmatch(line):
            self.line = self.line or number
            self.printed.append(line.strip())
            self.frames.append(without_mark(found[1] or found[2]))
        elif self.map is None and (found := _PROCESS.fullmatch(line)):
            self.line = self.line or number
            self.process = found[1]
        return bool(found or _PARTS.fullmatch(line))

    def ended(self, number: int, line: str, run: int) -> _Stack | None:
        """The stack, where the line is its number."""
        frames = tuple(self.frames) or (_NO_STACK,)
        if self.map is None:
            found = _NUMBER.fullmatch(line) if self.process is not None else None
            return found and _Stack(self.line, self.process or "", frames, int(found[1]))
        if not (found := _MAP_END.fullmatch(line)):
            return None
        key = (self.who, found[1] or "", *self.printed)
        return _Stack(self.line or number, found[1] or self.who, frames, int(found[2]), self.map, key, run)


def _stacks(lines: Sequence[TextLine], lost: list[TextLine]) -> Iterator[_Stack]:
    """Each whole stack; what is cut or interrupted is told in `lost`, with its line."""
    now, run = _Begun(), 0
    for number, line in lines:
        begins = _MAP.fullmatch(line)
        if not begins and now.add(number, line):
            continue
        stack = now.ended(number, line, run)
        is_begun = now.is_broken or bool(now.frames or now.process)
        if stack and not now.is_broken:
            yield stack
        elif is_begun and not now.is_broken:
            why = f"this is no line of it: {printable(line.strip())}" if line.strip() else "it has no count"
            lost.append(TextLine(number, f"line {number}: the stack above is left out, {why}"))
        run += not stack and not begins
        now = _Begun(begins[1], begins[2] or "") if begins else _Begun()
        # what follows a line that cannot be read is the outer part of the same stack
        now.is_broken = not begins and not stack and line.strip() != "" and is_begun
    if now.frames:
        number = lines[-1].number
        lost.append(TextLine(number, f"line {number}: the last stack is left out, it is cut off"))
