# SPDX-License-Identifier: MIT
"""Call stacks with their number of samples: the folded form that flame graphs are drawn from.

One line a stack, `process;outermost;...;innermost count`, as Brendan Gregg's stackcollapse writes it,
below a line that says the event and the sum.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lockscale.errors import BadInput

_HEAD = re.compile(r"# (\S+), (\d{1,15}) samples")
_LINE = re.compile(r"(\S.*) (\d{1,15})", re.ASCII)


@dataclass(frozen=True)
class Folded:
    """Samples of one event: stacks from the process' name down to the function that ran.

    `warnings` say what may be missing.
    """

    event: str
    stacks: Mapping[tuple[str, ...], int]
    warnings: tuple[str, ...] = ()

    @property
    def samples(self) -> int:
        return sum(self.stacks.values())


@dataclass(frozen=True)
class FunctionSamples:
    """Samples in which a function ran itself, and in which it was anywhere on the stack."""

    function: str
    itself: int
    total: int


def functions(folded: Folded) -> list[FunctionSamples]:
    """Every function, the one with the most samples of its own first; recursion counts once."""
    itself: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for stack, count in folded.stacks.items():
        if len(stack) > 1:
            itself[stack[-1]] += count
        for function in set(stack[1:]):
            total[function] += count
    found = [FunctionSamples(name, itself[name], total[name]) for name in total]
    return sorted(found, key=lambda one: (-one.itself, -one.total, one.function))


def merge(several: Iterable[Folded]) -> Folded:
    """The sum of several of one event."""
    parts = list(several)
    if len({part.event for part in parts}) != 1:
        raise BadInput(f"stacks of {len({part.event for part in parts})} events cannot be added: choose one")
    stacks: Counter[tuple[str, ...]] = Counter()
    for part in parts:
        stacks.update(part.stacks)
    warnings = dict.fromkeys(warning for part in parts for warning in part.warnings)
    return Folded(parts[0].event, dict(stacks), tuple(warnings))


def write(folded: Folded) -> str:
    """The text form, in one order whatever was sampled first."""
    lines = sorted(f"{';'.join(stack)} {count}\n" for stack, count in folded.stacks.items())
    return f"# {folded.event}, {folded.samples} samples\n{''.join(lines)}"


def read(text: str) -> Folded:
    """What write() wrote; BadInput for anything else, and where the counts are not the sum it says."""
    first, *lines = text.split("\n")
    head = _HEAD.fullmatch(first)
    if head is None or lines[-1:] != [""]:
        raise BadInput(
            "this is no whole file of folded stacks: its first line says the event and the samples"
        )
    stacks: dict[tuple[str, ...], int] = {}
    for line in lines[:-1]:
        found = _LINE.fullmatch(line)
        stack = tuple(found[1].split(";")) if found else ()
        if found is None or stack in stacks or not int(found[2]):
            raise BadInput(f"folded stacks: {line[:60]!r} is not `stack count`, or is there twice")
        stacks[stack] = int(found[2])
    folded = Folded(head[1], stacks)
    if folded.samples != int(head[2]):
        raise BadInput(
            f"folded stacks: the counts are {folded.samples} samples and not {head[2]}: it was changed"
        )
    return folded
