# SPDX-License-Identifier: MIT
"""What every booted machine offers, whatever carries the commands to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lockscale.errors import RunFailed, printable


@dataclass(frozen=True)
class Write:
    """A step that writes `text` to the file `path` of the machine, without starting a process."""

    path: str
    text: str


Step = Sequence[str] | Write


@dataclass(frozen=True)
class Completed:
    """A step that ended on the machine."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str

    def check(self) -> None:
        """Raise RunFailed with the command's last words unless it succeeded."""
        if self.status:
            said = (self.stderr.strip() or self.stdout.strip()).splitlines()
            raise RunFailed(
                f"`{printable(' '.join(self.argv), 500)}` ended with status {self.status} on the target: "
                f"{printable(said[-1], 500) if said else 'it said nothing'}"
            )


class Machine(Protocol):
    """A booted machine. Arguments are passed as a list and never go through a shell unquoted.

    `emulated`: its processors are threads of an emulator (TCG), not of a processor.
    """

    emulated: bool

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        """Run one command to its end, whatever its status."""
        ...

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
