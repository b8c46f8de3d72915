# SPDX-License-Identifier: MIT
"""An append-only journal: one JSON value a line, each on disk before its work is called done.

Whatever ends the process, the lines before are whole; a last line that a kill tore is no line, and what it
would have said is done again. A line ends with the hash of the rest of it, so that a digit that changed on
the disk or in an editor is noticed.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from lockscale.errors import BadInput
from lockscale.files import append_line, write_bytes

T = TypeVar("T")


_SEAL = "line_sha256"
CHANGED = "was changed after it was written"
_SEALED = re.compile(rb', "%b": "([0-9a-f]{64})"}$' % _SEAL.encode())


def line_of(value: Mapping[str, Any]) -> str:
    """`value` as a line, its hash as the last of its keys. NaN, which JSON has not, is a ValueError."""
    text = json.dumps(value, allow_nan=False)
    return f'{text[:-1]}, "{_SEAL}": "{hashlib.sha256(text.encode()).hexdigest()}"}}'


def add_line(path: Path, value: Mapping[str, Any]) -> None:
    """`value` as one more line, fsynced; BadInput where the disk is full, and then it is not there at all."""
    append_line(path, line_of(value))


def without_hash(line: bytes) -> bytes:
    """What line_of() was given, as JSON. Raises BadInput where the line was changed after it was written.

    A line without a hash is one of a lockscale that wrote none.
    """
    found = _SEALED.search(line)
    if not found:
        if _SEAL.encode() in line:  # by a tool that writes JSON in another form
            raise BadInput(CHANGED)
        return line
    text = line[: found.start()] + b"}"
    if hashlib.sha256(text).hexdigest().encode() != found[1]:
        raise BadInput(CHANGED)
    return text


def read_lines(path: Path, parse: Callable[[bytes], T], mend: str, *, skip: int = 0) -> list[T]:
    """What `parse` makes of each whole line after the first `skip`; nothing where there is no file.

    parse: raises BadInput with the fault of a line that add_line() never wrote, which becomes one sentence
    with its place and with `mend`, what a person does then. So does a line that lost its hash: one without
    is below one with it.
    """
    found, sealed = [], False
    for number, line in enumerate(whole_part(path).split(b"\n")[:-1], start=1):
        try:
            said = without_hash(line)
            found += [parse(said)] if number > skip else []
            if sealed and said == line:
                raise BadInput(CHANGED)
            sealed = said != line
        except BadInput as fault:
            raise BadInput(f"{path} line {number} {fault}: {mend}") from None
    return found


def whole_part(path: Path) -> bytes:
    """The lines that are on disk whole, without a last one that was torn."""
    content = path.read_bytes() if path.is_file() else b""
    return content[: content.rfind(b"\n") + 1]


def drop_torn_line(path: Path) -> None:
    """What a kill left of a last line is taken off, so that the next line begins where one begins."""
    whole = whole_part(path)
    if path.is_file() and len(whole) < path.stat().st_size:
        write_bytes(path, whole)
