# SPDX-License-Identifier: MIT
"""What one waits for: S1's base run, a first simulation in a new process, the bare import."""

import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace

from lockscale.bench import new_process
from lockscale.bench.in_lockscale import s1_base_run
from lockscale.bench.new_process import FIRST_SIMULATION, IMPORT, Start
from lockscale.bench.row import Row
from lockscale.bench.setting import Done, Setting

S1_LIMIT_S, FIRST_LIMIT_S, IMPORT_LIMIT_S = 3.0, 1.5, 0.3


def s1_row(setting: Setting, done: Done) -> Row:
    """S1's base run: 48 threads create 1.44 M files."""
    runs = [s1_base_run(seed) for seed in _turns(setting.rounds, done, "S1's base run")]
    row = Row(
        case="s1_base_run",
        engine="generic",
        seconds=statistics.median(s for _, s in runs),
        events_per_s=statistics.median(transitions / s for transitions, s in runs),
        note="1.44 M creates by 48 threads, no warm-up, one core",
    )
    return _limited(row, S1_LIMIT_S)


def process_rows(setting: Setting, done: Done) -> list[Row]:
    """A first simulation with cached code and without, and the import; each in new processes."""
    new_process.start(FIRST_SIMULATION)  # leaves byte code and machine code on disk
    first = [new_process.start(FIRST_SIMULATION) for _ in _turns(setting.rounds, done, "first simulation")]
    cold = [_cold_start() for _ in _turns(setting.cold_starts, done, "first simulation, cold")]
    bare = [new_process.start(IMPORT) for _ in _turns(setting.rounds, done, "import")]
    return [
        _limited(_process_row("first_simulation", "cached", first), FIRST_LIMIT_S),
        *([_process_row("first_simulation", "cold", cold)] if cold else []),
        _limited(_process_row("import", "python", bare), IMPORT_LIMIT_S),
    ]


def _turns(count: int, done: Done, what: str) -> Iterator[int]:
    for turn in range(count):
        yield 1 + turn
        done(what)


def _cold_start() -> Start:
    with tempfile.TemporaryDirectory() as empty:
        return new_process.start(FIRST_SIMULATION, NUMBA_CACHE_DIR=empty)


def _process_row(case: str, engine: str, starts: list[Start]) -> Row:
    inside = [statistics.median(part) for part in zip(*(s.inside_s for s in starts), strict=True)]
    parts = [f"{name} {s:.3f} s" for name, s in zip(("import", "simulate"), inside, strict=False)]
    return Row(
        case=case,
        engine=engine,
        seconds=statistics.median(s.seconds for s in starts),
        note=f"whole process; in it {', '.join(parts)}",
    )


def _limited(row: Row, limit_s: float) -> Row:
    return replace(row, target=f"< {limit_s:g} s", met=row.seconds < limit_s)
