# SPDX-License-Identifier: MIT
"""What every booted machine offers, whatever carries the commands to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lockscale.errors import RunFailed


@dataclass(frozen=True)
class Completed:
    """A command that ended on the machine."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str

    def check(self) -> None:
        """Raise RunFailed with the command's last words unless it succeeded."""
        if self.status:
            said = (self.stderr.strip() or self.stdout.strip()).splitlines()
            raise RunFailed(
                f"`{' '.join(self.argv)}` ended with status {self.status} on the target: "
                f"{said[-1] if said else 'it said nothing'}"
            )


class Machine(Protocol):
    """A booted machine. Arguments are passed as a list and never go through a shell unquoted."""

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        """Run one command to its end, whatever its status."""
        ...

    def run_all(self, steps: Sequence[Sequence[str]], *, timeout_s: float = 60) -> list[Completed]:
        """Run commands one after the other in one go; later ones run even if one fails."""
        ...


def must(machine: Machine, argv: Sequence[str], *, timeout_s: float = 60) -> str:
    """The standard output of a command that has to succeed."""
    done = machine.run(argv, timeout_s=timeout_s)
    done.check()
    return done.stdout
