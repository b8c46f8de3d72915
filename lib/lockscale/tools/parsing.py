# SPDX-License-Identifier: MIT
"""Long-form rows from the output of any tool that is known: a load generator's or a profiler's.

A text that no reader reads is several outputs in one file, or a form that was not asked for: that is said.
"""

import codecs
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from lockscale.errors import BadInput
from lockscale.tools import changelog_table, mmtests, perf_script
from lockscale.tools.profiler_rows import PROFILERS, Reader, folded_rows
from lockscale.tools.workload_rows import Parsed
from lockscale.tools.workloads import READERS as WORKLOADS

# Lines that may begin an output whose reader looks at the beginning of a text only.
_MAY_BEGIN = re.compile(
    r"^(?:lock_stat version |event \w|==> /|mballoc:|#group: |fc stats:|\d+ transactions \(|stats:|"
    r'[ \t]*\{"tool":| {2}Function +Hit|rank,items,|(?:.*/)?(?:lock|rwsem|pv)_[a-z_0-9]+:\d|'
    r" *\S.{0,60} \d+\.\d{6,9}: )",
    re.MULTILINE,
)
_LONGEST_HEAD = 400
_JSON = "use --output-format=json"
_FORMS = [
    (r"\A\s*\Z", "the text is empty: did the tool print to standard error (2>&1)?"),
    (r"\0", "the text has zero bytes, as in UTF-16: convert it with iconv -f UTF-16 -t UTF-8"),
    (r"^ Performance counter stats for ", "this is perf stat's table for people: count with -j"),
    (
        r'^(?:\{"interval" :| +\d+\.\d{9}[,; ])',
        "perf stat's counts of intervals are not read: count without -I",
    ),
    (
        r"^[\d.]+([^\s\w,.])[A-Za-z/%]*\1[A-Za-z][\w:/-]*\1\d+\1\d+\.\d\d",
        "these are perf stat's counts with another separator than a comma: count with -x, or -j",
    ),
    (r"^\d;fio-\d", f"this is fio's terse output: {_JSON}"),
    (r"^(?:fio-\d\.\d+\S*$|\S.*: \(g=\d+\): rw=)", f"this is fio's output for people: {_JSON}"),
]


def begun_within(text: str, recognisers: Mapping[str, Callable[[str], bool]]) -> set[str]:
    """The tools whose output begins at some line of `text`, where that line may begin one."""
    heads = (text[found.start() : found.start() + _LONGEST_HEAD] for found in _MAY_BEGIN.finditer(text))
    return {name for head in heads for name, recognises in recognisers.items() if recognises(head)}


def what_to_do(text: str) -> str | None:
    """One sentence for a form of a known tool's output that is not read; None where it is none."""
    return next((said for form, said in _FORMS if re.search(form, text, re.MULTILINE)), None)


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
