# SPDX-License-Identifier: MIT
"""Event counts by perf stat, as JSON lines (`-j`) or separated (`-x,`).

Read in perf's source: tools/perf/util/stat-display.c (print_counter_value_json, print_noise_pct_json,
print_running_json, print_metric_json and their _csv twins). Metrics that perf derives are passed over.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.tools.mail_text import TextLine
from lockscale.tools.parsed_rows import NOT_STATED, Number, Parsed, rows_of, strict_json
from lockscale.tools.seal import unsealed
from lockscale.tools.target_tools import TargetTool, on_path

TOOL = "perf_stat"
VERSION = ("perf", "--version")

SAID_OF_LOSS = re.compile(r" *(?:Warning:?|Check IO/CPU overload!|Processed \d+ \w+ and lost .*) *")
_LOST = re.compile(
    r"Processed \d+ (?:events|samples) and lost (\d+ chunks|[\d.]+%)!"
    r"|PerfTop: .* lost: \d+/([1-9]\d*) .*"
)
_MISSING = ("<not supported>", "<not counted>")
_KEYS = {"counter-value", "unit", "event", "variance", "event-runtime", "pcnt-running"}
_METRIC_KEYS = {"metric-value", "metric-unit", "metric-threshold"}
_CSV_NUMBERS = r"(?:,(\d+\.\d\d)%)?,(\d+),(\d+\.\d\d)"
_CSV = re.compile(rf"([^,]*),([A-Za-z/%]*),([A-Za-z][^,]*){_CSV_NUMBERS}(?:,.*)?", re.ASCII)
_CSV_METRIC = re.compile(r",{4,6}[^,]+,[^,]*.*")


def version(text: str) -> str:
    """The version from what VERSION prints, as 6.1.187."""
    found = re.fullmatch(r"perf version (\d\S*)\s*", text)
    if found is None:
        raise BadInput(f"this is not Linux perf, it printed {text[:40]!r}: apt-get install linux-perf")
    return found[1]


def plain(argv: Sequence[str]) -> list[str]:
    """`argv` with numbers as C prints them: perf stat follows the locale."""
    return ["env", "LC_ALL=C", *argv]


def lost_by_perf(lines: Sequence[TextLine]) -> list[str]:
    """A warning where perf says, above what it prints, that what it recorded is not all."""
    said = next((found for one in lines if (found := _LOST.fullmatch(one.text.strip()))), None)
    lost = said and (said[1] or f"{said[2]} samples")
    return [f"perf lost {lost} of what it recorded: shares and sums may be far off"] if lost else []


def recognise(text: str) -> bool:
    """Whether a line is one of perf stat -j or -x,."""
    lines = text.split("\n")
    return any(line.startswith('{"counter-value" : ') or _CSV.fullmatch(line) for line in lines)


def parse(text: str) -> Parsed:
    """The counts of one run, each with its standard error where it is a mean.

    `<not supported>` and `<not counted>` are warnings.

    BadInput for a line that is not perf's, an event that is there twice, and where no event is left:
    counts of single CPUs, threads, cgroups or intervals (-A, --per-*, -I) are not read.
    """
    body, unsaid = unsealed(text)
    *lines, last = body.split("\n")
    if last:
        raise BadInput("perf stat's output ends in the middle of a line: count again")
    found = [cells for line in lines if (cells := _cells(line))]
    twice = [event for event, times in Counter(cells["event"] for cells in found).items() if times > 1]
    if twice:
        raise BadInput(
            f"perf stat counted {twice[0][:60]} twice: count each event once, without -A and --per-*"
        )
    missing = [cells for cells in found if cells["counter-value"] in _MISSING]
    counts = {cells["event"]: _count(cells) for cells in found if cells not in missing}
    warnings = [
        *unsaid,
        *(f"{cells['event']} was {cells['counter-value'].strip('<>')} on this machine" for cells in missing),
        *(
            f"{event} was counted {running_pct:g}% of the time: its value is an estimate"
            for event, (_, running_pct) in counts.items()
            if not math.isclose(running_pct, 100)
        ),
    ]
    if not counts:
        why = warnings[-1] if missing else "its output has no counter lines"
        raise BadInput(f"perf stat counted nothing: {why}")
    rows = tuple(row for event, (numbers, _) in counts.items() for row in rows_of(event, *numbers))
    return Parsed(TOOL, NOT_STATED, rows, tuple(warnings))


def _cells(line: str) -> dict[str, str] | None:
    """The fields of a line by their JSON names; None for one without an event of its own."""
    if not line.strip() or line.startswith("# started on "):
        return None
    if line.startswith("{"):
        return _json_cells(line)
    if found := _CSV.fullmatch(line):
        names = ("counter-value", "unit", "event", "variance", "event-runtime", "pcnt-running")
        return {name: cell for name, cell in zip(names, found.groups(), strict=True) if cell is not None}
    if _CSV_METRIC.fullmatch(line):
        return None
    raise BadInput(
        f"perf stat: a line is not output of -j or -x, (or has numbers of another locale): {line[:60]!r}"
    )


def _json_cells(line: str) -> dict[str, str] | None:
    try:
        # numbers stay as they are printed, so that their form can be checked
        fields = strict_json(line, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        raise BadInput(f"perf stat: a line is not JSON of one event: {line[:60]!r}")
    if fields.keys() <= _METRIC_KEYS:
        return None
    unknown = fields.keys() - _KEYS - _METRIC_KEYS
    lacking = _KEYS - {"variance"} - fields.keys()
    if unknown or lacking:
        what = f"{'has' if unknown else 'lacks'} {min(unknown or lacking)[:40]!r}"
        raise BadInput(f"perf stat: a line {what}: count without -A, --per-*, -I and --metric-only")
    return {key: str(value) for key, value in fields.items()}


def _count(cells: dict[str, str]) -> tuple[list[Number], float]:
    """A count, or the mean of the repeats of `-r` with its standard error; and in which percentage of
    the time it was counted: below 100 perf estimates it."""
    event, unit = cells["event"], cells["unit"] or "events"
    value = _number(cells["counter-value"], r"\d{1,18}(?:\.\d\d|\.\d{6})?", event)
    _number(cells["event-runtime"], r"\d{1,18}", event)
    running_pct = _number(cells["pcnt-running"], r"\d{1,3}\.\d\d", event)
    error = cells.get("variance")
    error_pct = None if error is None else _number(error, r"\d{1,6}\.\d\d", event)
    if running_pct > 100:
        raise BadInput(f"perf stat: {event[:60]} was counted for more than 100% of its time: count again")
    is_time = unit in ("msec", "ns")
    metric, unit = ("time", unit.replace("msec", "ms")) if is_time else ("count", unit)
    if error_pct is None:
        return [Number(metric, "total", unit, value)], running_pct
    spread = Number(metric, "standard_error_of_mean", "%", error_pct)
    return [Number(metric, "mean", unit, value), spread], running_pct


def _number(cell: str, form: str, event: str) -> float:
    if not re.fullmatch(form, cell, re.ASCII):
        raise BadInput(
            f"perf stat: {cell[:30]!r} of {event[:60]} is not a number as perf prints it: use LC_ALL=C"
        )
    return float(cell)


ON_TARGET = TargetTool(
    name="perf",
    ask=on_path("perf", *VERSION),
    version=version,
    without="function costs by ftrace and lock events work; waits per lock and flame graphs do not",
    get="apt-get install linux-perf",
)
