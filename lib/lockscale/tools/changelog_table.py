# SPDX-License-Identifier: MIT
"""Tables of measurements as kernel changelogs print them: a column for each kernel, a row for each load.

Two shapes: columns of times under `Threads Time Time Time` (ext4's orphan file) and pipe tables with
changes in % (one of block allocation). What the numbers are stands in the prose around a
table, so give that too. Published tables are text: there is nothing to run here.

In pipe tables the changes in % check the values beside them. One shape has a column for each number of
containers: `| - | 1 | 2 |`, then a line of values for each kernel and below it its changes against the
first. The other has a block for each processor: `|CPU: ... | P80 | P1 |`, and for each setting `|
before | after (+2.5%) |` under each number of processes.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.tools.parsed_rows import (
    LOST_ROWS,
    NOT_STATED,
    Parsed,
    ParsedRow,
    change_fits,
    decimals,
    parsed,
    runs_averaged,
)

_PIPE_COUNTS = re.compile(r"^ *\| *- *(?:\| *[0-9]{1,6} *){2,}\| *$", re.MULTILINE)
_PROCESSOR = re.compile(r"^ *\|? *CPU: [^|]+(?:\| *P[0-9]{1,6} *)+\| *$", re.MULTILINE)
_VALUE = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,3})?")
_CHANGE = re.compile(r"([+-]?[0-9]{1,9}(?:\.[0-9]{1,3})?)%")
_CHANGED = re.compile(rf"({_VALUE.pattern}) +\({_CHANGE.pattern}\)")
_RULE = re.compile(r"-{3,}")
_PER_CONTAINER = "operations per container per second"


@dataclass
class _Arm:
    """One kernel's values, and below them its changes, by column; names may go on below."""

    line: int
    name: str
    values: list[str]
    changes: list[str] | None = None


@dataclass(frozen=True)
class _Prose:
    """What the prose says that the numbers are."""

    load: str
    unit: str
    statistic: str

    def row(self, test: str, threads: int, value: str, arm: str) -> ParsedRow:
        return ParsedRow(test, threads, None, "rate", self.unit, float(value), self.statistic, arm)

    def change(self, test: str, threads: int, value: str, arm: str) -> ParsedRow:
        return ParsedRow(test, threads, None, "rate", "%", float(value), "change", arm)


def pipe_rows(lines: Sequence[str], load: str) -> tuple[list[ParsedRow], list[str]]:
    """Rows and warnings of all pipe tables among the lines."""
    per_container = _PER_CONTAINER in " ".join(" ".join(lines).split())
    prose = _Prose(load, *(("ops/s", "per_container") if per_container else (NOT_STATED, NOT_STATED)))
    tables: list[dict[int, str]] = [{}]
    for number, line in enumerate(lines, 1):
        if "|" not in line or _heads_block(line):
            tables.append({})
        if "|" in line:
            tables[-1][number] = line
    warnings: list[str] = []
    return [row for table in tables if table for row in _table(table, prose, warnings)], warnings


def _heads_block(line: str) -> bool:
    return _PROCESSOR.fullmatch(line) is not None


def _split(line: str) -> list[str]:
    """The cells; none of a line that was cut, which is then not understood."""
    if not line.rstrip().endswith("|"):
        return [""]
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _table(lines: dict[int, str], prose: _Prose, warnings: list[str]) -> list[ParsedRow]:
    """The rows of lines with pipes, by their numbers, that follow each other without a gap."""
    cells = [(number, _split(line)) for number, line in lines.items()]
    body = [of for of in cells if not all(_RULE.fullmatch(cell) for cell in of[1])]
    if len(lines) > 3 and _heads_block(lines[cells[0][0]]):
        return _block(cells, prose, warnings)
    heads = [k for k, (number, _) in enumerate(body) if _PIPE_COUNTS.fullmatch(lines[number])]
    if heads == [0]:
        return _arm_columns(body, prose, warnings)
    if any(of[0].startswith("Memory:") for _, of in body):
        raise BadInput(
            f"line {body[0][0]}: the changelog's table has no `CPU:` line above it, so columns may be shifted"
        )
    warnings += [f"line {number} is not understood and is left out" for number, _ in body]
    return []


def _arm_columns(body: list[tuple[int, list[str]]], prose: _Prose, warnings: list[str]) -> list[ParsedRow]:
    """The shape with a column for each number of containers."""
    counts = [int(cell) for cell in body[0][1][1:]]
    if len(set(counts)) < len(counts):
        raise BadInput("two columns of the changelog's table have the same number of containers")
    arms: list[_Arm] = []
    for number, (name, *of_line) in body[1:]:
        changes = [_CHANGE.fullmatch(cell) for cell in of_line]
        if len(of_line) == len(counts) and all(_VALUE.fullmatch(cell) for cell in of_line):
            arms.append(_Arm(number, name, of_line))
        elif len(of_line) == len(counts) and all(changes) and arms and arms[-1].changes is None:
            arms[-1].changes = [change[1] for change in changes if change]
            arms[-1].name += name
        else:
            warnings.append(f"line {number} is not understood and is left out")
    if len({arm.name for arm in arms}) < len(arms):
        raise BadInput("two rows of the changelog's table have the same name: give one table at a time")
    return list(_compared(arms, counts, prose, warnings))


def _compared(arms: list[_Arm], counts: list[int], prose: _Prose, warnings: list[str]) -> Iterable[ParsedRow]:
    """Each column of each arm whose change agrees with the first arm; the first where any one does."""
    if not arms or arms[0].changes is not None:
        warnings.append("the first row of a table is missing or has changes in percent: there is no base")
        return
    base, *others = arms
    if not others:
        warnings.append(f"line {base.line} is left out: no other row is compared with it")
    changed = {arm.name: arm.changes or [""] * len(counts) for arm in others}
    for k, threads in enumerate(counts):
        agree = [a for a in others if _agrees(base.values[k], a.values[k], changed[a.name][k])]
        for arm in others:
            if arm not in agree:
                warnings.append(f"line {arm.line}, column {threads}: the change does not fit or is missing")
        if agree:
            yield prose.row(prose.load, threads, base.values[k], base.name)
        for arm in agree:
            yield prose.row(prose.load, threads, arm.values[k], arm.name)
            yield prose.change(prose.load, threads, changed[arm.name][k], arm.name)


def _agrees(before: str, after: str, change: str) -> bool:
    return bool(change) and change_fits(before, after, change)


def _block(cells: list[tuple[int, list[str]]], prose: _Prose, warnings: list[str]) -> list[ParsedRow]:
    """The shape with a block for each processor: three lines of heading, a rule, the rows."""
    (first, (processor, *groups)), (_, memory), (_, (_, *arms)), (_, rule), *body = cells
    each = len(arms) // len(groups)
    alike = [arms[k : k + each] for k in range(0, len(arms), max(each, 1))]
    whole_head = memory[0].startswith("Memory:") and all(
        _RULE.fullmatch(cell) for cell in [*memory[1:], *rule]
    )
    if not whole_head or each < 2 or any(of != alike[0] for of in alike) or len(set(alike[0])) < each:
        warnings.append(f"the table of line {first} is left out: its heading is damaged")
        return []
    counts = [int(group.removeprefix("P")) for group in groups]
    if len(set(counts)) < len(counts):
        raise BadInput(
            f"line {first}: two columns of the changelog's table have the same number of processes"
        )
    name = processor.removeprefix("CPU:").strip()
    found: list[ParsedRow] = []
    for number, (label, *values) in body:
        if len(values) != len(arms) or not re.fullmatch(r"[a-z_]+=[0-9]{1,4}|[a-z_]+", label):
            warnings.append(f"line {number} is not understood and is left out")
            continue
        for k, threads in enumerate(counts):
            of_group = _group(f"{label} on {name}", threads, arms[:each], values[k * each :][:each], prose)
            if not of_group:
                warnings.append(f"line {number}, P{threads}: the change does not fit or is missing")
            found += of_group
    return found


def _group(test: str, threads: int, arms: list[str], values: list[str], prose: _Prose) -> list[ParsedRow]:
    """Before and after under one number of processes; none unless every change fits."""
    changed = [_CHANGED.fullmatch(value) for value in values[1:]]
    if not _VALUE.fullmatch(values[0]) or not all(of and _agrees(values[0], of[1], of[2]) for of in changed):
        return []
    found = [prose.row(test, threads, values[0], arms[0])]
    for arm, of in zip(arms[1:], changed, strict=True):
        assert of is not None
        found += [prose.row(test, threads, of[1], arm), prose.change(test, threads, of[2], arm)]
    return found


TOOL = "changelog-table"
_HEAD = re.compile(r"^(?:Threads|Processes|Clients)((?: +[A-Z][a-z]+){2,}) *$", re.MULTILINE)
_ROW = re.compile(r" *([0-9]{1,6})((?: +[0-9]{1,9}\.[0-9]{1,9})+) *")
_LOADS = {"stress-orphan": "stress-orphan", "will-it-scale/fallocate2": "fallocate2"}


def recognise(text: str) -> bool:
    """Whether there is the heading of any shape."""
    return bool(_HEAD.search(text.expandtabs()) or _PIPE_COUNTS.search(text) or _PROCESSOR.search(text))


def parse(text: str) -> Parsed:
    """Values by kernel (`arm`) and, of pipe tables, the changes in % beside them.

    Times have no unit and `mean_of_<n>` where the text says `average of n runs`. Pipe tables have
    `per_container` and ops/s where the text says so, else neither. `test` is the load, if the text
    names one that is known, and in tables of several machines the row's name and the processor.
    """
    lines = text.expandtabs().splitlines()
    load = _load(text)
    times, warnings = _times(lines, load, runs_averaged(text))
    piped, more = pipe_rows(lines, load)
    rows = [*times, *piped]
    if len({(row.test, row.threads, row.arm, row.unit) for row in rows}) < len(rows):
        raise BadInput("two tables in this text have rows of the same name: give one table at a time")
    return parsed(TOOL, rows, [*warnings, *more, *[LOST_ROWS] * bool(rows)])


def _load(text: str) -> str:
    """The load that the prose names, if it names just one of those that are known."""
    named = {load for name, load in _LOADS.items() if re.search(rf"\b{name}\b", text)}
    return named.pop() if len(named) == 1 else NOT_STATED


def _times(lines: Sequence[str], load: str, statistic: str) -> tuple[list[ParsedRow], list[str]]:
    """Rows and warnings of the table under `Threads Time Time`; the next line names the columns."""
    rows: list[ParsedRow] = []
    warnings: list[str] = []
    for at, line in enumerate(lines):
        if _HEAD.fullmatch(line):
            metrics, arms = _columns(line, lines[at + 1] if at + 1 < len(lines) else "")
            body = [*enumerate(lines[at + 2 :], at + 3), (0, "")]
            body = body[: [not below.strip() for _, below in body].index(True)]
            rows += _body(body, load, metrics, arms, statistic, warnings)
    return rows, warnings


def _columns(head: str, names: str) -> tuple[list[str], list[str]]:
    """Metric and arm of each column; a name begins below its heading."""
    starts = [found.start() for found in re.finditer(r"\S+", head)][1:]
    arms = [names[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
    if any(not re.match(r"\s\S", names[a - 1 :]) or "  " in arm for a, arm in zip(starts, arms, strict=True)):
        raise BadInput(
            "the name of a column of the changelog's table does not start below its heading: move it there"
        )
    if names[: starts[0]].strip() or not all(re.match("[A-Za-z]", arm) for arm in arms):
        raise BadInput("the columns of the changelog's table have no names below their heading: add them")
    if len(set(arms)) < len(arms):
        raise BadInput("two columns of the changelog's table have the same name: rename one")
    return [metric.lower() for metric in head.split()[1:]], arms


def _body(
    body: Sequence[tuple[int, str]],
    load: str,
    metrics: list[str],
    arms: list[str],
    statistic: str,
    warnings: list[str],
) -> list[ParsedRow]:
    found = [(number, _ROW.fullmatch(line)) for number, line in body]
    values = {number: match[2].split() for number, match in found if match}
    digits = max((decimals(value) for of in values.values() for value in of), default=0)
    rows = []
    for number, match in found:
        of_line = values.get(number, [])
        if match is None or len(of_line) != len(arms) or {decimals(value) for value in of_line} != {digits}:
            warnings.append(f"line {number} is left out: it is not a row of the table above")
            continue
        rows += [
            ParsedRow(load, int(match[1]), None, metric, NOT_STATED, float(value), statistic, arm)
            for metric, value, arm in zip(metrics, of_line, arms, strict=True)
        ]
    return rows
