# SPDX-License-Identifier: MIT
"""The long-form row that every tool's output becomes, and what readers have in common."""

import json
import re
import shlex
from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

from lockscale.errors import BadInput

NOT_STATED = "not stated"  # a version, unit or statistic that the output leaves out
LOST_LINES = "nothing in the output says how many lines it should have: a lost one cannot be noticed"
LOST_ROWS = "a table does not say how many rows it has: a lost one cannot be noticed"
NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
"""Nanoseconds in each unit of time that tools print; m are minutes."""
MOST_EVENTS = 10**14  # no machine counts so many in its life

_RUNS = re.compile(r"\baverage of ([0-9]{1,4}) runs\b", re.IGNORECASE)
_PROMPT = re.compile(r"(?:\[[^\]]*\] ?)?[#$] +(\S.*)")


@dataclass(frozen=True)
class ParsedRow:
    """One number of one tool.

    `test` is the phase (`create`, `remove`, ...), or the function, lock, event or file that a profiler's
    number is of; `threads` how many processes or threads worked at once (None: the output does not say),
    `iteration` the repeat from 1 on (None: over all repeats), `value` in `unit`. `arm` is the column of a
    table that compares kernels, in the table's own words. `statistic` says whose time it comes from:

    total          operations of all processes / (first start to last end, or one rank's time
                   from barrier to barrier, or the longest process's time, whichever the tool takes)
    slowest_rank   the slowest process's own rate x processes
    fastest_rank   the fastest process's own rate x processes
    rank<k>        process k alone
    rank0_to_barrier   what process 0 did / its time until all were through
    per_container  mean over containers of what each did; `threads` counts the containers
    container<k>   the k-th container alone, all of its workers; `threads` are those of the run
    per_mdt_mean   mean over Lustre's MDTs of what each did; `threads` is that of one MDT
    mdt<k>         the k-th MDT alone, all of its threads
    machine        the whole machine, whoever used it
    <any>_max, _min, _mean, _sd    over iterations, or `ranks_...` over ranks x iterations
                   (of will-it-scale: over seconds)
                   (`ranks_alone_...`: of rank<k>)
    <any>_interval_min, _max       slowest and fastest second, of any one MDT where there are several
    <any>_p<q>, _mean, _max of a latency    over the operations
    mean_of_<n>    over n runs; hmean, amean, stddev, ...: what mmtests calls it
    relative_sd    standard deviation over runs in % of their mean
    change, <any>_change           this arm against the table's first, in % as printed
    change_starred, <any>_...      the same, marked as significant
    """

    test: str
    threads: int | None
    iteration: int | None
    metric: str
    unit: str
    value: float
    statistic: str
    arm: str | None = None


@dataclass(frozen=True)
class Parsed:
    """What was read from one output; `warnings` say what was left out of it and why."""

    tool: str
    version: str
    rows: tuple[ParsedRow, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The value `lockscale parse --json` prints; only the rows of a comparison have an `arm`."""
        rows = [asdict(row) for row in self.rows]
        if all(row.arm is None for row in self.rows):
            for row in rows:
                del row["arm"]
        warnings = list(self.warnings)
        return {"tool": self.tool, "version": self.version, "rows": rows, "warnings": warnings}


def parsed(
    tool: str, rows: Sequence[ParsedRow], warnings: Sequence[str], version: str = NOT_STATED
) -> Parsed:
    """What a load generator printed; BadInput where no row is left, with the first reason."""
    if not rows:
        why = warnings[0] if warnings else "it has no line of results"
        raise BadInput(f"nothing could be read from the output of {tool}: {why}")
    return Parsed(tool, version, tuple(rows), tuple(warnings))


class Number(NamedTuple):
    """One number of a profile; metric: what is counted or timed, or `<function or lock>.<what>`."""

    metric: str
    statistic: str
    unit: str
    value: float


def rate_row(
    test: str, threads: int | None, iteration: int | None, value: float, statistic: str
) -> ParsedRow:
    """A rate in operations per second."""
    return ParsedRow(test, threads, iteration, "rate", "ops/s", value, statistic)


def rows_of(test: str, *numbers: Number) -> list[ParsedRow]:
    """Rows of a profile's numbers; BadInput for more events than there can have been."""
    if any(n.unit == "events" and n.value >= MOST_EVENTS for n in numbers):
        raise BadInput(f"{test[:60]} has an impossibly high count: the output is damaged, read it again")
    return [ParsedRow(test, None, None, n.metric, n.unit, n.value, n.statistic) for n in numbers]


def event_rows(counts: Iterable[tuple[str, int]]) -> tuple[ParsedRow, ...]:
    """A row for each event and how often it happened."""
    return tuple(
        row for name, count in counts for row in rows_of(name, Number("events", "total", "events", count))
    )


def after_prompt(line: str) -> list[str] | None:
    """The words after a shell's prompt (`$`, `#`, `[root@mds ~]#`); None when there is no command."""
    found = _PROMPT.fullmatch(line.strip())
    if found is None:
        return None
    try:
        return shlex.split(found[1])
    except ValueError:
        return None


def lost_lines(asked: Iterable[int] | None, found: Container[int], of: str) -> list[str]:
    """A warning where a line of those that the command asked for is not there, or no command says which."""
    if asked is None:
        return [LOST_LINES]
    lacking = [str(n) for n in asked if n not in found]
    return [f"there is no line for {', '.join(lacking)} {of}"] if lacking else []


def whole(text: str | None, most: int = 10**9) -> int | None:
    """The non-negative number that `text` is, up to `most`; None for anything else."""
    if text is None or not re.fullmatch(r"[0-9]{1,10}", text) or int(text) > most:
        return None
    return int(text)


def decimals(printed: str) -> int:
    """Digits after the decimal point."""
    return len(printed.partition(".")[2])


def with_step(printed: str) -> tuple[float, float]:
    """A printed number, with an exponent or not, and one unit of its last digit."""
    exponent = Decimal(printed).as_tuple().exponent
    return float(printed), float(Decimal(10) ** exponent)  # type: ignore[operator]  # no NaN is printed


def change_fits(unpatched: str, patched: str, change_pct: str) -> bool:
    """Whether `change_pct` can be the change from the one to the other, each rounded or truncated.

    Its author had the numbers in full: each may be off by less than one unit of its last digit.
    """
    (old, of_old), (new, of_new), (change, of_change) = map(with_step, (unpatched, patched, change_pct))
    if old <= of_old or new < 0:
        return False
    low = ((new - of_new) / (old + of_old) - 1) * 100 - of_change
    high = ((new + of_new) / (old - of_old) - 1) * 100 + of_change
    return low <= change <= high


def runs_averaged(text: str) -> str:
    """`mean_of_5` where the text says `average of 5 runs`, once or always alike."""
    counts = set(_RUNS.findall(text))
    return f"mean_of_{counts.pop()}" if len(counts) == 1 else NOT_STATED


def strict_json(text: str, **numbers: Any) -> Any:
    """The value of a JSON text; ValueError also for NaN and Infinity, which JSON has not, and for lost lines.

    Without those between two objects one is left, which names a key twice. Options alone, which are all text,
    may be given twice, and the last counts. numbers: parse_int and parse_float of json.loads().
    """
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_of_one_object, **numbers)


def _of_one_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs) and not all(isinstance(one, str) for _, one in pairs):
        raise ValueError("a key is there twice")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
