# SPDX-License-Identifier: MIT
"""Where the processors are: perf record samples call stacks, and perf script's text of them is folded.

The text is folded as it streams by: memory goes with the different stacks, not with the text. Read in
perf's source: builtin-script.c (process_event, perf_sample__fprintf_start) and util/evsel_fprintf.c
(sample__fprintf_callchain). A sample is a line with process, time and event, a line for each function of
its stack, the innermost first, and an empty line.

The folded form is that of Brendan Gregg's stackcollapse, from which flame graphs are drawn: one line a
stack, `process;outermost;...;innermost count`, below a line that says the event and the sum.
"""

import io
import re
import sys
from collections import Counter
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lockscale.errors import BadInput
from lockscale.tools import perf_stat
from lockscale.tools.folded import profile_of_stacks
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.parsed_rows import NOT_STATED, Number, Parsed, rows_of
from lockscale.tools.perf_stat import plain
from lockscale.tools.profile_entry import no_time
from lockscale.tools.seal import UNSEALED, sealed, unsealed_bytes
from lockscale.tools.target_tools import DATA, LoadProfiler, Part

TOOL = "perf_record"
SCRIPT = "perf_script"  # what reads the samples of perf record
# Odd, so that no timer of the kernel keeps step with it.
FREQUENCY_HZ = 499
# Whether this machine counts cycles. Virtual ones mostly do not.
COUNTS_CYCLES = plain(["perf", "stat", "-j", "-e", "task-clock,cycles", "--log-fd", "1", "true"])

PARTS = (
    Part(
        "a count of cycles",
        ("sh", "-c", "perf stat -a -e cycles -x, --log-fd 1 true | grep -q '^[0-9]'"),
        "flame graphs are sampled with cpu-clock",
    ),
)

_CHUNK_BYTES = 1 << 20
_HEADER_BYTES = 1 << 16
_MOST_LINES = 500_000  # addresses remembered: some 100 MB
_MOST_BYTES = 300_000_000  # of all the different stacks
_STACK_BYTES = 130  # what a stack costs beside its names

_HEAD = re.compile(
    rb" *(\S.*?) +-?\d+(?:/-?\d+)? +(?:\[\d+\] +)?\d+\.\d{6,9}: +(?:\d+ +)?(\S+):(?:\s.*)?", re.DOTALL
)
_FRAME = re.compile(rb"\t *[0-9a-f]{1,16} (\S.*)")
# an offset, and the file that the function is in; without an offset a C++ name may end in brackets too
_TAIL = re.compile(rb"\+0x[0-9a-f]+(?: \(.*\))?$| \((?:[\w.-]+|\[[^\]]*\].*|/.*)\)$")
_COMMENTS = re.compile(rb"(?:#(?: .*)?\n|\n)*")  # of perf script --header
_RECOGNISED = re.compile(_COMMENTS.pattern + _HEAD.pattern + rb"\n(?:\n|" + _FRAME.pattern + rb")")
_FOLDED_HEAD = re.compile(r"# (\S+), (\d{1,15}) samples")
_FOLDED_LINE = re.compile(r"(\S.*) (\d{1,15})", re.ASCII)


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
        raise BadInput(
            f"stacks of {len({part.event for part in parts})} events cannot be added up: choose one event"
        )
    stacks: Counter[tuple[str, ...]] = Counter()
    for part in parts:
        stacks.update(part.stacks)
    warnings = dict.fromkeys(warning for part in parts for warning in part.warnings)
    return Folded(parts[0].event, dict(stacks), tuple(warnings))


def write_folded(folded: Folded) -> str:
    """The text form, in one order whatever was sampled first."""
    lines = sorted(f"{';'.join(stack)} {count}\n" for stack, count in folded.stacks.items())
    return f"# {folded.event}, {folded.samples} samples\n{''.join(lines)}"


def read_folded(text: str) -> Folded:
    """What write_folded() wrote; BadInput for anything else, and where the counts are not the sum it says."""
    first, *lines = text.split("\n")
    head = _FOLDED_HEAD.fullmatch(first)
    if head is None or lines[-1:] != [""]:
        raise BadInput(
            "this is not a complete file of folded stacks: its first line must give the event and the "
            "number of samples"
        )
    stacks: dict[tuple[str, ...], int] = {}
    for line in lines[:-1]:
        found = _FOLDED_LINE.fullmatch(line)
        stack = tuple(found[1].split(";")) if found else ()
        if found is None or stack in stacks or not int(found[2]):
            raise BadInput(f"folded stacks: {line[:60]!r} is not `stack count`, or appears twice")
        stacks[stack] = int(found[2])
    folded = Folded(head[1], stacks)
    if folded.samples != int(head[2]):
        raise BadInput(
            f"folded stacks: the counts add up to {folded.samples} samples, not {head[2]}: the file was "
            f"changed"
        )
    return folded


def recognise(text: str) -> bool:
    """Whether the text begins with a sample of perf script, or its header and a sample."""
    return _RECOGNISED.match(text[:_HEADER_BYTES].encode(errors="replace")) is not None


def parse(text: str) -> Folded:
    """Folded stacks of a text at hand; see fold()."""
    return fold(io.BytesIO(text.encode(errors="replace")))


def fold_file(path: Path) -> Folded:
    """Folded stacks of a file; see fold()."""
    with path.open("rb") as stream:
        return fold(stream)


def fold(stream: BinaryIO) -> Folded:
    """Folded stacks of a file of perf script's text, sealed or, with a warning, not.

    A sample without a stack is one of its process alone. BadInput where a line is neither a sample's
    first nor a function's, for samples of two events, and where there is none at all.
    """
    size, whole = unsealed_bytes(stream)
    folding = _Folding()
    warnings = [] if whole else [UNSEALED]
    for sample in _samples(stream, size):
        if sample is None:
            warnings.append("the last sample is cut off and left out")
        else:
            folding.add(sample)
    return folding.folded(warnings)


def _samples(stream: BinaryIO, size: int) -> Iterator[bytes | None]:
    """Each sample without its empty line; None for a last one that is cut."""
    rest = b""
    while size:
        chunk = stream.read(min(size, _CHUNK_BYTES))
        if not chunk:
            raise BadInput("perf script's text became shorter while it was read: wait until perf has ended")
        size -= len(chunk)
        *whole, rest = (rest + chunk.replace(b"\r", b"")).split(b"\n\n")
        yield from whole
        if len(rest) > _CHUNK_BYTES:
            raise BadInput("this is not perf script's text: it has no empty line within 1 MiB")
    if rest.strip(b"\n"):
        yield None


class _Items(ItemsView[tuple[str, ...], int]):
    def __init__(self, stacks: "_Stacks") -> None:
        super().__init__(stacks)
        self._stacks = stacks

    def __iter__(self) -> Iterator[tuple[tuple[str, ...], int]]:
        return zip(self._stacks, self._stacks.values(), strict=True)


class _Stacks(Mapping[tuple[str, ...], int]):
    """Samples by stack. A stack is kept as four bytes a name: half of what a tuple of the names takes."""

    def __init__(self, names: Mapping[str, bytes], counts: Mapping[bytes, int]) -> None:
        """names: the four bytes of each; counts: samples by stack, the innermost first, the process last."""
        self._numbered = names
        self._names = tuple(names)
        self._counts = counts

    def __getitem__(self, stack: tuple[str, ...]) -> int:
        return self._counts[b"".join(self._numbered[name] for name in reversed(stack))]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        name_of = self._names.__getitem__
        for stack in self._counts:
            yield tuple(map(name_of, memoryview(stack).cast("I")[::-1]))

    def __len__(self) -> int:
        return len(self._counts)

    def items(self) -> ItemsView[tuple[str, ...], int]:
        return _Items(self)

    def values(self) -> ValuesView[int]:
        return self._counts.values()


class _Folding:
    """The different stacks so far, each as the numbers of its names."""

    def __init__(self) -> None:
        self._lines = _Lines()
        self._stacks: dict[bytes, int] = {}
        self._bytes = 0
        self._samples = 0
        self._event = b""

    def add(self, sample: bytes) -> None:
        self._samples += 1
        sample = sample if self._samples > 1 else _COMMENTS.sub(b"", sample, count=1)
        first, _, body = sample.partition(b"\n")
        head = _HEAD.fullmatch(first)
        if head is None:
            raise BadInput(
                f"perf script: the first line of sample {self._samples} is not valid: {_shown(first)}"
            )
        self._check_event(head[2])
        lines = self._lines
        frames = map(lines.__getitem__, body.split(b"\n")) if body else ()
        stack = b"".join((*frames, lines.number(head[1])))
        if stack in self._stacks:
            self._stacks[stack] += 1
        else:
            self._stacks[stack] = 1
            self._check_room(len(stack))

    def folded(self, warnings: list[str]) -> Folded:
        if not self._stacks:
            raise BadInput("perf script printed no samples: was the load running, and on these CPUs?")
        stacks = _Stacks(self._lines.numbers, self._stacks)
        return Folded(self._event.decode(errors="replace"), stacks, tuple(warnings))

    def _check_event(self, event: bytes) -> None:
        self._event = self._event or event
        if event != self._event:
            both = f"{_shown(self._event)} and {_shown(event)}"
            raise BadInput(f"perf script: samples of {both} cannot be added up: record one event at a time")

    def _check_room(self, size: int) -> None:
        self._bytes += size + _STACK_BYTES
        if self._bytes > _MOST_BYTES:
            raise BadInput(
                f"perf script: {len(self._stacks)} different stacks are too many: record with "
                "--kernel-callchains, or for a shorter time"
            )


class _Lines(dict[bytes, bytes]):
    """Line of a frame -> its function's number; lines are forgotten when they are too many, names never."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, bytes] = {}
        self._encoded: dict[bytes, bytes] = {}

    def __missing__(self, line: bytes) -> bytes:
        frame = _FRAME.fullmatch(line)
        if frame is None:
            raise BadInput(f"perf script: a line is not part of a stack (record with -g): {_shown(line)}")
        if len(self) >= _MOST_LINES:
            self.clear()
        number = self[line] = self.number(_TAIL.sub(b"", frame[1], count=1) or frame[1])
        return number

    def number(self, name: bytes) -> bytes:
        """Four bytes, one object however often it is asked for; `;` would end the name in the folded form."""
        found = self._encoded.get(name)
        if found is None:
            text = name.decode(errors="replace").replace(";", ":")
            following = len(self.numbers).to_bytes(4, sys.byteorder)
            found = self._encoded[name] = self.numbers.setdefault(text, following)
        return found


def _shown(line: bytes) -> str:
    return repr(line[:60].decode(errors="replace"))


def rows(folded: Folded) -> Parsed:
    """Samples of each function: in which it ran itself, and in which it was on the stack."""
    of_functions = [
        row
        for one in functions(folded)
        for row in rows_of(
            one.function,
            Number("samples", "itself", "samples", one.itself),
            Number("samples", "total", "samples", one.total),
        )
    ]
    return Parsed(SCRIPT, NOT_STATED, tuple(of_functions), folded.warnings)


def profile_of(folded: Folded) -> LockProfile:
    """An Entry for each stack; the samples are of CPUs, so a process that sleeps is in none."""
    stacks = [(stack, count, 1) for stack, count in folded.stacks.items()]
    warnings = (*folded.warnings, *no_time(folded.event))
    return profile_of_stacks(SCRIPT, stacks, folded.event, 1, warnings, asleep=False)


def on_load(answer: str, cpus: int, functions: Sequence[str]) -> LoadProfiler:
    """Stacks of the whole machine, in the kernel, around a load; answer: what COUNTS_CYCLES prints.

    Of cycles, or of a timer, cpu-clock, where there is no PMU. Stacks of user space are left out: most
    programs keep no frame pointers, and perf makes them up.
    """
    try:
        counted = {row.test for row in perf_stat.parse(answer).rows}
    except BadInput:  # not even a task clock: perf may not count at all, and says so when it records
        counted = set()
    event = "cycles" if "cycles" in counted else "cpu-clock"
    options = ["-q", "-a", "-N", "-e", event, "-F", str(FREQUENCY_HZ), "-g", "--kernel-callchains"]
    return LoadProfiler(
        around=lambda load: ["perf", "record", *options, "-o", DATA, "--", *load],
        read=sealed(["perf", "script", "-F", "comm,tid,time,event,ip,sym", "-i", DATA]),
        data=DATA,
        numbers=lambda text: [Number("samples", "total", "samples", parse(text).samples)],
        raw=lambda text: write_folded(parse(text)),
    )
