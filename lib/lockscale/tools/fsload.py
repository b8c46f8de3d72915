# SPDX-License-Identifier: MIT
"""fsload, our own load generator (lib/fsload): build it, run it, read its JSON lines.

A phase counts only when it is whole. The latencies of a phase are a histogram with fixed logarithmic bins
and its percentiles: a percentile is that of the nearest rank, as the middle of its bin, within
RELATIVE_ERROR of the latency itself; the maximum is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lockscale.errors import BadInput
from lockscale.paths import FSLOAD
from lockscale.tools import c_program
from lockscale.tools.parsed_rows import Parsed, ParsedRow, rate_row, strict_json
from lockscale.tools.target_tools import TargetTool, tried

TOOL = "fsload"
# What a worker is called: 0.1.0 had processes only, and timed also what its cases prepare.
_WORKER = {"0.1.0": ("processes", "process"), "0.2.0": ("workers", "worker")}
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
BINS_PER_OCTAVE = 64  # lib/fsload/histogram.h; below 2 x 64 ns a bin is one nanosecond wide
RELATIVE_ERROR = 1 / (2 * BINS_PER_OCTAVE)
_LATENCIES = ("p50", "p90", "p99", "p99.9", "max")

Line = Mapping[str, Any]
T = TypeVar("T")


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
        raise BadInput("fsload needs either processes or threads, and either items or seconds")
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


@dataclass(frozen=True)
class _Header:
    """The first line. containers: 0 for none."""

    version: str
    worker: str
    workers: int
    threads: bool
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
    are the containers; with latencies `total_p50`, `_p90`, `_p99`, `_p99.9` and `_max` in ns.
    """
    lines, warnings = _json_lines(text)
    if not lines or lines[0].get("tool") != TOOL:
        raise BadInput("this is not fsload's output: its first line does not name the tool")
    run = _header(lines[0])
    if any(line.get("phase") not in run.phases for line in lines[1:]):
        raise BadInput("fsload's output has a line that belongs to no phase")
    rows: list[ParsedRow] = []
    for name in run.phases:
        found = _phase_rows(run, name, [line for line in lines[1:] if line["phase"] == name])
        if not found:
            warnings.append(f"phase {name} is incomplete and is left out")
        rows += found
    if not rows:
        raise BadInput("fsload's output has no complete phase: it was cut short, run it again")
    return Parsed(TOOL, run.version, tuple(rows), tuple(warnings))


def _json_lines(text: str) -> tuple[list[Line], list[str]]:
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


def _field(line: Line, key: str, kind: type[T]) -> T:
    """`line[key]`, which must be of exactly that type, and a number from 0 to 2^63 - 1."""
    value = line.get(key)
    if type(value) is not kind or (isinstance(value, int | float) and not 0 <= value < 1 << 63):
        raise BadInput(f"fsload's output has a line where {key} is missing or invalid")
    return value


def _header(line: Line) -> _Header:
    version, test, phases = _field(line, "version", str), _field(line, "test", str), line.get("phases")
    if version not in _WORKER:
        raise BadInput(f"fsload {version} is not known: this reads {', '.join(_WORKER)}")
    if test not in PHASES:
        raise BadInput(f"fsload's test {test!r} is not known: this reads {', '.join(PHASES)}")
    if phases not in [list(PHASES[test]), *([name] for name in PHASES[test])]:
        raise BadInput(f"fsload's first line names phases that are not those of {test}")
    many, one = _WORKER[version]
    run = _Header(
        version,
        one,
        _field(line, many, int),
        threads=version != "0.1.0" and _field(line, "as", str) == "threads",
        containers=_field(line, "containers", int) if "containers" in line else 0,
        latency="bins_per_octave" in line,
        phases=phases,
    )
    if not 1 <= run.workers <= MAX_WORKERS:
        raise BadInput(f"fsload cannot have run {run.workers} {many}: its output is damaged")
    if run.latency and line["bins_per_octave"] != BINS_PER_OCTAVE:
        raise BadInput(
            f"fsload's latencies are not in {BINS_PER_OCTAVE} bins per octave, the only format this reads"
        )
    return run


def _phase_rows(run: _Header, name: str, lines: list[Line]) -> list[ParsedRow]:
    """Rows of one phase, none when lines are missing; BadInput when one is repeated or of another run."""
    workers = {_field(line, run.worker, int): line for line in lines if run.worker in line}
    containers = {_field(line, "container", int): line for line in lines if "container" in line}
    summaries = [line for line in lines if line.get("summary") is True]
    latencies = [line for line in lines if line.get("latency") is True]
    kinds = len(workers) + len(containers) + len(summaries) + len(latencies)
    if kinds != len(lines) or len(summaries) > 1 or len(latencies) > run.latency:
        raise BadInput(f"fsload's phase {name} has a repeated or unexpected line")
    if (
        workers.keys() != set(range(run.workers))
        or containers.keys() != set(range(run.containers))
        or not summaries
        or len(latencies) < run.latency
    ):
        return []
    (summary,) = summaries
    if _field(summary, "count", int) != sum(_field(line, "count", int) for line in workers.values()):
        raise BadInput(f"fsload's output is damaged: the counts of {name} do not add up")
    test = run.test(name)
    rates = {
        "total": _field(summary, "rate_per_s", float),
        "slowest_rank": _field(summary, "rate_slowest_rank_per_s", float),
        **{f"container{k}": _field(containers[k], "rate_per_s", float) for k in range(run.containers)},
        **{f"rank{k}": _worker_rate(workers[k]) for k in range(run.workers)},
    }
    rows = [rate_row(test, run.workers, 1, rate, statistic) for statistic, rate in rates.items()]
    if run.containers:
        mean = _field(summary, "rate_per_container_per_s", float)
        rows.append(rate_row(test, run.containers, 1, mean, "per_container"))
    for line in latencies:
        rows += [
            ParsedRow(
                test, run.workers, 1, "latency", "ns", float(_field(line, f"{at}_ns", int)), f"total_{at}"
            )
            for at in _LATENCIES
        ]
    return rows


def _worker_rate(line: Line) -> float:
    """ops/s of one worker."""
    start, end = _field(line, "start_ns", int), _field(line, "end_ns", int)
    if start >= end:
        raise BadInput("fsload's output is damaged: a worker ended before it started")
    return _field(line, "count", int) * 1e9 / (end - start)


def on_target(executable: Path) -> TargetTool:
    """What to ask a target about the fsload that build() gave."""
    return TargetTool(
        name=TOOL,
        ask=tried(str(executable), command(executable, ".", processes=1, items=1)),
        version=lambda text: parse(text).version,
        without="",
        get=f"make {executable.parent} visible to the target",
    )
