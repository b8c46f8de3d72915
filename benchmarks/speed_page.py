# SPDX-License-Identifier: MIT
"""`python -m benchmarks.speed_page` writes docs/simulator-speed.md: how fast it is, to 1024 CPUs."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from benchmarks.engines import s1_unpatched_run
from benchmarks.floor import MODELS
from benchmarks.own_loops import THREADS, WARM_UP, general, own_loop_rows
from benchmarks.rows import Amount, BenchRow, machine, start_process
from benchmarks.waits import FIRST_SIMULATION, IMPORT, PEAK
from lockscale import paths
from lockscale.sim import load_model
from lockscale.sim.engine.loops import WORTH
from lockscale.sim.replicate import replicate

PAGE = paths.ROOT / "docs" / "simulator-speed.md"
CPUS = (1, 8, 48, 128, 256, 512, 1024)
STEPS = 4_000_000
"""Of one timed run; of each the middle one of three is taken."""

MEMORY = f"""{PEAK}
from lockscale.sim import simulate
simulate({{model!r}}, {{threads}}, replications=1, operations=2000, workers=1)
print(peak_mib())
"""
HELP = """
import contextlib, io
from lockscale.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(["--help"])
"""
SWEEP = """
import os, time
from lockscale.sim.sweep import grid, sweep
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{workers}])
sweep("inode_claim", [8], grid({{"hold_ns": [20.0]}}), operations=1000)
started_s, processor_s = time.perf_counter(), time.process_time()
sweep("inode_claim", [8, 48], grid({{"hold_ns": [20.0 * k for k in range(1, 17)]}}), operations=100_000)
print(time.perf_counter() - started_s, time.process_time() - processor_s)
"""
COMPILE = """
import time
import numpy as np
from lockscale.sim import load_model, simulate
from lockscale.sim.engine import loops
from lockscale.sim.replicate import BATCHES
program = load_model("inode_claim").program({}, 8)
started_s, processor_s = time.perf_counter(), time.process_time()
simulate("inode_claim", 8)
print(time.perf_counter() - started_s, time.process_time() - processor_s)
started_s, processor_s = time.perf_counter(), time.process_time()
loops.prepare(program.structure, program.world(batches=BATCHES), 1, 0, np.zeros(8, np.int64), 1, 1)
print(time.perf_counter() - started_s, time.process_time() - processor_s)
"""
TEXT = """\
# How fast the simulator is

Written by `python -m benchmarks.speed_page`: {cpus} CPUs of an {cpu}, Python {python}, load average
{before:.1f} before and {after:.1f} after. The first two tables are CPU time, which is least disturbed by
other load on the machine; at load averages above the number of CPUs, wall time mostly shows the other load.
In every engine, an event is one step of a thread.

A model is a table of steps. The general loop runs any table. A specialised loop for one table is generated
from the general loop's source, with the same random numbers, events and statistics: its results are
bit-identical (`tests/sim/test_loops.py`). `make env` compiles the loops of the shipped models. Your own
model runs in the general loop until one lockscale process has run, or is about to run, {worth} M steps of it
(a few seconds); then it gets its own loop, which is cached. At {threads} threads, the table compares the two
loops with SimPy and with C written by hand for each model, which gives the same numbers, counts and
histograms. Rates are medians over the rounds, and ratios are medians of each round's ratio, so on a machine
with other load they need not agree:

{loops}

Millions of events per second by number of simulated CPUs, with one thread on each, and the peak memory of
the process:

{scaling}

How long you wait, best of three:

{waits}
"""


def scaling() -> Iterator[dict[str, object]]:
    """One row a number of CPUs."""
    for threads in CPUS:
        row: dict[str, object] = {"CPUs": threads}
        for model in MODELS:
            own, by_general = _speeds(model, threads)
            memory_mib = start_process(MEMORY.format(model=model, threads=threads)).inside_s[0]
            row |= {model: f"{own / 1e6:.0f}", f"{model}, general": f"{by_general / 1e6:.0f}"}
            row[f"{model}, MB"] = f"{memory_mib * 1.048576:.0f}"
        yield row


def _speeds(model: str, threads: int) -> tuple[float, float]:
    """Events a second by its own loop and by the general one; medians."""
    program = load_model(model).program({}, threads)
    probe = replicate(program, seed=1, replication=0, operations=2000, warm_up=WARM_UP)
    operations = max(1000, round(STEPS * 3000 / probe.transitions) - WARM_UP)
    own, by_general = [], []
    for seed in (1, 2, 3):
        started_s = time.thread_time()
        counts = replicate(program, seed=seed, replication=0, operations=operations, warm_up=WARM_UP)
        own.append(counts.transitions / (time.thread_time() - started_s))
        transitions, seconds = general(program, seed, operations)
        by_general.append(transitions / seconds)
    return statistics.median(own), statistics.median(by_general)


def waits() -> Iterator[dict[str, object]]:
    """Runs, starts, compilations and sweeps: the least of three of each, but for compilations."""
    yield _wait("S1's unpatched run, 1.44 M creates by 48 threads", *least(lambda: s1_unpatched_run(1)))
    start_process(FIRST_SIMULATION)  # leaves byte code on disk
    first = least(lambda: start_process(FIRST_SIMULATION))
    yield _wait("first simulation of a process, including start-up", *first)
    yield _wait("`import lockscale`, including start-up", *least(lambda: start_process(IMPORT)))
    yield _wait("`lockscale --help`, including start-up", *least(lambda: start_process(HELP)))
    with tempfile.TemporaryDirectory() as empty:
        cold_s, cold_cpu_s, own_loop_s, own_cpu_s = start_process(COMPILE, NUMBA_CACHE_DIR=empty).inside_s
    yield _wait("first simulation without compiled code (no `make env`)", cold_s, cold_cpu_s)
    yield _wait("generating and compiling a loop for one model", own_loop_s, own_cpu_s)
    for workers in (1, 2):
        what = (
            f"sweep of 32 points x 5 replications of 100,000 operations, {workers} worker{'s'[: workers - 1]}"
        )
        took = [start_process(SWEEP.format(workers=workers)).inside_s for _ in range(3)]
        yield _wait(what, *(min(of) for of in zip(*took, strict=True)))


def least(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds, of this process and those that it started: the least of three."""
    took = []
    for _ in range(3):
        before = os.times()
        work()
        after = os.times()
        took.append((after.elapsed - before.elapsed, sum(after[:4]) - sum(before[:4])))
    wall_s, processor_s = zip(*took, strict=True)
    return min(wall_s), min(processor_s)


def _wait(what: str, wall_s: float, processor_s: float) -> dict[str, object]:
    return {"what": what, "wall s": f"{wall_s:.2f}", "CPU s": f"{processor_s:.2f}"}


def loops(rows: list[BenchRow]) -> Iterator[dict[str, object]]:
    """The rows of ``own_loop_rows`` as the page shows them."""
    for row in rows:
        yield {
            "model": row.case.removesuffix(f"_{THREADS}_loops"),
            "engine": row.engine,
            "M events/s": f"{(row.events_per_s or 0) / 1e6:.2f}",
            "times SimPy": f"{row.ratio_to_simpy:.0f}",
            "times C's time": f"{row.time_of_c:.2f}",
        }


def markdown(rows: Iterable[Mapping[str, object]]) -> str:
    """A table."""
    rows = list(rows)
    cells = [list(rows[0]), ["---"] * len(rows[0]), *(list(map(str, row.values())) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def page(amount: Amount) -> str:
    """The whole page; some minutes."""
    here = machine()
    beside = own_loop_rows(amount, lambda what: None)
    text = TEXT.format(
        loops=markdown(loops(beside)),
        scaling=markdown(scaling()),
        waits=markdown(waits()),
        threads=THREADS,
        worth=WORTH // 10**6,
        before=here["load_before"],
        after=os.getloadavg()[0],
        **{name: here[name] for name in ("cpu", "cpus", "python")},
    )
    return text


if __name__ == "__main__":
    PAGE.write_text(page(Amount()))
