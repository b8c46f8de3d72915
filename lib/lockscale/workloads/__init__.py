# SPDX-License-Identifier: MIT
"""One file per tool: how to run it and how to read what it prints.

A further tool is one further module with `TOOL`, `recognise(text)` and `parse(text)`, named in
`READERS`.
"""

from collections.abc import Callable

from lockscale.errors import BadInput
from lockscale.workloads import fsload, mdtest
from lockscale.workloads.rows import Parsed, Row

__all__ = ["Parsed", "Row", "parse", "recognise"]

READERS: dict[str, tuple[Callable[[str], bool], Callable[[str], Parsed]]] = {
    fsload.TOOL: (fsload.recognise, fsload.parse),
    mdtest.TOOL: (mdtest.recognise, mdtest.parse),
}


def recognise(text: str) -> str:
    """The tool that printed `text`; BadInput when none is known to print such a thing."""
    names = [name for name, (recognises, _) in READERS.items() if recognises(text)]
    if len(names) != 1:
        known = ", ".join(READERS)
        raise BadInput(f"the output is not recognised: name its tool with --tool (known: {known})")
    return names[0]


def parse(text: str, tool: str | None = None) -> Parsed:
    """Rows of `text`, printed by `tool` or by whichever tool is recognised; BadInput otherwise."""
    name = tool or recognise(text)
    if name not in READERS:
        raise BadInput(f"tool {name} is not known: use one of {', '.join(READERS)}")
    return READERS[name][1](text)
