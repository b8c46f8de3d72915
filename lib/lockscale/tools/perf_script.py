# SPDX-License-Identifier: MIT
"""perf script's text, folded as it streams by: memory goes with the different stacks, not with the text.

Read in perf's source: builtin-script.c (process_event, perf_sample__fprintf_start) and
util/evsel_fprintf.c (sample__fprintf_callchain). A sample is a line with process, time and event, a
line for each function of its stack, the innermost first, and an empty line.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from lockscale.errors import BadInput
from lockscale.tools.folded import Folded
from lockscale.tools.seal import UNSEALED, unsealed_bytes

TOOL = "perf_script"

_CHUNK_BYTES = 1 << 20
_MOST_LINES = 500_000  # addresses remembered: some 100 MB
_MOST_FRAMES = 30_000_000  # of all the different stacks: some 300 MB
_STACK_FRAMES = 16  # what a stack costs beside its frames, in frames

_HEAD = re.compile(
    rb" *(\S.*?) +-?\d+(?:/-?\d+)? +(?:\[\d+\] +)?\d+\.\d{6,9}: +(?:\d+ +)?(\S+):(?:\s.*)?", re.DOTALL
)
_FRAME = re.compile(rb"\t *[0-9a-f]{1,16} (\S.*)")
# an offset, and the file that the function is in
_TAIL = re.compile(rb"(?:\+0x[0-9a-f]+)?(?: \((?:inlined|\[[^\]]*\]|/.*)\))?$")
_RECOGNISED = re.compile(_HEAD.pattern + rb"\n(?:\n|" + _FRAME.pattern + rb")")


def recognise(text: str) -> bool:
    """Whether the text begins with a sample of perf script."""
    return _RECOGNISED.match(text.lstrip("\n")[:4096].encode(errors="replace")) is not None


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
    cut = False
    for sample in _samples(stream, size):
        if sample is None:
            cut = True
        else:
            folding.add(sample)
    warnings = [] if whole else [UNSEALED]
    if cut:
        warnings.append("the last sample is cut and left out")
    return folding.folded(warnings)


def _samples(stream: BinaryIO, size: int) -> Iterator[bytes | None]:
    """Each sample without its empty line; None for a last one that is cut."""
    rest = b""
    while size:
        chunk = stream.read(min(size, _CHUNK_BYTES))
        if not chunk:
            raise BadInput("perf script's text became shorter while it was read: let perf end first")
        size -= len(chunk)
        *whole, rest = (rest + chunk).split(b"\n\n")
        yield from whole
        if len(rest) > _CHUNK_BYTES:
            raise BadInput("this is not perf script's text: there is no empty line in 1 MiB of it")
    if rest.strip(b"\n"):
        yield None


class _Folding:
    """The different stacks so far; their names are shared, so a stack costs a pointer a frame."""

    def __init__(self) -> None:
        self._names = _Names()
        self._stacks: dict[tuple[str, ...], int] = {}
        self._frames = 0
        self._samples = 0
        self._event = b""

    def add(self, sample: bytes) -> None:
        self._samples += 1
        first, _, body = sample.partition(b"\n")
        head = _HEAD.fullmatch(first)
        if head is None:
            raise BadInput(
                f"perf script: the first line of sample {self._samples} is not one: {_shown(first)}"
            )
        self._check_event(head[2])
        names = self._names
        lines = body.split(b"\n")[::-1] if body else []
        stack = (names.process(head[1]), *map(names.__getitem__, lines))
        if stack in self._stacks:
            self._stacks[stack] += 1
        else:
            self._stacks[stack] = 1
            self._check_room(len(stack))

    def folded(self, warnings: list[str]) -> Folded:
        if not self._stacks:
            raise BadInput("perf script printed no sample: was the load running, and on these CPUs?")
        return Folded(self._event.decode(errors="replace"), self._stacks, tuple(warnings))

    def _check_event(self, event: bytes) -> None:
        self._event = self._event or event
        if event != self._event:
            both = f"{_shown(self._event)} and {_shown(event)}"
            raise BadInput(f"perf script: samples of {both} cannot be added: record one event at a time")

    def _check_room(self, frames: int) -> None:
        self._frames += frames + _STACK_FRAMES
        if self._frames > _MOST_FRAMES:
            raise BadInput(
                f"perf script: {len(self._stacks)} different stacks are too many: record with "
                "--kernel-callchains, or for a shorter time"
            )


class _Names(dict[bytes, str]):
    """Line of a frame -> function; lines are forgotten when they are too many, names never."""

    def __init__(self) -> None:
        super().__init__()
        self._shared: dict[bytes, str] = {}

    def __missing__(self, line: bytes) -> str:
        frame = _FRAME.fullmatch(line)
        if frame is None:
            raise BadInput(f"perf script: a line of a stack is not one (record with -g): {_shown(line)}")
        if len(self) >= _MOST_LINES:
            self.clear()
        name = self[line] = self.process(_TAIL.sub(b"", frame[1], count=1) or frame[1])
        return name

    def process(self, name: bytes) -> str:
        """The name as text, one object however often it is asked for; `;` would end it."""
        found = self._shared.get(name)
        if found is None:
            found = self._shared[name] = name.decode(errors="replace").replace(";", ":")
        return found


def _shown(line: bytes) -> str:
    return repr(line[:60].decode(errors="replace"))
