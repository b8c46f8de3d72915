# SPDX-License-Identifier: MIT
"""Folded stacks, `process;outermost;...;innermost count`: what flame graphs are drawn from.

Written by stackcollapse-perf.pl and its like, and by bcc's offcputime -f and profile -f. The count is of
samples; of offcputime it is microseconds asleep, which the text does not say: it is taken so where nearly
every stack ends in the scheduler. Frames `_[k]` are of the kernel, `-` parts its stack from the user's.
"""

import re
from collections import Counter
from collections.abc import Sequence

from lockscale.errors import BadInput, printable
from lockscale.tools.lock_profile import Entry, LockProfile, function_of, wait_of
from lockscale.tools.mail_text import TextLine, lines_of
from lockscale.tools.parsed_rows import Parsed
from lockscale.tools.profile_rows import rows_of_profiles
from lockscale.tools.seal import UNSEALED, unseal

TOOL = "folded"

_STACK = re.compile(r"([^;\s][^;]*(?:;[^;]+)+) (\d{1,18})", re.ASCII)
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
    body, whole = unseal(text)
    lines = lines_of(body)
    heads = [found for one in lines if (found := _HEAD.fullmatch(one.text))]
    if len(heads) > 1:
        raise BadInput(f"the text holds {len(heads)} outputs of folded stacks: give one at a time")
    counts, first, left_out = _counts(lines)
    total = sum(counts.values())
    if not total:
        raise BadInput("no line is a folded stack, `process;outermost;...;innermost count`")
    if heads and int(heads[0][2]) != total:
        raise BadInput(
            f"the folded stacks are {total} samples and not {heads[0][2]}: lines are missing or changed"
        )
    asleep = sum(count for stack, count in counts.items() if _ASLEEP.fullmatch(stack[-1]))
    off_cpu = asleep > _MOSTLY * total
    entries = [_entry(stack, count, total, first[stack], off_cpu) for stack, count in counts.items()]
    return [
        LockProfile(
            TOOL,
            "off-CPU time" if off_cpu else "on-CPU samples",
            tuple(entries),
            heads[0][1] if heads else "folded stacks",
            lines[0].number,
            None if off_cpu else total,
            (*(() if whole or heads else (UNSEALED,)), *left_out),
            disjoint=True,
        )
    ]


def _counts(
    lines: Sequence[TextLine],
) -> tuple[Counter[tuple[str, ...]], dict[tuple[str, ...], int], list[str]]:
    """Stacks with their counts and lines, and warnings of lines that are none."""
    counts: Counter[tuple[str, ...]] = Counter()
    first: dict[tuple[str, ...], int] = {}
    left_out = []
    for number, line in lines:
        if found := _STACK.fullmatch(line):
            process, *frames = found[1].split(";")
            names = (_FRAME_MARK.sub("", name) for name in frames if name != "-")
            stack = (process, *names)
            counts[stack] += int(found[2])
            first.setdefault(stack, number)
        elif line and not line.startswith("#"):
            left_out.append(f"line {number} is left out, it is no folded stack: {printable(line)}")
    return counts, first, left_out


def _entry(stack: tuple[str, ...], count: int, total: int, line: int, off_cpu: bool) -> Entry:
    above = stack[:0:-1]
    return Entry(
        stack[-1],
        line,
        above[1:],
        wait_of(function_of(one) for one in above),
        stack[0],
        "self",
        100 * count / total,
        wait_ns=count * 1e3 if off_cpu else None,
    )


def rows(text: str) -> Parsed:
    """The share of each stack."""
    return rows_of_profiles(TOOL, profiles(text))
