# SPDX-License-Identifier: MIT
"""What a user waits for in a new Python process: wall time from its start to its end, nothing taken off."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass

from lockscale.errors import RunFailed

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


@dataclass(frozen=True)
class Start:
    """Wall seconds of the whole process, and of the steps inside it that the script printed."""

    seconds: float
    inside_s: tuple[float, ...]


def start(script: str, **environment: str) -> Start:
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
