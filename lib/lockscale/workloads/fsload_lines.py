# SPDX-License-Identifier: MIT
"""Reads the JSON lines of fsload.

Every derived number is printed beside what it was derived from and is computed again here, so a
damaged number does not pass. A phase counts only when it is whole.
"""

import json
import math
from typing import Any, NoReturn, TypeVar

from lockscale.errors import BadInput
from lockscale.workloads.rows import Parsed, Row, rate_row

TOOL = "fsload"
VERSIONS = ("0.1.0",)
# The test cases of lib/fsload and what each one times. An operation is a file created, removed, or
# grown to 1 MiB; 8 KiB appended by fallocate(); a file made shorter by one byte.
PHASES = {
    "append_files": ("append", "remove"),
    "create_unlink": ("create", "remove"),
    "fallocate2": ("fallocate",),
    "truncate_orphan": ("truncate",),
}
MAX_PROCESSES = 4096  # lib/fsload/fsload.c takes no more

Line = dict[str, Any]


def recognise(text: str) -> bool:
    """Whether the first line is fsload's."""
    return text.lstrip().startswith('{"tool":"fsload"')


def parse(text: str) -> Parsed:
    """Rows of one run: per phase `total`, `slowest_rank` and `rank<k>`, in ops/s, iteration 1."""
    lines, warnings = _json_lines(text)
    if not lines or lines[0].get("tool") != TOOL:
        raise BadInput("this is not fsload's output: its first line does not name the tool")
    header = lines[0]
    version = _field(header, "version", str)
    if version not in VERSIONS:
        raise BadInput(f"fsload {version} is not known: this reads {', '.join(VERSIONS)}")
    rows: list[Row] = []
    for name in _phases(header, lines[1:]):
        phase = [line for line in lines[1:] if line["phase"] == name]
        found = _phase_rows(header, name, phase)
        if not found:
            warnings.append(f"phase {name} is not whole and is left out")
        rows += found
    if not rows:
        raise BadInput("fsload's output has no whole phase: it was cut short, run it again")
    return Parsed(TOOL, version, tuple(rows), tuple(warnings))


def _phases(header: Line, lines: list[Line]) -> list[str]:
    test, names = _field(header, "test", str), _field(header, "phases", list)
    if test not in PHASES:
        raise BadInput(f"fsload's test {test!r} is not known: this reads {', '.join(PHASES)}")
    if names not in [list(PHASES[test]), *([name] for name in PHASES[test])]:
        raise BadInput(f"fsload's first line does not name phases of {test}")
    strange = [line for line in lines if line.get("phase") not in names]
    if strange:
        raise BadInput("fsload's output has a line that belongs to none of its phases")
    return names


def _phase_rows(header: Line, name: str, lines: list[Line]) -> list[Row]:
    """Rows of one phase, none when lines are missing; BadInput when its numbers disagree."""
    processes = _field(header, "processes", int)
    if not 1 <= processes <= MAX_PROCESSES:
        raise BadInput(f"fsload cannot have run {processes} processes: its output is damaged")
    workers = {_field(line, "process", int): line for line in lines if "process" in line}
    summaries = [line for line in lines if line.get("summary") is True]
    if len(workers) + len(summaries) != len(lines) or len(summaries) > 1:
        raise BadInput(f"fsload's phase {name} has a repeated or a strange line")
    if sorted(workers) != list(range(processes)) or not summaries:
        if max(workers, default=0) >= processes:
            raise BadInput(f"fsload's phase {name} has more processes than its first line says")
        return []
    ranks = [_process_rate(workers[k], _field(header, "items", int)) for k in range(processes)]
    total, slowest = _summary_rates(summaries[0], list(workers.values()))
    return [
        rate_row(name, processes, 1, total, "total"),
        rate_row(name, processes, 1, slowest, "slowest_rank"),
        *(rate_row(name, processes, 1, rate, f"rank{k}") for k, rate in enumerate(ranks)),
    ]


def _process_rate(line: Line, items: int) -> float:
    ready, start, end = (_field(line, key, int) for key in ("ready_ns", "start_ns", "end_ns"))
    if not ready <= start < end or _field(line, "count", int) != items:
        _disagree("a process's times or counts")
    _same(line, "seconds", (end - start) / 1e9)
    return items * 1e9 / (end - start)


def _summary_rates(summary: Line, workers: list[Line]) -> tuple[float, float]:
    """Rates in ops/s: from the first start to the last end, and slowest process x processes."""
    count = sum(line["count"] for line in workers)
    span_ns = max(line["end_ns"] for line in workers) - min(line["start_ns"] for line in workers)
    slowest_ns = max(line["end_ns"] - line["start_ns"] for line in workers)
    if _field(summary, "count", int) != count:
        _disagree("the counts")
    _same(summary, "seconds", span_ns / 1e9)
    return (
        _same(summary, "rate_per_s", count * 1e9 / span_ns),
        _same(summary, "rate_slowest_rank_per_s", count * 1e9 / slowest_ns),
    )


def _same(line: Line, key: str, expected: float) -> float:
    """The printed number, which must be the expected one to the last digit printed."""
    printed = _field(line, key, float)
    half_a_digit = 0.51e-9 if key == "seconds" else 0.51e-3
    if not math.isclose(printed, expected, rel_tol=1e-12, abs_tol=half_a_digit):
        _disagree(key)
    return printed


def _disagree(what: str) -> NoReturn:
    raise BadInput(f"fsload's output is damaged: {what} and the other numbers do not agree")


T = TypeVar("T")


def _field(line: Line, key: str, kind: type[T]) -> T:
    value = line.get(key)
    if type(value) is not kind or (isinstance(value, int) and not 0 <= value < 1 << 63):
        raise BadInput(f"fsload's output has a line without {key}, or with a strange one")
    return value


def _json_lines(text: str) -> tuple[list[Line], list[str]]:
    """The objects, one a line; a last line that was cut is dropped with a warning."""
    lines = [line for line in text.split("\n") if line.strip()]
    objects: list[Line] = []
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line, parse_constant=_refuse_constant, object_pairs_hook=_unique)
        except (ValueError, RecursionError):
            if number == len(lines) and objects:
                return objects, ["the output ends in the middle of a line"]
            raise BadInput(f"line {number} of fsload's output is not JSON") from None
        if not isinstance(value, dict):
            raise BadInput(f"line {number} of fsload's output is not a JSON object")
        objects.append(value)
    return objects, []


def _unique(pairs: list[tuple[str, Any]]) -> Line:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
