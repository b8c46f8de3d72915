# SPDX-License-Identifier: MIT
"""A tool that a target may have: how the target is asked for it, and what works without it.

Each tool's own file declares its own, as ON_TARGET; detection asks for all of them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput, printable

# The tool may leave files: they go with their folder. A `d` of the environment is not ours to remove.
_TRIED = """d=; command -v "$1" && shift && d=$(mktemp -d) && cd "$d" && "$@"
cd /; [ -z "$d" ] || rm -rf "$d" """.strip()


@dataclass(frozen=True)
class Part:
    """What a tool needs beside itself: `has` ends with 0 where it is there.

    without: what is then so, as a sentence's end.
    """

    name: str
    has: Sequence[str]
    without: str


@dataclass(frozen=True)
class TargetTool:
    """`ask` prints the tool's path in a line, and then what `version` reads; else nothing.

    version: the version in that text, BadInput where it is not understood; None: the tool tells none.
    without: what still works where the tool is absent; "": nothing is measured. get: how to have it.
    variables: those of the user's environment that `ask` looks at.
    """

    name: str
    ask: Sequence[str]
    version: Callable[[str], str] | None
    without: str
    get: str
    parts: Sequence[Part] = ()
    variables: Sequence[str] = ()


def on_path(command: str, *asks: str) -> list[str]:
    """argv that prints where `command` is and then runs `asks`, or fails and prints nothing."""
    return ["sh", "-c", 'command -v "$1" && shift && "$@"', "sh", command, *(asks or ("true",))]


def tried(command: str, argv: Sequence[str]) -> list[str]:
    """The same, with `argv` run in an empty folder that is removed afterwards."""
    return ["sh", "-c", _TRIED, "sh", command, *argv]


def kernel_file(path: str, *asks: str) -> list[str]:
    """argv that prints `path` where the kernel has it, and then the kernel's release or what `asks` print."""
    return ["sh", "-c", 'ls -d "$1" && shift && "$@"', "sh", path, *(asks or ("uname", "-r"))]


def printed(pattern: str) -> Callable[[str], str]:
    """A reader of the version that is group 1 of the pattern, at the start of a line."""

    def read(text: str) -> str:
        found = re.search(rf"^{pattern}", text, re.MULTILINE | re.ASCII)
        if found is None:
            said = next((line for line in text.split("\n") if line.strip()), "")
            raise BadInput(f"it says {printable(said)!r}" if said else "it says nothing")
        return found[1]

    return read
