# SPDX-License-Identifier: MIT
"""Folded stacks, `process;outermost;...;innermost count`: what flame graphs are drawn from.

Written by stackcollapse-perf.pl and its like, and by bcc's offcputime -f and profile -f. The count is of
samples; of offcputime it is microseconds asleep, which the text does not say: it is taken so where nearly
every stack ends in the scheduler. Frames `_[k]` are of the kernel, `-` parts its stack from the user's.
"""

import re
from collections.abc import Sequence
from itertools import chain

from lockscale.errors import BadInput, printable
from lockscale.tools.lock_functions import function_of, wait_of
from lockscale.tools.lock_profile import SAMPLES, SLEEP, LockProfile
from lockscale.tools.mail_text import TextLine, lines_of, whole_lines
from lockscale.tools.profile_entry import Entry, no_time
from lockscale.tools.seal import UNSEALED

TOOL = "folded"

_STACK = re.compile(r"([^;\s][^;]*(?:;[^;]+)+) (\d{1,18})(\.\d{0,9})?", re.ASCII)
_TWO_COUNTS = re.compile(r" \d+ \d+$", re.ASCII)
_HEAD = re.compile(r"# (\S+), (\d{1,18}) samples")
_FRAME_MARK = re.compile(r"_\[[a-z]\]$")
_ASLEEP = re.compile(r"finish_task_switch\S*|__?schedule|schedule\w*|io_schedule\w*|__traceiter_sched_switch")
_MOSTLY = 0.9


def recognise(text: str) -> bool:
    """Whether most lines are folded stacks."""
    lines = [one.text for one in lines_of(text[: 1 << 16]) if one.text and not one.text.startswith("#")]
    return len(lines) > 0 and sum(_STACK.fullmatch(one) is not None for one in lines) > len(lines) / 2


def profiles(text: str) -> list[LockProfile]:
    """An Entry for each stack, equal ones added; BadInput where there is none, or two outputs are in one."""
    lines, cut = whole_lines(text)
    heads = [found for one in lines if (found := _HEAD.fullmatch(one.text))]
    if len(heads) > 1:
        raise BadInput(f"the text contains {len(heads)} outputs of folded stacks: give one at a time")
    counts, lost = _counts(lines)
    left_out = [one.text for one in lost]
    if not counts:
        raise BadInput("no line is a folded stack, `process;outermost;...;innermost count`")
    if heads and int(heads[0][2]) != (total := sum(count for _, count, _ in counts)):
        raise BadInput(f"the folded stacks are {total} samples of {heads[0][2]}: lines are missing")
    warnings = [*(one for one in cut if not (heads and one == UNSEALED)), *left_out]
    title = heads[0][1] if heads else "folded stacks"
    warnings += no_time(title) if heads else []
    lost_line = next((one.number for one in lost if ";" in one.text), None)
    return [profile_of_stacks(TOOL, counts, title, lines[0].number, warnings, lost_line=lost_line)]


def profile_of_stacks(
    tool: str,
    stacks: Sequence[tuple[tuple[str, ...], float, int]],
    title: str,
    line: int,
    warnings: Sequence[str],
    asleep: bool | None = None,
    lost_line: int | None = None,
) -> LockProfile:
    """Of stacks (process, outermost, ..., innermost) with a number and a line each; equal ones are added.

    asleep: the numbers are microseconds off the CPU; None: where nearly all stacks end in the scheduler.
    """
    counts: dict[tuple[str, ...], float] = {}
    lines: dict[tuple[str, ...], int] = {}
    for stack, count, number in stacks:
        counts[stack] = counts.get(stack, 0) + count
        lines.setdefault(stack, number)
    total = sum(counts.values())
    if not total:
        raise BadInput(f"line {line}: all stacks have a count of 0: was the load running?")
    if asleep is None:
        asleep = ends_asleep([(stack[-1], count) for stack, count in counts.items()])
    entries = tuple(
        Entry(
            stack[-1],
            lines[stack],
            stack[-2:0:-1],
            wait_of(stack[:0:-1]),
            stack[0] or None,
            "self",
            100 * count / total,
            wait_ns=count * 1e3 if asleep else None,
        )
        for stack, count in counts.items()
        if len(stack) > 1
    )
    samples = None if asleep else int(total)
    of = SLEEP if asleep else SAMPLES
    return LockProfile(
        tool, of, entries, title, line, samples, tuple(warnings), disjoint=True, lost_line=lost_line
    )


def ends_asleep(innermost: Sequence[tuple[str, float]]) -> bool:
    """Whether nearly all stacks end in the scheduler, by their innermost functions with a number each.

    Where bcc has no stack, `[Missed Kernel Stack]`, it is not known where it ends.
    """
    known = [(name, count) for name, count in innermost if not name.startswith("[")]
    sleeping = sum(count for name, count in known if _ASLEEP.fullmatch(function_of(name)))
    return sleeping > _MOSTLY * sum(count for _, count in known)


def without_mark(frame: str) -> str:
    """A function's name without `_[k]`."""
    return _FRAME_MARK.sub("", frame) if frame[-1:] == "]" else frame


def _refuse_two_counts(lines: Sequence[TextLine]) -> None:
    """Of a difference of two profiles: the number in front of the last one is no part of a name."""
    stacks = (one for one in lines if _STACK.fullmatch(one.text))
    first = next(stacks, None)
    if first and all(_TWO_COUNTS.search(one.text) for one in chain([first], stacks)):
        raise BadInput(
            f"line {first.number}: each stack has two counts, as difffolded.pl prints them: give the stacks "
            "of one profile"
        )


def _counts(lines: Sequence[TextLine]) -> tuple[list[tuple[tuple[str, ...], int, int]], list[TextLine]]:
    """Stacks with number and line, and warnings of lines that are none, with theirs."""
    counts, lost = [], []
    _refuse_two_counts(lines)
    for number, line in lines:
        if found := _STACK.fullmatch(line):
            if found[3]:
                raise BadInput(
                    f"line {number}: {found[2]}{found[3]} is no whole number: fold the stacks with counts of "
                    "samples or microseconds"
                )
            process, *frames = found[1].split(";")
            names = map(without_mark, (name for name in frames if name != "-"))
            counts.append(((process, *names), int(found[2]), number))
        elif line and not line.startswith("#"):
            said = f"line {number} is left out, it is not a folded stack: {printable(line)}"
            lost.append(TextLine(number, said))
    return counts, lost
