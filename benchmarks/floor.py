# SPDX-License-Identifier: MIT
"""Two models written by hand in C, which end with the simulator's numbers: how near to them it is."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lockscale.errors import BadInput, RunFailed
from lockscale.sim import load_model
from lockscale.sim.delays import PS_PER_NS, PS_PER_US
from lockscale.sim.engine import random as draws
from lockscale.sim.replicate import Counts

SOURCE = Path(__file__).with_name("floor.c")
MODELS = ("machine_repairman", "inode_claim")
TIMES = {
    "THINK_PS": ("machine_repairman", "think_us", PS_PER_US),
    "SERVICE_PS": ("machine_repairman", "service_us", PS_PER_US),
    "ELSEWHERE_PS": ("inode_claim", "elsewhere_us", PS_PER_US),
    "ACCESS_PS": ("inode_claim", "access_ns", PS_PER_NS),
    "HOLD_PS": ("inode_claim", "hold_ns", PS_PER_NS),
}


@dataclass(frozen=True)
class FloorRun:
    """Processor seconds of the loop, its transitions, and what ``numbers_of`` has of the simulator's run."""

    seconds: float
    transitions: int
    numbers: tuple[int, ...]


Floor = Callable[[str, int, int, int, int], FloorRun]
"""Of a model's name, threads, seed, warm-up and operations."""


def compile_floor(folder: Path) -> Floor:
    """Compile it in the folder with the C compiler's -O3; raises BadInput without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise BadInput("the benchmarks compare with C and there is no cc: apt-get install gcc")
    (folder / "tables.h").write_text(_tables())
    program = folder / "floor"
    argv = [compiler, "-O3", "-march=native", "-I", str(folder), str(SOURCE), "-o", str(program), "-lm"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunFailed(f"cc ended with status {done.returncode}: {done.stderr.strip()}")

    def run(model: str, threads: int, seed: int, warm_up: int, operations: int) -> FloorRun:
        numbers = map(str, (threads, seed, warm_up, operations))
        text = subprocess.run([program, model, *numbers], capture_output=True, text=True, check=True).stdout
        seconds, transitions, *found = text.split()
        return FloorRun(float(seconds), int(transitions), tuple(map(int, found)))

    return run


def _tables() -> str:
    """The simulator's tables for exponential numbers, bit for bit, and the models' default times."""
    lines = [f"#define TAIL_FROM {draws.TAIL_FROM.hex()}"]
    for name, values in (("WIDTHS", draws.WIDTHS), ("HEIGHTS", draws.HEIGHTS)):
        lines.append(f"static const double {name}[] = {{{', '.join(float(v).hex() for v in values)}}};")
    lines.append(f"static const long INSIDE[] = {{{', '.join(map(str, draws.INSIDE.tolist()))}}};")
    for macro, (model, parameter, ps) in TIMES.items():
        lines.append(f"#define {macro} {round(float(load_model(model).bind({})[parameter]) * ps)}L")
    return "\n".join(lines) + "\n"


def numbers_of(counts: Counts) -> tuple[int, ...]:
    """What the C program prints: window, retries, its lock's counts and times, sums over histograms."""
    w, of = counts.world, np.arange(counts.world.histograms.shape[2])
    (lock,) = w.locks
    states = (w.in_state_ps % 1_000_003) @ (1 + np.arange(w.in_state_ps.shape[1]))
    columns = ("requests", "acquisitions", "handovers", "wait_area_ps", "hold_area_ps")
    found: list[Any] = [counts.window_ps, counts.retries, *(lock[name] for name in columns)]
    found += [*(w.histograms[0] @ of), states.sum()]
    return tuple(map(int, found))
