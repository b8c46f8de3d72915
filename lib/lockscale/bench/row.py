# SPDX-License-Identifier: MIT
"""One line of the benchmark."""

import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """``seconds`` is a median of wall times; None where a case has no such value.

    ``events_per_s``: transitions per wall second, completed cycles times the steps of the compiled
    path, for every engine alike. ``agreement``: an engine's rate at each number of threads.
    """

    case: str
    engine: str
    seconds: float
    events_per_s: float | None = None
    ratio_to_simpy: float | None = None
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
