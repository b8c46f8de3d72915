# SPDX-License-Identifier: MIT
"""mdtest's command line: how it is run here, and what a command line in its output asked for."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from lockscale.errors import BadInput

TOOL = "mdtest"

_PHASES = {"creation": "create", "removal": "remove"}
_FLAGS = {"C": "creation", "T": "stat", "E": "read", "U": "rename", "r": "removal"}
NO_SUCH_PHASE = {"dir_read", "rename"}  # a file is not renamed, a directory not read
_SHORT = re.compile(r"-([A-Za-z]+)(?:=(.*))?")
_VALUE = re.compile(r"-([iV])=?(\d+)")
# An option that takes a value ends its word: the S of -dScratch is none.
_TAKES_VALUE = re.compile(r"-([a-zA-Z]*?[abdefiIlnNpsVwWxz])[^=].*")
_OTHER_LOAD = {
    "S": "all tasks open one shared file (-S)",
    "c": "task 0 creates for all (-c)",
}


def command(
    processes: int,
    items: int,
    directory: str,
    *,
    phase: str = "both",
    preload: str = "",
) -> list[str]:
    """argv of S1's test, one iteration: `items` files a process, each in its own directory.

    `phase` is create, remove or both. --allow-run-as-root is Open MPI's leave to run as root, as loads do;
    --oversubscribe is its leave to start more processes than cores. preload: a library for the ranks alone.
    """
    flags = {"create": ["-C"], "remove": ["-r"], "both": ["-C", "-r"]}
    if phase not in flags:
        raise BadInput(f"mdtest has no phase {phase}: use create, remove or both")
    rank = ["env", f"LD_PRELOAD={preload}", TOOL] if preload else [TOOL]
    return [
        "mpirun", "--allow-run-as-root", "--oversubscribe",
        "-np", str(processes), *rank, "-n", str(items), "-d", directory,
        "-F", *flags[phase], "-u", "-i", "1", "-v",
    ]  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """The phases, how often, and which parts of the output there must be.

    `metrics` are those of the summary, `processes` is --print-all-procs, `rank_statistics` is
    --showRankStatistics. `by_time`: creation ends after -W seconds, so nobody says how many items.
    """

    tests: frozenset[str]
    repeats: int
    verbose: bool
    metrics: frozenset[str]
    processes: bool
    rank_statistics: bool
    by_time: bool


def read_command(command: str, version: str) -> Asked:
    """What `command` asks of that version; BadInput for a load that is another test."""
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise BadInput(f"mdtest's command line is damaged: {error}") from error
    letters = set(_letters(argv))
    for letter, what in _OTHER_LOAD.items():
        if letter in letters:
            raise BadInput(
                f"{what}: mdtest's rates are then those of another load: run it without this option"
            )
    values = dict(_values(argv))
    repeats = values.get("i", "1")
    if not re.fullmatch(r"[1-9]\d{0,8}", repeats):
        raise BadInput("mdtest's command line has no number after -i: its output is damaged")
    return Asked(
        tests=_tests(letters, renames=version.startswith("4.")),
        repeats=int(repeats),
        verbose="v" in letters or values.get("V", "0") != "0",
        metrics=frozenset({"rate", "time"} if "P" in letters else {"time"} if "Z" in letters else {"rate"}),
        processes="--print-all-procs" in argv,
        rank_statistics="--showRankStatistics" in argv,
        by_time="W" in letters,
    )


def _letters(argv: list[str]) -> Iterator[str]:
    """Every flag, also of a group (-vCr); -C=0 is off, and of -dScratch only the d is one."""
    for word in argv:
        if (match := _TAKES_VALUE.fullmatch(word)) or ((match := _SHORT.fullmatch(word)) and match[2] != "0"):
            yield from match[1]


def _values(argv: list[str]) -> Iterator[tuple[str, str]]:
    """The values of -i and -V, written -i 3, -i=3 or -i3."""
    for word, following in pairwise([*argv, ""]):
        if word in ("-i", "-V"):
            yield word[1], following
        elif match := _VALUE.fullmatch(word):
            yield match[1], match[2]


def _tests(letters: set[str], *, renames: bool) -> frozenset[str]:
    """Without any of -C -T -E -U -r all phases run, from 4.0.0 on the renaming of directories too."""
    names = [name for letter, name in _FLAGS.items() if letter in letters] or [*_FLAGS.values()]
    both = {"D", "F"} <= letters
    kinds = [k for k, other in (("File", "D"), ("Directory", "F")) if both or other not in letters]
    unknown = NO_SUCH_PHASE if renames else NO_SUCH_PHASE | {"dir_rename"}
    return frozenset({phase_of(kind, name) for kind in kinds for name in names} - unknown)


def phase_of(kind: str, name: str) -> str:
    """`create` of `File creation`, `dir_stat` of `Directory stat`."""
    phase = _PHASES.get(name, name)
    return phase if kind == "File" else f"dir_{phase}"
