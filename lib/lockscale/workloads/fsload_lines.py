# SPDX-License-Identifier: MIT
"""Reads the JSON lines of fsload.

Every derived number is printed beside what it was derived from and is computed again here, so a
damaged number does not pass. A phase counts only when it is whole.
"""

from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.workloads.fsload_json import Line, disagree, field, json_lines, same
from lockscale.workloads.fsload_latency import BINS_PER_OCTAVE, percentiles
from lockscale.workloads.rows import Parsed, Row, rate_row

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
    percentile is within fsload_latency.RELATIVE_ERROR.
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
