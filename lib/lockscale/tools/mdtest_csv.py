# SPDX-License-Identifier: MIT
"""mdtest's csv of rank details (--saveRankPerformanceDetails, 4.0.0rc1 and later).

The row `all` is of the first iteration: all items / the slowest rank's time, and `items` is what one rank
had. Then come the ranks of the first iteration, of the second, and so on: each rank's own items / its time
up to the barrier. The file says neither its version nor its iterations. For the creation and stat of
directories `all` counts one rank's items only: mdtest writes two elements past `time_before_barrier` into
`items` (4.0.0; mended in IOR's e311a95, May 2024).
"""

import re

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


def parse(text: str) -> Parsed:
    """`rank<k>` in each iteration and `slowest_rank` in the first: rates in ops/s, times in s."""
    lines = [line.rstrip("\r").split(",") for line in text.split("\n")]
    if lines[0] != _HEADER or len(lines) < 3 or lines[1][:1] != ["all"]:
        raise BadInput(
            "mdtest's CSV lacks its header, the row of all ranks or rows of ranks: give the whole file"
        )
    total, of_ranks = lines[1], [line for line in lines[2:] if line != [""]]
    if len(total) != len(_HEADER) or not re.fullmatch(r"[1-9]\d{0,14}", total[1]):
        raise BadInput("the row of all ranks in mdtest's CSV is damaged: give the whole file")
    items, ranks = int(total[1]), _ranks(total)
    if [cells[0] for cells in of_ranks] != [str(number % ranks) for number in range(len(of_ranks))]:
        raise BadInput("the ranks in mdtest's CSV are not in order: rows are missing or moved")
    if len({tuple(cells) for cells in of_ranks}) != len(of_ranks):
        raise BadInput("a row of mdtest's CSV appears twice")
    done = len(of_ranks) // ranks
    warnings = [f"the file does not say how many iterations ran: it has {done} complete ones"]
    rows = _csv_rows(total, ranks, 1, "slowest_rank", items * ranks, warnings)
    for number, cells in enumerate(of_ranks):
        iteration, rank = divmod(number, ranks)
        rows += _csv_rows(cells, ranks, iteration + 1, f"rank{rank}", items, warnings)
    return parsed(TOOL, rows, warnings, CSV_VERSION)


def _ranks(total: list[str]) -> int:
    """How many ranks shared the items of `all`, by the phases for which it is right."""
    found = set()
    for index, name in enumerate(_PHASES):
        pair = _pair(total, index)
        if pair and name not in ("Directory creation", "Directory stat"):
            found.add(round(pair[0] * pair[1] / int(total[1]), 6))
    if len(found) != 1 or not (ranks := found.pop()).is_integer() or not ranks:
        raise BadInput("the row of all ranks in mdtest's CSV does not say how many ranks there were")
    return int(ranks)


def _pair(cells: list[str], index: int) -> tuple[float, float] | None:
    """Rate and time of the phase `index`; None where they are no numbers."""
    pair = cells[2 + 2 * index : 4 + 2 * index]
    if len(pair) != 2 or not all(map(_NUMBER.fullmatch, pair)):
        return None
    return float(pair[0]), float(pair[1])


def _csv_rows(
    cells: list[str], ranks: int, iteration: int, whose: str, items: int, warnings: list[str]
) -> list[ParsedRow]:
    rows = []
    for index, name in enumerate(_PHASES):
        test, pair = phase_of(*name.split()), _pair(cells, index)
        if test in NO_SUCH_PHASE or cells[2 + 2 * index : 4 + 2 * index] == ["", ""]:
            continue
        if not pair or abs(pair[0] * pair[1] - items) > 1e-8 * items:
            warnings.append(f"{test} of {cells[0]}, iteration {iteration}: not of {items} items")
            continue
        rows.append(rate_row(test, ranks, iteration, pair[0], whose))
        rows.append(ParsedRow(test, ranks, iteration, "time", "s", pair[1], whose))
    return rows
