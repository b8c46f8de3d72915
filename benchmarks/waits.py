# SPDX-License-Identifier: MIT
"""What a person waits for: starts, simulations, fits, folded profiles, and a slider of the lock explorer."""

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from benchmarks.engines import s1_unpatched_run
from benchmarks.rows import Amount, BenchRow, Done, Start, start_process
from lockscale.fitting.column import all_published_columns, published_columns
from lockscale.fitting.table_fit import compare_column, fit_column, models_of
from lockscale.queueing import MODELS

IMPORT = """
import time
started_s = time.perf_counter()
import lockscale
print(time.perf_counter() - started_s)
"""

FIRST_SIMULATION = """
import time
started_s = time.perf_counter()
from lockscale.sim import simulate
imported_s = time.perf_counter()
simulate("machine_repairman", 48)
print(imported_s - started_s, time.perf_counter() - imported_s)
"""
S1_LIMIT_S, FIRST_LIMIT_S, IMPORT_LIMIT_S = 2.0, 1.5, 0.3


def s1_row(amount: Amount, done: Done) -> BenchRow:
    """S1's unpatched run: 48 threads create 1.44 M files."""
    runs = [s1_unpatched_run(seed) for seed in _turns(amount.rounds, done, "S1's unpatched run")]
    row = BenchRow(
        case="s1_base_run",
        engine="lockscale",
        seconds=statistics.median(s for _, s in runs),
        events_per_s=statistics.median(transitions / s for transitions, s in runs),
        note="1.44 M creates by 48 threads, no warm-up, one core",
    )
    return _limited(row, S1_LIMIT_S)


def process_rows(amount: Amount, done: Done) -> list[BenchRow]:
    """A first simulation with cached code and without, and the import; each in new processes."""
    start_process(FIRST_SIMULATION)  # leaves byte code and machine code on disk
    first = [start_process(FIRST_SIMULATION) for _ in _turns(amount.rounds, done, "first simulation")]
    cold = [_cold_start() for _ in _turns(amount.cold_starts, done, "first simulation, cold")]
    bare = [start_process(IMPORT) for _ in _turns(amount.rounds, done, "import")]
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
        return start_process(FIRST_SIMULATION, NUMBA_CACHE_DIR=empty)


def _process_row(case: str, engine: str, starts: list[Start]) -> BenchRow:
    inside = [statistics.median(part) for part in zip(*(s.inside_s for s in starts), strict=True)]
    parts = [f"{name} {s:.3f} s" for name, s in zip(("import", "simulate"), inside, strict=False)]
    return BenchRow(
        case=case,
        engine=engine,
        seconds=statistics.median(s.seconds for s in starts),
        note=f"whole process; in it {', '.join(parts)}",
    )


def _limited(row: BenchRow, limit_s: float) -> BenchRow:
    return replace(row, target=f"< {limit_s:g} s", met=row.seconds < limit_s)


FIT_LIMIT_S, ALL_LIMIT_S = 0.2, 20.0
SEVEN_POINTS = "s3_fallocate2"


def fit_rows(amount: Amount, done: Done) -> list[BenchRow]:
    """A fit of seven points with the slowest model; every model on every table, fitted and compared."""
    return [_one_fit(amount, done), *_every_fit(amount, done)]


def _one_fit(amount: Amount, done: Done) -> BenchRow:
    column = published_columns(SEVEN_POINTS)[0]
    seconds: dict[str, list[float]] = {model: [] for model in MODELS}
    for _ in range(amount.rounds):
        for model, taken in seconds.items():
            started_s = time.perf_counter()
            fit_column(column, model)
            taken.append(time.perf_counter() - started_s)
        done("fit of 7 points")
    medians = {model: statistics.median(taken) for model, taken in seconds.items()}
    slowest = max(medians, key=lambda model: medians[model])
    return BenchRow(
        case="fit_7_points",
        engine=slowest,
        seconds=medians[slowest],
        target=f"<= {FIT_LIMIT_S:g} s",
        met=medians[slowest] <= FIT_LIMIT_S,
        note=f"slowest of {len(medians)} models; median {statistics.median(medians.values()):.3f} s",
    )


def _every_fit(amount: Amount, done: Done) -> list[BenchRow]:
    columns = all_published_columns()[: amount.compared_columns]
    started_s = time.perf_counter()
    fits = [fit_column(column, model) for column in columns for model in models_of(column)]
    fitted_s = time.perf_counter() - started_s
    for column in columns:
        compare_column(column)
    compared_s = time.perf_counter() - started_s - fitted_s
    done("every table with every model")
    what = f"{len(fits)} fits of {len(columns)} curves"
    return [
        BenchRow(
            case="every_table_every_model",
            engine="fit",
            seconds=fitted_s,
            target=f"<= {ALL_LIMIT_S:g} s",
            met=fitted_s <= ALL_LIMIT_S,
            note=what,
        ),
        BenchRow(
            case="every_table_every_model",
            engine="compare",
            seconds=compared_s,
            note=f"{what}, each also without each thread count in turn",
        ),
    ]


MOVE_LIMIT_S = 0.1
DRAGS = {
    "threads": "threads=1 + k % 64",
    "hold": "hold=default('hold_ns') * 10 ** ((k % 60) / 20 - 1.5)",
}
"""Slider -> where its k-th move takes it: along the number of threads, along the hold's range."""
DRAG = """
import time
from lockscale.show.explore import setting as explorer
from lockscale.show.explore.view import view
start = explorer.Setting()
default = lambda name: explorer.default(start.of, name)
view(start)
for k in range({moves}):
    started_s = time.perf_counter()
    view(explorer.changed(start, {move}))
    print(time.perf_counter() - started_s)
"""


def explorer_rows(amount: Amount, done: Done) -> list[BenchRow]:
    """One row a slider: from its new place to the numbers of the figure, in a new process."""
    return [_move_row(slider, move, amount.moves, done) for slider, move in DRAGS.items()]


def _move_row(slider: str, move: str, moves: int, done: Done) -> BenchRow:
    took_s = sorted(start_process(DRAG.format(moves=moves, move=move)).inside_s)
    done(f"explorer, {slider}")
    median_s = statistics.median(took_s)
    return BenchRow(
        case="explorer_recompute",
        engine=f"{slider} slider",
        seconds=median_s,
        target=f"<= {MOVE_LIMIT_S:g} s",
        met=median_s <= MOVE_LIMIT_S,
        note=f"median of {moves} moves; p95 {took_s[int(0.95 * (moves - 1))]:.3f} s",
    )


FOLD_LIMIT_S, FOLD_LIMIT_MB = 15.0, 300.0
FUNCTIONS, PATHS = 3000, 20_000
FIRST_ADDRESS, SPACING = 0xFFFFFFFF81000000, 0x400

# Not ru_maxrss: it keeps, across exec, what the process that started this one had in memory.
PEAK = """
def peak_mib():
    [line] = [line for line in open("/proc/self/status") if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024
"""
FOLD = f"""{PEAK}
import time
from pathlib import Path
from lockscale.tools.perf_record import fold_file
started_s = time.perf_counter()
folded = fold_file(Path({{path!r}}))
seconds = time.perf_counter() - started_s
print(seconds, peak_mib(), folded.samples, len(folded.stacks))
"""


def fold_row(amount: Amount, done: Done) -> BenchRow:
    """Generated text on disk, folded in a new process; the limits are those of 1 GiB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "perf-script.txt"
        _write_samples(path, amount.folded_mib << 20)
        seconds, peak_mib, samples, stacks = start_process(FOLD.format(path=str(path))).inside_s
    done("folding of perf script's text")
    gib = amount.folded_mib / 1024
    return BenchRow(
        case="fold_perf_script",
        engine="python",
        seconds=seconds,
        target=f"1 GiB in <= {FOLD_LIMIT_S:g} s and <= {FOLD_LIMIT_MB:g} MB",
        met=seconds <= FOLD_LIMIT_S * gib and peak_mib * 1.048576 <= FOLD_LIMIT_MB,
        note=f"{amount.folded_mib} MiB, {samples:.0f} samples, {stacks:.0f} different stacks, "
        f"{amount.folded_mib / seconds:.0f} MiB/s, at most {peak_mib * 1.048576:.0f} MB",
    )


def _write_samples(path: Path, size: int) -> None:
    """At least `size` bytes of samples, nearly every stack another: harder than any profile."""
    samples = _samples(random.Random(1))
    with path.open("wb") as stream:
        while stream.tell() < size:
            stream.write(b"".join(islice(samples, 1000)))


def _samples(draw: random.Random) -> Iterator[bytes]:
    paths = [b"".join(_frame(draw) for _ in range(draw.randrange(8, 28))) for _ in range(PATHS)]
    us = 0
    while True:
        us += 2004
        head = b"mdtest %7d %5d.%06d:    2004008 cpu-clock: \n" % (us % 48, us // 1_000_000, us % 1_000_000)
        yield head + _frame(draw) + draw.choice(paths) + b"\n"


def _frame(draw: random.Random) -> bytes:
    function, offset = draw.randrange(FUNCTIONS), draw.randrange(SPACING)
    address = FIRST_ADDRESS + function * SPACING + offset
    return b"\t%16x kernel_function_number_%d+0x%x ([kernel.kallsyms])\n" % (address, function, offset)
