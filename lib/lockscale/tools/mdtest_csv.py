# SPDX-License-Identifier: MIT
"""mdtest's csv of rank details (--saveRankPerformanceDetails, 4.0.0rc1 and later).

The row `all` is of the first iteration: all items / the slowest rank's time, and `items` is what one rank
had. Then come the ranks of the first iteration, of the second, and so on: each rank's own items / its time
up to the barrier. The file says neither its version nor its iterations. For the creation and stat of
directories `all` counts one rank's items only: mdtest writes two elements past `time_before_barrier` into
`items` (4.0.0; mended in IOR's e311a95, May 2024).
"""

import re
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.tools.mdtest_command import NO_SUCH_PHASE, TOOL, phase_of
from lockscale.tools.parsed_rows import Parsed, ParsedRow, parsed, rate_row

CSV_VERSION = "4.x"
CSV_START = "rank,items,rate-Directory creation,time-Directory creation,"
_PHASES = [
    *(f"Directory {name}" for name in ("creation", "stat", "read", "rename", "removal")),
    *(f"File {name}" for name in ("creation", "stat", "read", "removal")),
]
_HEADER = [
    "rank",
    "items",
    *(f"{m}-{name}" for name in [*_PHASES, "Tree creation", "Tree removal"] for m in ("rate", "time")),
]
_NUMBER = re.compile(r"\d\.\d{10}e[-+]\d\d")


@dataclass
class _RanksCsv:
    """What one rank had to do, how many ranks there were, and the rows of all and of ranks in order."""

    items: int
    ranks: int
    all: list[str]
    lines: list[list[str]]
    warnings: list[str]


def parse(text: str) -> Parsed:
    """`rank<k>` in each iteration and `slowest_rank` in the first: rates in ops/s, times in s."""
    file = _read_csv(text)
    rows = _csv_rows(file, file.all, 1, "slowest_rank", file.items * file.ranks)
    for number, cells in enumerate(file.lines):
        iteration, rank = divmod(number, file.ranks)
        rows += _csv_rows(file, cells, iteration + 1, f"rank{rank}", file.items)
    return parsed(TOOL, rows, file.warnings, CSV_VERSION)


def _read_csv(text: str) -> _RanksCsv:
    lines = [line.rstrip("\r").split(",") for line in text.split("\n")]
    if lines[0] != _HEADER or len(lines) < 3 or lines[1][:1] != ["all"]:
        raise BadInput(
            "mdtest's CSV lacks its header, the row of all ranks or rows of ranks: give the whole file"
        )
    total, ranks = lines[1], [line for line in lines[2:] if line != [""]]
    if len(total) != len(_HEADER) or not re.fullmatch(r"[1-9]\d{0,14}", total[1]):
        raise BadInput("the row of all ranks in mdtest's CSV is damaged: give the whole file")
    file = _RanksCsv(int(total[1]), 0, total, ranks, [])
    file.ranks = _ranks(file)
    if [cells[0] for cells in ranks] != [str(number % file.ranks) for number in range(len(ranks))]:
        raise BadInput("the ranks in mdtest's CSV are not in order: rows are missing or moved")
    if len({tuple(cells) for cells in ranks}) != len(ranks):
        raise BadInput("a row of mdtest's CSV appears twice")
    done = len(ranks) // file.ranks
    file.warnings.append(f"the file does not say how many iterations ran: it has {done} complete ones")
    return file


def _ranks(file: _RanksCsv) -> int:
    """How many ranks shared the items of `all`, by the phases for which it is right."""
    found = set()
    for index, name in enumerate(_PHASES):
        pair = _pair(file.all, index)
        if pair and name not in ("Directory creation", "Directory stat"):
            found.add(round(pair[0] * pair[1] / file.items, 6))
    if len(found) != 1 or not (ranks := found.pop()).is_integer() or not ranks:
        raise BadInput("the row of all ranks in mdtest's CSV does not say how many ranks there were")
    return int(ranks)


def _pair(cells: list[str], index: int) -> tuple[float, float] | None:
    """Rate and time of the phase `index`; None where they are no numbers."""
    pair = cells[2 + 2 * index : 4 + 2 * index]
    if len(pair) != 2 or not all(map(_NUMBER.fullmatch, pair)):
        return None
    return float(pair[0]), float(pair[1])


def _csv_rows(file: _RanksCsv, cells: list[str], iteration: int, whose: str, items: int) -> list[ParsedRow]:
    rows = []
    for index, name in enumerate(_PHASES):
        test, pair = phase_of(*name.split()), _pair(cells, index)
        if test in NO_SUCH_PHASE or cells[2 + 2 * index : 4 + 2 * index] == ["", ""]:
            continue
        if not pair or abs(pair[0] * pair[1] - items) > 1e-8 * items:
            file.warnings.append(f"{test} of {cells[0]}, iteration {iteration}: not of {items} items")
            continue
        rows.append(rate_row(test, file.ranks, iteration, pair[0], whose))
        rows.append(ParsedRow(test, file.ranks, iteration, "time", "s", pair[1], whose))
    return rows
