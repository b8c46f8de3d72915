# SPDX-License-Identifier: MIT
"""How much to run, what one line of the benchmark says, and new processes whose wall time is measured."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockscale.errors import RunFailed

Done = Callable[[str], None]
"""Told after each step what it was."""

ENGINES = ("lockscale", "simpy", "ciw")


@dataclass(frozen=True)
class Amount:
    """By ``counted_us`` of simulated time a round of 4 replications takes each engine 2 to 4 s.

    That gives 20 replications: standard errors of 0.01% (lockscale) and 0.1% (SimPy, Ciw) of the rate.
    At the knee as many replications are run, each for ``knee_share`` of the time.
    """

    rounds: int = 5
    replications: int = 4
    counted_us: Mapping[str, float] = field(
        default_factory=lambda: {"lockscale": 6e6, "simpy": 90e3, "ciw": 30e3}
    )
    knee_share: float = 0.25
    cold_starts: int = 1
    compared_columns: int | None = None  # of the published tables; None: all
    folded_mib: int = 1024  # of perf script's text
    moves: int = 50  # of each slider of the lock explorer
    shorter: int = 1  # the loops beside C and SimPy are run for so much less
    virtual_operations: int = 2400  # of a load on a machine in virtual time; 0: none is booted

    def steps(self) -> int:
        """How often ``Done`` is told."""
        return (
            len(ENGINES) * (self.rounds + 1)
            + 4 * self.rounds
            + 2
            + self.cold_starts
            + 4
            + (self.virtual_operations > 0)
        )


@dataclass(frozen=True)
class BenchRow:
    """``seconds`` is a median of wall times; None where a case has no such value.

    ``events_per_s``: transitions per wall second, completed cycles times the steps of the compiled
    path, for every engine alike. ``time_of_c``: times that of C by hand. ``agreement``: an engine's rate
    at each number of threads.
    """

    case: str
    engine: str
    seconds: float
    events_per_s: float | None = None
    ratio_to_simpy: float | None = None
    time_of_c: float | None = None
    agrees: bool | None = None
    target: str | None = None
    met: bool | None = None
    agreement: list[dict[str, Any]] = field(default_factory=list)
    note: str = ""


def machine() -> dict[str, Any]:
    """Processor, CPUs this process may use, load average before the run (0: an idle machine), Python."""
    return {
        "cpu": _cpu(),
        "cpus": len(os.sched_getaffinity(0)),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@dataclass(frozen=True)
class Start:
    """What a user waits for in a new Python process, from its start to its end, nothing taken off.

    Wall seconds of the whole process, and of the steps inside it that the script printed.
    """

    seconds: float
    inside_s: tuple[float, ...]


def start_process(script: str, **environment: str) -> Start:
    """Run a script in a new process that may keep its byte code, as users' processes do."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    started_s = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - started_s
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise RunFailed(f"a new Python process ended with status {done.returncode}: {last}")
    return Start(seconds, tuple(map(float, done.stdout.split())))
