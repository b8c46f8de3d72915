# SPDX-License-Identifier: MIT
"""Long-form rows from the output of any tool that is known: a load generator's or a profiler's."""

from pathlib import Path

from lockscale.errors import BadInput
from lockscale.parsing.profiler_rows import PROFILERS, Reader, folded_rows
from lockscale.profilers import perf_script
from lockscale.workloads import READERS as WORKLOADS
from lockscale.workloads.rows import Parsed

__all__ = ["READERS", "parse", "parse_file", "recognise"]

READERS: dict[str, Reader] = {**WORKLOADS, **PROFILERS}
_HEAD_BYTES = 1 << 16


def recognise(text: str) -> str:
    """The tool that printed `text`; BadInput when none, or more than one, could have."""
    names = [name for name, (recognises, _) in READERS.items() if recognises(text)]
    if len(names) != 1:
        could = f"it could be of {' or '.join(names)}" if names else "the output is not recognised"
        raise BadInput(f"{could}: name its tool with --tool (known: {', '.join(READERS)})")
    return names[0]


def parse(text: str, tool: str | None = None) -> Parsed:
    """Rows of `text`, printed by `tool` or by whichever tool is recognised; BadInput otherwise."""
    name = tool or recognise(text)
    if name not in READERS:
        raise BadInput(f"tool {name} is not known: use one of {', '.join(READERS)}")
    return READERS[name][1](text)


def parse_file(path: Path, tool: str | None = None) -> Parsed:
    """The same of a file; perf script's may be larger than the memory."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES).decode(errors="replace")
        if tool == perf_script.TOOL or (tool is None and perf_script.recognise(head)):
            return folded_rows(perf_script.fold(stream))
    return parse(path.read_text(errors="replace"), tool)
