# SPDX-License-Identifier: MIT
"""What every booted machine offers, whatever carries the commands to it; and this machine itself.

Before any number is taken, uname and build-id are asserted from inside.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from lockscale.errors import RunFailed, printable
from lockscale.kernels.build import Kernel
from lockscale.kernels.identity import build_id_from_notes
from lockscale.programs import need


@dataclass(frozen=True)
class Write:
    """A step that writes `text` to the file `path` of the machine, without starting a process."""

    path: str
    text: str


Step = Sequence[str] | Write


def argv_of(step: Step) -> Sequence[str]:
    """The command that a step is; that of a Write prints what is to go into the file."""
    return ("printf", "%s", step.text) if isinstance(step, Write) else step


@dataclass(frozen=True)
class Completed:
    """A step that ended on the machine."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str

    @property
    def last_words(self) -> str:
        """The last line that it printed, of its errors if there are any."""
        return printable(
            (self.stderr.strip() or self.stdout.strip() or "it printed nothing").splitlines()[-1], 500
        )

    def check(self) -> None:
        """Raise RunFailed with the command's last words unless it succeeded."""
        if self.status:
            shown = printable(" ".join(self.argv), 500)
            raise RunFailed(f"`{shown}` exited with status {self.status} on the target: {self.last_words}")


class Machine(Protocol):
    """A booted machine. Arguments are passed as a list and never go through a shell unquoted.

    `emulated`: its processors are threads of an emulator (TCG), not of a processor.
    """

    emulated: bool = False

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        """Run one command to its end, whatever its status."""
        return self.run_all([argv], timeout_s=timeout_s)[0]

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        """Carry out steps one after the other in one go; later ones run even if one fails."""
        ...


def must(machine: Machine, argv: Sequence[str], *, timeout_s: float = 60) -> str:
    """The standard output of a command that has to succeed."""
    done = machine.run(argv, timeout_s=timeout_s)
    done.check()
    return done.stdout


def must_all(machine: Machine, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
    """The same for several steps; the first failure is the one that is told."""
    done = machine.run_all(steps, timeout_s=timeout_s)
    for one in done:
        one.check()
    return done


class LocalMachine(Machine):
    """A machine without a boot. What runs here ends with its caller, a killed one too."""

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        return [_written(step) if isinstance(step, Write) else _run(step, timeout_s) for step in steps]


def _written(step: Write) -> Completed:
    said = ""
    try:
        Path(step.path).write_text(step.text)
    except OSError as error:
        said = f"{step.path}: {error.strerror}"
    return Completed(tuple(argv_of(step)), int(bool(said)), "", said)


MOST_PRINTED = 1 << 28  # bytes of one command: it is held in memory


def refuse_much(argv: Sequence[str], size: int) -> None:
    """RunFailed where a command printed more than is taken."""
    if size > MOST_PRINTED:
        shown = printable(" ".join(argv), 200)
        raise RunFailed(
            f"`{shown}` printed {size >> 20} MiB, more than the limit of {MOST_PRINTED >> 20} MiB"
        )


def _run(argv: Sequence[str], timeout_s: float) -> Completed:
    tied = [need("setpriv"), "--pdeathsig", "KILL", *argv]
    env = {**os.environ, "LC_ALL": "C"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # not close_fds: what outlives a killed caller by a moment still holds the machine's lock
        process = subprocess.Popen(
            tied, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, start_new_session=True,
            close_fds=False,
        )  # fmt: skip
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"`{' '.join(argv)}` did not end within {timeout_s:.0f} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        refuse_much(argv, max(stream.seek(0, os.SEEK_END) for stream in (out, err)))
        text, errors = (_all_of(stream).decode(errors="replace") for stream in (out, err))
    return Completed(tuple(argv), process.returncode, text, errors)


def _all_of(stream: IO[bytes]) -> bytes:
    stream.seek(0)
    return stream.read()


NOTES = "/sys/kernel/notes"


def assert_runs(machine: Machine, kernel: Kernel) -> str:
    """The running kernel's build-id, after comparing it and uname -r with what was built."""
    uname, notes = must_all(machine, [["uname", "-r"], ["od", "-A", "n", "-v", "-t", "x1", NOTES]])
    release = uname.stdout.strip()
    build_id = build_id_from_notes(bytes.fromhex("".join(notes.stdout.split())))
    asserted = (("Linux", release, kernel.release), ("build-id", build_id, kernel.build_id))
    for what, runs, built in asserted:
        if runs != built:
            raise RunFailed(f"the target runs {what} {runs}, not the built {built}: nothing is measured")
    return build_id
