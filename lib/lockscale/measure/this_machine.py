# SPDX-License-Identifier: MIT
"""What provenance says of the machine that this runs on, without its name."""

import os
import platform
from pathlib import Path
from typing import Any


def host() -> dict[str, Any]:
    """CPU model, cores, memory, kernel; what is unknown is null."""
    return {
        "cpu_model": _cpu_model(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), None)
