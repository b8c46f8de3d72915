# SPDX-License-Identifier: MIT
"""Comparison tables as mmtests' compare-kernels prints them, whole or quoted in a changelog.

A row is a statistic and an operation (or a test and its number of clients), then for each kernel
`value ( change%)`, the first one's 0.00%; `* 20.78%*` is significant by Welch's test. Above zero is
better, so for a time the sign is turned round. mmtests does not print units, nor what the number in an
operation counts. It is no load generator: there is nothing to run here.
"""

import re

from lockscale.errors import BadInput
from lockscale.tools.mail_text import lines_of
from lockscale.tools.parsed_rows import (
    LOST_ROWS,
    NOT_STATED,
    Parsed,
    ParsedRow,
    change_fits,
    parsed,
    runs_averaged,
    whole,
)

TOOL = "mmtests"
_STATISTIC = r"B?[AHG]?[Mm]ean(?:-[0-9]{1,2})?|Min|Max(?:-[0-9]{1,3})?|Stddev|CoeffVar|(?:1st|2nd|3rd)-qrtle"
_CELL = re.compile(
    r" *([0-9]{1,12}\.[0-9]{2,6}) (?:\( *(-?[0-9]{1,9}\.[0-9]{2})%\)|\* *(-?[0-9]{1,9}\.[0-9]{2})%\*)"
)
_ROW = re.compile(rf" *(?:({_STATISTIC}) +)?(\S+)((?: {_CELL.pattern}){{2,}}) *")
_FIRST = re.compile(rf"^{_ROW.pattern}$", re.MULTILINE)
_COUNTED = ("Clients", "Threads", "Processes", "Users")
_NAME = re.compile(r"(\S+)(?: \(([^()]+)\))?")


def recognise(text: str) -> bool:
    """Whether there is a row whose first value is the one compared with."""
    plain = "\n".join(one.text for one in lines_of(text))
    return any(_cells(row)[0][1:] == ("0.00", False) for row in _FIRST.finditer(plain))


def parse(text: str) -> Parsed:
    """Per kernel (`arm`) the values, with mmtests' name of the statistic, and the changes in %.

    `hmean`, ... or, where a row has no statistic, `mean_of_<n>` if the text says so; their changes are
    `hmean_change`, `hmean_change_starred`, or `change` where the statistic is not stated.
    """
    lines = [one.text for one in lines_of(text)]
    found, warnings = _table(lines)
    arms, unit, is_counted = _head(lines, found[0][0], len(_cells(found[0][1])))
    rows: list[ParsedRow] = []
    seen: set[tuple[str, str]] = set()
    for number, row in found:
        if (row[1], row[2]) in seen:
            raise BadInput(f"line {number} repeats a row of mmtests' table: give one table at a time")
        seen.add((row[1], row[2]))
        why = _fault(row, len(arms))
        if why:
            warnings.append(f"line {number} is left out: {why}")
        else:
            rows += _rows(row, arms, unit, is_counted, runs_averaged(text))
    return parsed(TOOL, rows, [*warnings, LOST_ROWS])


def _cells(row: re.Match[str]) -> list[tuple[str, str, bool]]:
    """Each kernel's value and change as printed, and whether it is starred."""
    return [(value, plain or starred, bool(starred)) for value, plain, starred in _CELL.findall(row[3])]


def _table(lines: list[str]) -> tuple[list[tuple[int, re.Match[str]]], list[str]]:
    """The rows of the first table with their line numbers; it ends at a line without any %."""
    found: list[tuple[int, re.Match[str]]] = []
    warnings = []
    ended = False
    for number, line in enumerate(lines, 1):
        row = _ROW.fullmatch(line)
        ended |= bool(found) and "%" not in line
        if row and not ended:
            found.append((number, row))
        elif "%" in line and (row or found):
            warnings.append(f"line {number} is left out: it is damaged or from another table")
    if not found:
        raise BadInput("there is no row of an mmtests table, such as: name  1.00 (   0.00%)  1.01 *   1.00%*")
    return found, warnings


def _head(lines: list[str], first: int, columns: int) -> tuple[list[str], str, bool]:
    """The columns' names, their unit, and whether the number in a row's name counts clients.

    As the line above the rows names them, or both lines where that one repeats a name.
    """
    above = [_NAME.findall(line) for line in lines[: first - 1] if line.strip()][-2:]
    names = above[-1] if above else []
    counted = len(names) == columns + 1 and names[0][0] in _COUNTED
    arms = [name for name, _ in names[counted:]]
    units = {unit for _, unit in names[counted:]}
    if len(set(arms)) < len(arms) and len(above) == 2 and len(above[0]) == columns:
        # mmtests splits <version>-<name>; the other way round a line has changed its place
        versions = [name for name, _ in above[0]]
        if all(name[0].isdigit() for name in versions) and not any(name[0].isdigit() for name in arms):
            arms = [f"{version}-{name}" for version, name in zip(versions, arms, strict=True)]
    if len(set(arms)) != columns or len(arms) != columns:
        raise BadInput(
            "the line above mmtests' table does not give each column a different name: add or change names"
        )
    return arms, units.pop() if len(units) == 1 and units != {""} else NOT_STATED, counted


def _fault(row: re.Match[str], columns: int) -> str | None:
    cells = _cells(row)
    if len(cells) != columns:
        return "it has a different number of columns"
    (base, change, starred), others = cells[0], cells[1:]
    if change != "0.00" or starred or any(float(value) == 0 for value, _, _ in cells):
        return "a kernel has no value, or the first one is not the baseline"
    for value, printed, _ in others:
        turned = printed.removeprefix("-") if printed.startswith("-") else f"-{printed}"
        if not change_fits(base, value, printed) and not change_fits(base, value, turned):
            return f"{printed}% is not the change from {base} to {value}"
    return None


def _rows(row: re.Match[str], arms: list[str], unit: str, is_counted: bool, averaged: str) -> list[ParsedRow]:
    test, threads = row[2], None
    if is_counted and (counted := re.fullmatch(r"(\S+)-([0-9]{1,9})", row[2])):
        test, threads = counted[1], whole(counted[2])
    statistic = row[1].lower() if row[1] else averaged
    rate = unit.endswith("/s") or "hmean" in statistic
    metric = "rate" if rate else "value"
    rows = []
    for arm, (value, printed, starred) in zip(arms, _cells(row), strict=True):
        rows.append(ParsedRow(test, threads, None, metric, unit, float(value), statistic, arm))
        if arm != arms[0]:
            change = [*([] if statistic == NOT_STATED else [statistic]), "change", *["starred"] * starred]
            rows.append(ParsedRow(test, threads, None, metric, "%", float(printed), "_".join(change), arm))
    return rows
