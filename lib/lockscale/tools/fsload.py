# SPDX-License-Identifier: MIT
"""fsload, our own load generator (lib/fsload): build it, run it, read its JSON lines.

Every derived number is printed beside what it was derived from and is computed again here, so a
damaged number does not pass. A phase counts only when it is whole.

The latencies of a phase are a histogram with fixed logarithmic bins, and its percentiles.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from lockscale.errors import BadInput
from lockscale.paths import FSLOAD
from lockscale.tools import c_program
from lockscale.tools.target_tools import TargetTool, tried
from lockscale.tools.workload_rows import Parsed, Row, rate_row, strict_json

Line = dict[str, Any]
T = TypeVar("T")


def json_lines(text: str) -> tuple[list[Line], list[str]]:
    """The objects, one a line, and warnings; a last line that was cut is dropped with one."""
    lines = [line for line in text.split("\n") if line.strip()]
    objects: list[Line] = []
    for number, line in enumerate(lines, 1):
        try:
            value = strict_json(line)
        except (ValueError, RecursionError):
            if number == len(lines) and objects:
                return objects, ["the output ends in the middle of a line"]
            raise BadInput(f"line {number} of fsload's output is not JSON") from None
        if not isinstance(value, dict):
            raise BadInput(f"line {number} of fsload's output is not a JSON object")
        objects.append(value)
    return objects, []


def field(line: Line, key: str, kind: type[T]) -> T:
    """`line[key]`, which must be of exactly that type, and if whole from 0 to 2^63 - 1."""
    value = line.get(key)
    if type(value) is not kind or (isinstance(value, int) and not 0 <= value < 1 << 63):
        raise BadInput(f"fsload's output has a line without {key}, or with a strange one")
    return value


def same(line: Line, key: str, expected: float) -> float:
    """The printed number, which must be the expected one to the last digit printed."""
    printed = field(line, key, float)
    half_a_digit = 0.51e-9 if key == "seconds" else 0.51e-3
    if not math.isclose(printed, expected, rel_tol=1e-12, abs_tol=half_a_digit):
        disagree(key)
    return printed


def disagree(what: str) -> NoReturn:
    """Refuses an output whose numbers contradict each other."""
    raise BadInput(f"fsload's output is damaged: {what} and the other numbers do not agree")


BINS_PER_OCTAVE = 64  # lib/fsload/histogram.h; below 2 x 64 ns a bin is one nanosecond wide
RELATIVE_ERROR = 1 / (2 * BINS_PER_OCTAVE)
LARGEST_NS = (1 << 41) - 1  # what is longer counts in the last bin
_PER_MILLE = {"p50": 500, "p90": 900, "p99": 990, "p99.9": 999}

Bins = list[tuple[int, int]]


def percentiles(line: Line, count: int, worker_max_ns: list[int]) -> dict[str, int]:
    """p50, p90, p99, p99.9 and max in ns of a line of latencies.

    A percentile is that of the nearest rank, as the middle of its bin: within `RELATIVE_ERROR` of the
    latency itself. max is exact. BadInput where they, the `count` items of the phase, the bins and the
    workers' own maxima do not agree.
    """
    bins = _bins(line)
    if field(line, "count", int) != count or sum(n for _, n in bins) != count:
        disagree("the latencies' counts")
    maximum = field(line, "max_ns", int)
    low = bins[-1][0]
    if maximum != max(worker_max_ns) or not low <= min(maximum, LARGEST_NS) < low + _width(low):
        disagree("max_ns")
    found = {name: min(_percentile(bins, count, part), maximum) for name, part in _PER_MILLE.items()}
    for name, expected in found.items():
        if field(line, f"{name}_ns", int) != expected:
            disagree(f"{name}_ns")
    return {**found, "max": maximum}


def _bins(line: Line) -> Bins:
    """(least latency in ns, how many) of each bin that is not empty, by latency."""
    bins: Bins = []
    for pair in field(line, "bins", list):
        if not (isinstance(pair, list) and [type(x) for x in pair] == [int, int]):
            raise BadInput("fsload's output has a bin of latencies that is not two numbers")
        low, count = pair
        if low < 0 or low % _width(low) or count < 1 or (bins and low <= bins[-1][0]):
            disagree("the bins of latencies")
        bins.append((low, count))
    if not bins:
        disagree("the bins of latencies")
    return bins


def _width(low_ns: int) -> int:
    return 1 << max((low_ns // BINS_PER_OCTAVE).bit_length() - 1, 0)


def _percentile(bins: Bins, count: int, per_mille: int) -> int:
    left = (count * per_mille + 999) // 1000
    for low, here in bins:
        left -= here
        if left <= 0:
            return low + _width(low) // 2
    raise AssertionError("the bins hold fewer latencies than were counted")


TOOL = "fsload"
# What a worker is called: 0.1.0 had processes only, and timed also what its cases prepare.
_WORKER = {"0.1.0": ("processes", "process"), "0.2.0": ("workers", "worker")}
VERSIONS = tuple(_WORKER)
# The test cases of lib/fsload and what each one times. An operation is a file created, removed, or
# grown to 1 MiB; a file opened, or created or emptied, and closed; 8 KiB appended by fallocate(), and
# every 128th time a truncation; a rename; a file made shorter by one byte.
PHASES = {
    "append_files": ("append", "remove"),
    "creat_clo": ("creat",),
    "create_unlink": ("create", "remove"),
    "fallocate2": ("fallocate",),
    "open_close": ("open",),
    "rename_own_dir": ("rename",),
    "truncate_orphan": ("truncate",),
}
MAX_WORKERS = 4096  # lib/fsload/fsload.c takes no more


@dataclass(frozen=True)
class _Run:
    """The first line. items: None where the time was fixed; containers: 0 for none."""

    version: str
    worker: str
    workers: int
    threads: bool
    items: int | None
    containers: int
    latency: bool
    phases: list[str]

    def test(self, phase: str) -> str:
        """What rows call it: threads share what processes do not, so theirs is another test."""
        return f"{phase}_threads" if self.threads else phase


def recognise(text: str) -> bool:
    """Whether the first line is fsload's."""
    return text.lstrip().startswith('{"tool":"fsload"')


def parse(text: str) -> Parsed:
    """Rows of one run, iteration 1; `threads` is the number of workers, processes or threads.

    Per phase (`<phase>_threads` where the workers were threads): rates in ops/s, `total`,
    `slowest_rank`, `rank<k>`, and with containers `container<k>` and `per_container`, whose `threads`
    are the containers; with latencies `total_p50`, `_p90`, `_p99`, `_p99.9` and `_max` in ns, where a
    percentile is within RELATIVE_ERROR.
    """
    lines, warnings = json_lines(text)
    if not lines or lines[0].get("tool") != TOOL:
        raise BadInput("this is not fsload's output: its first line does not name the tool")
    run = _first_line(lines[0])
    strange = [line for line in lines[1:] if line.get("phase") not in run.phases]
    if strange:
        raise BadInput("fsload's output has a line that belongs to none of its phases")
    rows: list[Row] = []
    for name in run.phases:
        found = _phase_rows(run, name, [line for line in lines[1:] if line["phase"] == name])
        if not found:
            warnings.append(f"phase {name} is not whole and is left out")
        rows += found
    if not rows:
        raise BadInput("fsload's output has no whole phase: it was cut short, run it again")
    return Parsed(TOOL, run.version, tuple(rows), tuple(warnings))


def _first_line(line: Line) -> _Run:
    version = field(line, "version", str)
    if version not in VERSIONS:
        raise BadInput(f"fsload {version} is not known: this reads {', '.join(VERSIONS)}")
    many, one = _WORKER[version]
    run = _Run(
        version, one, field(line, many, int),
        threads=version != "0.1.0" and _threads(line),
        items=None if "seconds" in line else field(line, "items", int),
        containers=field(line, "containers", int) if "containers" in line else 0,
        latency="bins_per_octave" in line,
        phases=_phases(line),
    )  # fmt: skip
    if not 1 <= run.workers <= MAX_WORKERS:
        raise BadInput(f"fsload cannot have run {run.workers} {many}: its output is damaged")
    if run.containers and run.workers % run.containers:
        disagree("the number of containers")
    if run.latency and field(line, "bins_per_octave", int) != BINS_PER_OCTAVE:
        raise BadInput(f"fsload's latencies are not in {BINS_PER_OCTAVE} bins an octave, as this reads them")
    return run


def _threads(line: Line) -> bool:
    workers = field(line, "as", str)
    if workers not in ("processes", "threads"):
        raise BadInput("fsload's first line does not say whether it ran processes or threads")
    return workers == "threads"


def _phases(line: Line) -> list[str]:
    test, names = field(line, "test", str), field(line, "phases", list)
    if test not in PHASES:
        raise BadInput(f"fsload's test {test!r} is not known: this reads {', '.join(PHASES)}")
    if names not in [list(PHASES[test]), *([name] for name in PHASES[test])]:
        raise BadInput(f"fsload's first line does not name phases of {test}")
    return [str(name) for name in names]


def _phase_rows(run: _Run, name: str, lines: list[Line]) -> list[Row]:
    """Rows of one phase, none when lines are missing; BadInput when its numbers disagree."""
    workers = {field(line, run.worker, int): line for line in lines if run.worker in line}
    containers = {field(line, "container", int): line for line in lines if "container" in line}
    summaries = [line for line in lines if line.get("summary") is True]
    latencies = [line for line in lines if line.get("latency") is True]
    kinds = len(workers) + len(containers) + len(summaries) + len(latencies)
    if kinds != len(lines) or len(summaries) > 1 or len(latencies) > run.latency:
        raise BadInput(f"fsload's phase {name} has a repeated or a strange line")
    if max(workers, default=0) >= run.workers or max(containers, default=-1) >= run.containers:
        raise BadInput(f"fsload's phase {name} has more workers or containers than its first line says")
    whole = len(workers) == run.workers and len(containers) == run.containers
    if not whole or not summaries or len(latencies) < run.latency:
        return []
    ordered = [workers[k] for k in range(run.workers)]
    rows = _rate_rows(run, name, ordered, [containers[k] for k in range(run.containers)], summaries[0])
    for line in latencies:
        rows += _latency_rows(run, name, ordered, line)
    return rows


def _rate_rows(run: _Run, name: str, workers: list[Line], containers: list[Line], summary: Line) -> list[Row]:
    test = run.test(name)
    ranks = [_worker_rate(line, run.items) for line in workers]
    rates = {
        "total": _rate(summary, workers),
        "slowest_rank": same(summary, "rate_slowest_rank_per_s", min(ranks) * run.workers),
    }
    rows = []
    if containers:
        each = run.workers // run.containers
        own = [workers[k * each : (k + 1) * each] for k in range(run.containers)]
        rates |= {f"container{k}": _rate(line, own[k]) for k, line in enumerate(containers)}
        exact = sum(_exact_rate(its) for its in own) / run.containers
        mean = same(summary, "rate_per_container_per_s", exact)
        rows.append(rate_row(test, run.containers, 1, mean, "per_container"))
    rates |= {f"rank{k}": rate for k, rate in enumerate(ranks)}
    return [rate_row(test, run.workers, 1, rate, statistic) for statistic, rate in rates.items()] + rows


def _worker_rate(line: Line, items: int | None) -> float:
    """ops/s of one worker, whose items are `items` unless it ran for a fixed time."""
    ready, start, end = (field(line, key, int) for key in ("ready_ns", "start_ns", "end_ns"))
    count = field(line, "count", int)
    if not ready <= start < end or (items is not None and count != items):
        disagree("a worker's times or counts")
    same(line, "seconds", (end - start) / 1e9)
    return count * 1e9 / (end - start)


def _rate(line: Line, workers: list[Line]) -> float:
    """ops/s of workers together, as printed."""
    if field(line, "count", int) != sum(worker["count"] for worker in workers):
        disagree("the counts")
    same(line, "seconds", _span_ns(workers) / 1e9)
    return same(line, "rate_per_s", _exact_rate(workers))


def _exact_rate(workers: list[Line]) -> float:
    return float(sum(worker["count"] for worker in workers) * 1e9 / _span_ns(workers))


def _span_ns(workers: list[Line]) -> int:
    """From the first start to the last end."""
    ends, starts = ([int(worker[key]) for worker in workers] for key in ("end_ns", "start_ns"))
    return max(ends) - min(starts)


def _latency_rows(run: _Run, phase: str, workers: list[Line], line: Line) -> list[Row]:
    count = sum(worker["count"] for worker in workers)
    found = percentiles(line, count, [field(worker, "max_ns", int) for worker in workers])
    return [
        Row(run.test(phase), run.workers, 1, "latency", "ns", float(value), f"total_{name}")
        for name, value in found.items()
    ]


__all__ = ["PHASES", "TOOL", "build", "command", "on_target", "parse", "recognise"]


def build(out_dir: Path, *, static: bool = False) -> Path:
    """The compiled fsload under `out_dir`; see c_program.build.

    static: it brings its C library along, for a machine that may have an older one.
    """
    return c_program.build(TOOL, FSLOAD, out_dir, ["-static"] if static else [])


def command(
    executable: Path,
    directory: str,
    *,
    processes: int | None = None,
    threads: int | None = None,
    items: int | None = None,
    seconds: float | None = None,
    phase: str = "both",
    test: str = "create_unlink",
    containers: int | None = None,
    pin: bool = False,
    latency: bool = False,
) -> list[str]:
    """argv of `test` by each of `processes` or `threads`, in directories under `directory`.

    Each does `items` operations, or as many as it can in `seconds`; then a later phase does what the
    first did. `phase` is one of `PHASES[test]`, or `both` for all of them; create leaves the files that
    a later remove takes away. `containers` share the workers out, each with a cgroup v2 and a directory
    of its own. `pin` keeps each worker on one CPU. `latency` times every operation, which costs it two
    reads of the clock. BadInput for what fsload does not have.
    """
    if test not in PHASES:
        raise BadInput(f"fsload has no test {test}: use one of {', '.join(PHASES)}")
    if phase not in (*PHASES[test], "both"):
        raise BadInput(f"{test} of fsload has no phase {phase}: use {', '.join(PHASES[test])} or both")
    if (processes is None) == (threads is None) or (items is None) == (seconds is None):
        raise BadInput("fsload takes processes or threads, and items or seconds: give one of each two")
    options = {
        "processes": processes, "threads": threads, "items": items, "seconds": seconds,
        "phase": phase, "containers": containers,
    }  # fmt: skip
    flags = {"pin": pin, "latency": latency}
    return [
        str(executable), test, "--dir", directory,
        *(word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))),
        *(f"--{name}" for name, on in flags.items() if on),
    ]  # fmt: skip


def on_target(executable: Path) -> TargetTool:
    """What to ask a target about the fsload that build() gave."""
    return TargetTool(
        name=TOOL,
        ask=tried(str(executable), command(executable, ".", processes=1, items=1)),
        version=lambda text: parse(text).version,
        without="",
        get=f"let the target see {executable.parent}",
    )
