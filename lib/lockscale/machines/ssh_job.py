# SPDX-License-Identifier: MIT
"""Steps as a job that a supervisor on the server carries out once, whatever becomes of the connection."""

import contextlib
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput, RunFailed, printable
from lockscale.machines import ssh_scripts
from lockscale.machines.machine import Completed, Step, Write
from lockscale.machines.ssh_connection import Connection
from lockscale.machines.ssh_host import Lost
from lockscale.machines.ssh_shell import RootShell

GRACE_S = 120.0  # over the job's own time: to start, to be ended, and to send what it printed


@dataclass(frozen=True)
class Session:
    """A folder on the server for the jobs of one controller, gone when it leaves or the server boots."""

    name: str
    room: str
    boot_id: str

    @property
    def folder(self) -> str:
        return f"{self.room}/{self.name}"


@dataclass(frozen=True)
class Job:
    """Steps under a number that no other job of the session has."""

    session: Session
    number: int
    steps: tuple[Step, ...]
    timeout_s: float

    def attend(self, connection: Connection) -> list[Completed]:
        """Start the job unless it was started, wait for its end, and fetch what it printed.

        Lost with the connection: attend again with another one. RunFailed when there is no result.
        """
        text = self._script()
        seconds = max(1, math.ceil(self.timeout_s))
        arguments = [self.session.folder, str(self.number), self.session.boot_id, str(seconds)]
        arguments += [str(len(text)), str(len(self.steps))]
        with RootShell(connection, ssh_scripts.RUN, arguments, text, seconds + GRACE_S) as shell:
            word, _, late = shell.line().partition(" ")
            if word == "cut":
                raise Lost("the job did not arrive whole")
            if word != "done":
                raise RunFailed(self._no_result(word, connection.host.host))
            answers = [_answer(shell) for _ in self.steps]
            with contextlib.suppress(Lost):  # all is here; what stays there goes with the session
                shell.say("arrived")
        return self._completed(answers, bool(late))

    def cancel(self, connection: Connection) -> None:
        """End the job, or keep it from starting."""
        arguments = [self.session.folder, str(self.number)]
        with RootShell(connection, ssh_scripts.CANCEL, arguments, b"", GRACE_S) as shell:
            shell.say("")

    def _script(self) -> bytes:
        folder = shlex.quote(f"{self.session.folder}/{self.number}")
        lines = ["export LC_ALL=C", "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin", "umask 022", "cd /"]
        lines += [_line(f"{folder}/{k}", step) for k, step in enumerate(self.steps)]
        try:
            text = "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise BadInput(f"`{self._shown(0)}` holds a character that no file or command can hold") from None
        if b"\0" in text:
            raise BadInput(f"`{self._shown(0)}` holds a NUL, which ends an argument: it is not run")
        return text

    def _completed(self, answers: Sequence[tuple[str, bytes, bytes]], late: bool) -> list[Completed]:
        done = []
        for number, (status, out, err) in enumerate(answers):
            if not status.isdigit():
                raise RunFailed(
                    f"`{self._shown(number)}` did not end within {self.timeout_s:.0f} s and was ended"
                    if late
                    else f"what `{self._shown(number)}` printed did not fit under {self.session.room}"
                )
            argv = tuple(_argv(self.steps[number]))
            done.append(
                Completed(argv, int(status), out.decode(errors="replace"), err.decode(errors="replace"))
            )
        return done

    def _no_result(self, word: str, name: str) -> str:
        shown = self._shown(len(self.steps) - 1)
        return {
            "rebooted": f"{name} booted anew while `{shown}` ran: nothing is known of its end",
            "gone": f"this session's folder on {name} is gone: `{shown}` did not run",
            "full": f"the disk under {self.session.room} on {name} is full: `{shown}` did not run",
            "over": f"`{shown}` was ended, or its result fetched, before: it does not run again",
            "died": f"what supervised `{shown}` on {name} was killed: was its memory used up?",
        }.get(word, f"{name} answers `{printable(word)}` instead of the end of `{shown}`")

    def _shown(self, number: int) -> str:
        return printable(shlex.join(_argv(self.steps[number])), 200)


def _answer(shell: RootShell) -> tuple[str, bytes, bytes]:
    """A step's status, "-" where it has none, and what it wrote to its two streams."""
    status, out_bytes, err_bytes = shell.line().split()
    return status, shell.exactly(int(out_bytes)), shell.exactly(int(err_bytes))


def _line(stem: str, step: Step) -> str:
    """In a subshell: no step changes the next. A quoted first word is neither keyword nor variable."""
    first, *others = _argv(step)
    command = " ".join([_quoted(first), *map(shlex.quote, others)])
    if isinstance(step, Write):  # printf is built into the shell: no process for a write
        command = f"{command} > {shlex.quote(step.path)}"
    return f"( {command} ) > {stem}.out 2> {stem}.err; echo $? > {stem}.status"


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _argv(step: Step) -> Sequence[str]:
    return ("printf", "%s", step.text) if isinstance(step, Write) else step
