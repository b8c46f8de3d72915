# SPDX-License-Identifier: MIT
"""The arithmetic of a table of one's own: a CSV in the layout of data/published."""

import csv
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from lockscale.errors import BadInput, printable
from lockscale.tables.claim import AuditRow
from lockscale.tables.datapackage import list_tables
from lockscale.tables.function_costs import Cost, total_is_count_times_average
from lockscale.tables.percentages import PercentChange, change, how_printed

_LONG = ("arm", "threads", "metric", "statistic", "unit", "value")
_COSTS = ("function", "total_us", "count", "avg_us")
_NUMBER = re.compile(r"[+-]?([0-9]{1,31}|[0-9]{1,3}(,[0-9]{3}){1,9})(\.[0-9]{1,15})?")

Record = dict[str, str]
Records = dict[int, Record]  # by the row as an editor counts it, header and all
Point = tuple[str, str, str]  # arm, threads, metric
Value = tuple[str, str]  # digits, unit


def own_path(name: str) -> Path | None:
    """The file that a table's name stands for: it is there, or could only be one; else None."""
    path = Path(name)
    could_only_be = "." in name or "/" in name
    return path if could_only_be or (name not in list_tables() and path.is_file()) else None


def audit_file(path: Path) -> list[AuditRow]:
    """Each change in % against its two values; or each total time against count x average.

    Long form: arm, threads, metric, statistic, unit, value, and `printed` where the digits differ; a
    change has unit %, statistic vs_ARM (or vs_ an `arm_published` in lower case) and its value's metric,
    with or without `_change`. Function costs: function, total_us, count, avg_us.

    Raises BadInput where the file is neither, or a change has no two numbers to come from.
    """
    records = _read(path)
    columns = set(next(iter(records.values())))
    if set(_COSTS) <= columns:
        return [total_is_count_times_average(path.name, _costs(path, records))]
    if not set(_LONG) <= columns:
        raise BadInput(f"{path} {_lacks(columns)}")
    changes = _changes(path, records)
    if not changes:
        raise BadInput(f"{path} has no change to check: a row with unit % and statistic vs_ARM")
    return how_printed(path.name, changes)


def _lacks(columns: set[str]) -> str:
    has = [", ".join(name for name in wanted if name not in columns) for wanted in (_LONG, _COSTS)]
    return (
        f"lacks the columns {has[0]} of a table of changes, and {has[1]} of function costs: add those of one "
        "kind as in data/published, or use `lockscale fit` for rates against threads"
    )


def _read(path: Path) -> Records:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names, *rows = list(csv.reader(file, strict=True)) or [[]]
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; name a published table or a CSV file") from error
    except (ValueError, csv.Error) as error:
        raise BadInput(f"{path} is not CSV in UTF-8 ({error})") from error
    if twice := [name for name, times in Counter(names).items() if name and times > 1]:
        raise BadInput(
            f"{path}, row 1 names column {printable(twice[0])!r} twice: give each a different name"
        )
    for number, cells in enumerate(rows, start=2):
        if cells and len(cells) != len(names):
            raise BadInput(
                f"{path}, row {number} has more or fewer cells than the header: quote text with commas"
            )
    found = {n: dict(zip(names, cells, strict=True)) for n, cells in enumerate(rows, start=2) if cells}
    if not found:
        raise BadInput(f"{path} has no rows below its header")
    return found


def _costs(path: Path, records: Records) -> dict[str, Cost]:
    found = {}
    for line, record in records.items():
        total, count, average = (_digits(path, line, record[column]) for column in _COSTS[1:])
        name = record["function"]
        if name in found:
            raise BadInput(f"{path}, row {line}: {printable(name)!r} appears twice: leave one row of it")
        if float(count) < 1:
            raise BadInput(f"{path}, row {line}: {printable(name)!r} has no calls: leave out its row")
        decimals = len(average.partition(".")[2])
        found[name] = Cost(round(float(total)), round(float(count)), float(average), decimals)
    return found


def _changes(path: Path, records: Records) -> list[PercentChange]:
    values: dict[Point, list[Value]] = defaultdict(list)
    published = {record.get("arm_published", "").casefold(): record["arm"] for record in records.values()}
    arm_of = {name: arm for name, arm in published.items() if name}
    asked = []
    for line, record in records.items():
        text = _digits(path, line, (record.get("printed") or record["value"]).removesuffix("%"))
        point = (record["arm"], record["threads"], record["metric"].removesuffix("_change"))
        if record["unit"] == "%" and record["statistic"].startswith("vs_"):
            base = record["statistic"].removeprefix("vs_")
            asked.append((line, point, arm_of.get(base, base), text))
        else:
            values[point].append((text, record["unit"]))
    return [_change(path, line, point, base, text, values) for line, point, base, text in asked]


def _change(
    path: Path, line: int, point: Point, base: str, text: str, values: dict[Point, list[Value]]
) -> PercentChange:
    arm, threads, metric = point
    of_base, of_arm = values[base, threads, metric], values[point]
    if len(of_base) != 1 or len(of_arm) != 1:
        said = [printable(one) for one in (metric, threads, base, arm)]
        wanted = "one {} at {} for {} and one for {}".format(*said)
        raise BadInput(f"{path}, row {line}: a change needs {wanted}, not {len(of_base)} and {len(of_arm)}")
    (before, unit), (after, unit_after) = of_base[0], of_arm[0]
    if float(before) <= 0:
        raise BadInput(f"{path}, row {line}: {printable(base)} is {before}; a change needs a base above 0")
    if unit != unit_after:
        units = f"{printable(unit)} and {printable(unit_after)}"
        raise BadInput(f"{path}, row {line}: a change between {units}: write both values in one unit")
    return change(f"{metric} of {arm} at {threads}", text, before, after)


def _digits(path: Path, line: int, text: str) -> str:
    """The digits of a printed number, without thousands separators."""
    if not _NUMBER.fullmatch(text.strip()):
        raise BadInput(f"{path}, row {line}: {printable(text)!r} is not a number written in digits")
    return text.strip().replace(",", "")


WIDTH = 100
_CLAIM = 40
_LINE = "{:<7}  {:<40}  {:>8}  {:>10}  {:>16}  {}"
_HEAD = _LINE.format("verdict", "claim", "claimed", "recomputed", "low .. high", "unit").rstrip()


def audit_text(rows: Iterable[AuditRow]) -> str:
    """Verdict, claim and numbers of each row, its note below; then how many hold, fail, are unknown."""
    rows = list(rows)
    if not rows:
        return "no claims"
    blocks = [_block(table, list(lines)) for table, lines in groupby(rows, key=lambda row: row["table"])]
    count = Counter(row["verdict"] for row in rows)
    return "\n\n".join([*blocks, f"{count['holds']} hold, {count['fails']} fail, {count['unknown']} unknown"])


def _block(table: str, rows: list[AuditRow]) -> str:
    searched = dict.fromkeys(row["searched"] for row in rows if row["searched"])
    parts = [table, _HEAD, *(_lines(row) for row in rows)]
    parts += [textwrap.fill(f"Searched for what is not stated: {source}", WIDTH) for source in searched]
    return "\n".join(parts)


def _lines(row: AuditRow) -> str:
    claim, *more = textwrap.wrap(_shown(row["claim"]), _CLAIM, break_on_hyphens=False)
    ends = "-" if row["low"] is None else f"{_number(row['low'])} .. {_number(row['high'])}"
    cells = (row["verdict"], claim, _number(row["printed"]), _number(row["recomputed"]), ends, row["unit"])
    first = _LINE.format(*cells).rstrip()
    note = textwrap.wrap(
        _shown(row["note"]),
        WIDTH - 13,
        initial_indent=" " * 13,
        subsequent_indent=" " * 13,
        break_on_hyphens=False,
    )
    return "\n".join([first, *(" " * 9 + part for part in more), *note])


def _shown(text: str) -> str:
    """A claim or a note without what would steer a terminal: a function in it may be called anything."""
    return printable(text, 4000)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
