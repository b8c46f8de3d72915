# SPDX-License-Identifier: MIT
"""A tool that a target may have: how the target is asked for it, and how a profiler runs around a load.

Each tool's own file declares its own, as ON_TARGET and on_load(); `registry.TOOLS` lists them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput, printable
from lockscale.tools.parsed_rows import Number

# What a profiler writes during a load: not on the file system under test.
DATA = "/run/lockscale-profile.data"

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

    version: the version in that text, BadInput where it is not understood; None: the tool prints none.
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


@dataclass(frozen=True)
class LoadProfiler:
    """A profiler around one load: `around(argv)` runs argv under it; `read` prints what numbers() takes.

    start, stop: (file, value) to write before and after the load. clear: what to write, and data: the
    file to remove, once it has been read. raw: the text to keep as the raw output.
    """

    read: Sequence[str]
    numbers: Callable[[str], list[Number]]
    raw: Callable[[str], str] = str
    around: Callable[[Sequence[str]], list[str]] = list
    start: Sequence[tuple[str, str]] = ()
    stop: Sequence[tuple[str, str]] = ()
    clear: Sequence[tuple[str, str]] = ()
    data: str = ""


def on_path(command: str, *asks: str) -> list[str]:
    """argv that prints where `command` is and then runs `asks`, or fails and prints nothing."""
    return ["sh", "-c", 'command -v "$1" && shift && "$@"', "sh", command, *(asks or ("true",))]


def tried(command: str, argv: Sequence[str]) -> list[str]:
    """The same, with `argv` run in an empty folder that is removed afterwards."""
    return ["sh", "-c", _TRIED, "sh", command, *argv]


def found_in(places: Sequence[str], built: str) -> list[str]:
    """argv that prints the first of `places`, as a shell expands them, where the test `built` of {} holds."""
    tries = "; ".join(f"if {built.format(place)}; then echo {place}; exit; fi" for place in places)
    return ["sh", "-c", tries]


def kernel_file(path: str, *asks: str) -> list[str]:
    """argv that prints `path` where the kernel has it, and then the kernel's release or what `asks` print."""
    return ["sh", "-c", 'ls -d "$1" && shift && "$@"', "sh", path, *(asks or ("uname", "-r"))]


def printed(pattern: str) -> Callable[[str], str]:
    """A reader of the version that is group 1 of the pattern, at the start of a line."""

    def read(text: str) -> str:
        found = re.search(rf"^{pattern}", text, re.MULTILINE | re.ASCII)
        if found is None:
            first = next((line for line in text.split("\n") if line.strip()), "")
            raise BadInput(f"it printed {printable(first)!r}" if first else "it printed nothing")
        return found[1]

    return read


STRACE = TargetTool(
    name="strace",
    ask=on_path("strace", "strace", "--version"),
    version=printed(r"strace -- version (\S+)"),
    without="loads are measured; their system calls are counted with perf trace",
    get="apt-get install strace",
)
"""Counts system calls with `strace -c` where two loads differ; its output is read by people."""
