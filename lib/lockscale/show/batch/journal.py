# SPDX-License-Identifier: MIT
"""What of a batch is done: one fsynced line for each notebook of each set, written when all of it is on disk.

A line that a kill tore is dropped: that notebook runs again.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict

from lockscale.errors import BadInput
from lockscale.journal import add_line, drop_torn_line, read_lines

State = Literal["done", "failed", "left"]
NEEDED = ("set", "notebook", "key", "status", "says", "numbers", "wall_s", "started_utc")


class Entry(TypedDict):
    """key: hash of all that decides what the notebook says. says, numbers: its headline, or why it failed."""

    set: str
    notebook: str
    key: str
    status: Literal["done", "failed"]
    says: str
    numbers: dict[str, float]
    wall_s: float
    started_utc: str


@dataclass
class Journal:
    """The last entry of each notebook of each set."""

    path: Path
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """The notebook ran: its line is whole on disk, or BadInput and it is not there at all."""
        add_line(self.path, entry)
        self.entries[entry["set"], entry["notebook"]] = entry

    def entry(self, one: str, notebook: str, key: str) -> Entry | None:
        """What is known of that notebook as it is now."""
        found = self.entries.get((one, notebook))
        return found if found and found["key"] == key else None


def state_of(found: Iterable[Entry | None]) -> State:
    """Of a notebook by its entry, of a set by those of its notebooks; None: nothing is known of it."""
    states = {entry["status"] if entry else "left" for entry in found}
    return "failed" if "failed" in states else "left" if "left" in states else "done"


def open_journal(path: Path) -> Journal:
    """The journal at `path`, new or as far as it came. Raises BadInput where it is none of a batch."""
    read = read_lines(path, _entry, "delete the line, its notebook then runs again")
    drop_torn_line(path)
    return Journal(path, {(one["set"], one["notebook"]): one for one in read})


def _entry(line: bytes) -> Entry:
    try:
        value: dict[str, Any] = json.loads(line)
        found: Entry = {name: value[name] for name in NEEDED}  # type: ignore[assignment]
        return found
    except (ValueError, KeyError, TypeError):
        raise BadInput("is not a batch's") from None
