# SPDX-License-Identifier: MIT
"""The list of mutants, each the code changed in one place: tests/mutants/list/*.yaml, read safely.

A file of it says for each module of lib/lockscale which tests have to fail, and the changes: `old`, a text
that is there once, and `new`, what stands there instead. `equivalent` says in one line why no test can tell,
`missed` which test is lacking: both are known to survive, and not in a sample.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockscale.errors import BadInput
from lockscale.yaml_text import read_yaml

LIST = Path(__file__).with_name("list")


@dataclass(frozen=True)
class Mutant:
    """One change. file: in lib; tests: in tests; interpreted: the simulator's loop is not compiled."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    interpreted: bool
    equivalent: str
    missed: str = ""

    @property
    def name(self) -> str:
        """For a person: the file, and the first line that changes."""
        return f"{self.file}: {self._changed(self.old)} -> {self._changed(self.new) or 'nothing'}"

    def _changed(self, text: str) -> str:
        return " ".join(text.split())[:70]

    def applied(self, text: str) -> str:
        """The file's text with the change. Raises BadInput where the old text is not there once."""
        if (times := text.count(self.old)) != 1:
            raise BadInput(f"{self.name}: its old text is there {times} times, not once")
        return text.replace(self.old, self.new)


def mutants(folder: Path = LIST) -> list[Mutant]:
    """All that are listed, in the order of the files and in that of the list."""
    return [one for path in sorted(folder.glob("*.yaml")) for one in _of_file(read_yaml(path))]


def _of_file(said: dict[str, dict[str, Any]]) -> list[Mutant]:
    return [
        Mutant(
            file,
            change["old"],
            change["new"] or "",
            tuple(change.get("tests") or group["tests"]),
            group.get("interpreted", False),
            change.get("equivalent", ""),
            change.get("missed", ""),
        )
        for file, group in said.items()
        for change in group["mutants"]
    ]


def sample(known: Sequence[Mutant], size: int, day: str) -> list[Mutant]:
    """Some that are not known to survive, others on another day."""
    able = [one for one in known if not (one.equivalent or one.missed)]
    return random.Random(day).sample(able, min(size, len(able)))
