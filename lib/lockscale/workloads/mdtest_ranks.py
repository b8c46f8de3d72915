# SPDX-License-Identifier: MIT
"""The csv of mdtest's --saveRankPerformanceDetails (4.0.0rc1 and later).

The row `all` is of the first iteration: all items / the slowest rank's time, and `items` is what
one rank had. Then come the ranks of the first iteration, of the second, and so on: each rank's
own items / its time up to the barrier. The file says neither its version nor its iterations.

For the creation and stat of directories `all` counts one rank's items only: mdtest writes two
elements past `time_before_barrier` into `items` (4.0.0; mended in IOR's e311a95, May 2024).
"""

import re
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.workloads.mdtest_asked import phase_name, whole
from lockscale.workloads.rows import Parsed, Row, rate_row

VERSION = "4.x"
_START = "rank,items,rate-Directory creation,time-Directory creation,"
_PHASES = [
    *(f"Directory {name}" for name in ("creation", "stat", "read", "rename", "removal")),
    *(f"File {name}" for name in ("creation", "stat", "read", "removal")),
]
_TREE = ["Tree creation", "Tree removal"]
_HEADER = ["rank", "items", *(f"{m}-{name}" for name in _PHASES + _TREE for m in ("rate", "time"))]
_NUMBER = re.compile(r"\d\.\d{10}e[-+]\d\d")
_READS_NOTHING = "dir_read"


@dataclass
class _File:
    """The rows of ranks in order, what one rank had to do, and how many ranks there were."""

    items: int
    ranks: int
    all: list[str]
    lines: list[list[str]]
    warnings: list[str]


def recognise(text: str) -> bool:
    """Whether the first line is the csv's header."""
    return text.startswith(_START)


def parse(text: str) -> Parsed:
    """`rank<k>` in each iteration and `slowest_rank` in the first: rates in ops/s, times in s."""
    file = _read(text)
    rows = _rows(file, file.all, 1, "slowest_rank", file.items * file.ranks)
    for number, cells in enumerate(file.lines):
        iteration, rank = divmod(number, file.ranks)
        rows += _rows(file, cells, iteration + 1, f"rank{rank}", file.items)
    if not rows:
        raise BadInput("nothing could be read from mdtest's csv: its rates, times and items disagree")
    return Parsed("mdtest", VERSION, tuple(rows), tuple(file.warnings))


def _read(text: str) -> _File:
    lines = [line.rstrip("\r").split(",") for line in text.split("\n")]
    if lines[0] != _HEADER or len(lines) < 3 or lines[1][:1] != ["all"]:
        raise BadInput("mdtest's csv has not its header, the row of all and those of ranks: give a whole one")
    total, ranks = lines[1], [line for line in lines[2:] if line != [""]]
    if len(total) != len(_HEADER) or not re.fullmatch(r"[1-9]\d*", total[1]):
        raise BadInput("the row of all in mdtest's csv is damaged: give a whole one")
    file = _File(whole(total[1]), 0, total, ranks, [])
    file.ranks = _ranks(file)
    _check_order(file)
    done = len(ranks) // file.ranks
    file.warnings.append(f"the file does not say how many iterations ran: {done} are whole in it")
    return file


def _ranks(file: _File) -> int:
    """How many ranks shared the items of `all`, by the phases for which it is right."""
    found = set()
    for index, name in enumerate(_PHASES):
        pair = _pair(file.all, index)
        if pair and name not in ("Directory creation", "Directory stat"):
            found.add(round(pair[0] * pair[1] / file.items, 6))
    if len(found) != 1 or not (ranks := found.pop()).is_integer() or not ranks:
        raise BadInput("the row of all in mdtest's csv does not tell how many ranks there were")
    return int(ranks)


def _check_order(file: _File) -> None:
    names = [cells[0] for cells in file.lines]
    if names != [str(number % file.ranks) for number in range(len(names))]:
        raise BadInput("the ranks in mdtest's csv are not in order: rows are missing or moved")
    if len({tuple(cells) for cells in file.lines}) != len(file.lines):
        raise BadInput("a row of mdtest's csv is there twice")


def _pair(cells: list[str], index: int) -> tuple[float, float] | None:
    """Rate and time of the phase `index`; None where they are no numbers."""
    pair = cells[2 + 2 * index : 4 + 2 * index]
    if len(pair) != 2 or not all(map(_NUMBER.fullmatch, pair)):
        return None
    return float(pair[0]), float(pair[1])


def _rows(file: _File, cells: list[str], iteration: int, whose: str, items: int) -> list[Row]:
    rows = []
    for index, name in enumerate(_PHASES):
        test, pair = phase_name(*name.split()), _pair(cells, index)
        if test == _READS_NOTHING or cells[2 + 2 * index : 4 + 2 * index] == ["", ""]:
            continue
        if not pair or abs(pair[0] * pair[1] - items) > 1e-8 * items:
            file.warnings.append(f"{test} of {cells[0]}, iteration {iteration}: not of {items} items")
            continue
        rows.append(rate_row(test, file.ranks, iteration, pair[0], whose))
        rows.append(Row(test, file.ranks, iteration, "time", "s", pair[1], whose))
    return rows
