# SPDX-License-Identifier: MIT
"""This machine as it is: commands run here, as the user who called, in a session of their own."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lockscale.errors import RunFailed
from lockscale.machines.machine import Completed, Step, Write
from lockscale.programs import need


class LocalMachine:
    """A machine without a boot. What runs here ends with its caller, a killed one too."""

    emulated = False

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        return self.run_all([argv], timeout_s=timeout_s)[0]

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        return [_written(step) if isinstance(step, Write) else _run(step, timeout_s) for step in steps]


def _written(step: Write) -> Completed:
    argv = ("printf", "%s", step.text)
    try:
        Path(step.path).write_text(step.text)
    except OSError as error:
        return Completed(argv, 1, "", f"{step.path}: {error.strerror}")
    return Completed(argv, 0, "", "")


def _run(argv: Sequence[str], timeout_s: float) -> Completed:
    tied = [need("setpriv"), "--pdeathsig", "KILL", *argv]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    env = {**os.environ, "LC_ALL": "C"}
    process = subprocess.Popen(tied, **pipes, env=env, start_new_session=True)  # type: ignore[call-overload]
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise RunFailed(f"no end of `{' '.join(argv)}` within {timeout_s:.0f} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return Completed(tuple(argv), process.returncode, _text(out), _text(err))


def _text(said: bytes) -> str:
    return said.decode(errors="replace")
