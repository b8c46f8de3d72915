# SPDX-License-Identifier: MIT
"""Long-form rows from the output of any tool that is known: a load generator's or a profiler's."""

import codecs
import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from lockscale.errors import BadInput
from lockscale.parsing.profiler_rows import PROFILERS, Reader, folded_rows
from lockscale.parsing.unread import begun_within, what_to_do
from lockscale.profilers import perf_script
from lockscale.workloads import READERS as WORKLOADS
from lockscale.workloads import changelog_table, mmtests
from lockscale.workloads.rows import Parsed

__all__ = ["READERS", "parse", "parse_file", "recognise"]

READERS: dict[str, Reader] = {**WORKLOADS, **PROFILERS}
_HEAD_BYTES = 1 << 16
_IN_PROSE = {changelog_table.TOOL, mmtests.TOOL}  # read from a mail, whatever is around them


def recognise(text: str) -> str:
    """The tool that printed `text`; BadInput when none did, or more than one."""
    recognisers = {name: recognises for name, (recognises, _) in READERS.items()}
    whole = {name for name, recognises in recognisers.items() if recognises(text)}
    names = sorted(whole | begun_within(text, recognisers))
    if len(names) > 1:
        choose = ", or choose one with --tool" if set(names) <= _IN_PROSE else ""
        raise BadInput(f"the text holds output of {', '.join(names)}: give one at a time{choose}")
    if not whole:
        known = f"the output is not recognised: name its tool with --tool (known: {', '.join(READERS)})"
        raise BadInput(what_to_do(text) or known)
    return names[0]


def parse(text: str, tool: str | None = None) -> Parsed:
    """Rows of `text`, printed by `tool` or by whichever tool is recognised; BadInput otherwise."""
    name = tool or recognise(text)
    if name not in READERS:
        raise BadInput(f"tool {name} is not known: use one of {', '.join(READERS)}")
    return READERS[name][1](text)


def parse_file(path: Path, tool: str | None = None) -> Parsed:
    """The same of a file, or of standard input for `-`; perf script's may be larger than the memory."""
    with _opened(path) as stream:
        head = stream.read(_HEAD_BYTES).decode(errors="replace")
        stream.seek(0)
        if tool == perf_script.TOOL or (tool is None and perf_script.recognise(head)):
            return folded_rows(perf_script.fold(stream))
        with io.TextIOWrapper(stream, encoding="utf-8", errors="replace") as text:
            return parse(text.read(), tool)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file from their start, to be read again and again, without the mark of UTF-8."""
    piped = str(path) == "-"
    source = nullcontext(sys.stdin.buffer) if piped else path.open("rb")
    with source as stream, tempfile.TemporaryFile() as copy:
        start = stream.read(len(codecs.BOM_UTF8))
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise BadInput("the text is UTF-16: convert it with iconv -f UTF-16 -t UTF-8")
        if stream.seekable() and not piped and start != codecs.BOM_UTF8:
            stream.seek(0)
            yield stream
        else:
            copy.write(start.removeprefix(codecs.BOM_UTF8))
            shutil.copyfileobj(stream, copy)
            copy.seek(0)
            yield copy
