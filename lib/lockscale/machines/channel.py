# SPDX-License-Identifier: MIT
"""Commands into a guest through a folder that host and guest share.

The host writes a job and rings with one line on the guest script's standard input, so an idle guest
sleeps in read() and takes no processor time from what is measured. The job writes each command's
output and status to files; the rename of `done.N` says that all of them are whole.
"""

import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from lockscale.errors import RunFailed, printable
from lockscale.files import write_text
from lockscale.machines.machine import Completed, Step, Write, argv_of, refuse_much
from lockscale.machines.run_delay import RunDelay

AGENT = """\
#!/bin/sh
# Runs in the guest: one line on standard input is the number of the job to run.
cd "$1" || exit 9
: > ready.part && mv ready.part ready
while read -r n; do
    sh "job.$n" < /dev/null > "job.$n.log" 2>&1
    : > "done.$n.part" && mv "done.$n.part" "done.$n"
done
sync
"""
POLL_S = 0.01


class Channel:
    """The host's end. `alive` raises when the guest is gone, so that no wait outlives it.

    delay: the guest's processes, for which the time does not count in which they had no processor.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs = 0
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "agent.sh", AGENT)

    @property
    def guest_command(self) -> str:
        """What the guest has to run as its only script."""
        return shlex.join(["sh", str(self.folder / "agent.sh"), str(self.folder)])

    def wait_ready(self, alive: Callable[[], None], timeout_s: float, delay: RunDelay) -> None:
        self._wait(self.folder / "ready", alive, timeout_s, "boot", delay)

    def run_all(
        self,
        steps: Sequence[Step],
        doorbell: IO[bytes],
        alive: Callable[[], None],
        timeout_s: float,
        delay: RunDelay,
    ) -> list[Completed]:
        """Run `steps` in order in the guest and return what each printed and its status."""
        self.jobs += 1
        n = self.jobs
        write_text(self.folder / f"job.{n}", "".join(_job_line(n, k, s) for k, s in enumerate(steps)))
        doorbell.write(f"{n}\n".encode())
        doorbell.flush()
        self._wait(self.folder / f"done.{n}", alive, timeout_s, shlex.join(argv_of(steps[-1])), delay)
        return [self._completed(n, k, step) for k, step in enumerate(steps)]

    def so_far(self) -> str:
        """What the command that runs now has printed; after it, what it printed."""
        files = filter(_is_plain, self.folder.glob(f"job.{self.jobs}.*.out"))
        try:
            return max(files, key=lambda file: int(file.suffixes[-2][1:])).read_text(errors="replace")
        except (OSError, ValueError):  # none is there yet, or none any more
            return ""

    def _completed(self, n: int, k: int, step: Step) -> Completed:
        files = [self.folder / f"job.{n}.{k}.{end}" for end in ("out", "err", "status")]
        if not all(map(_is_plain, files)) or not files[-1].read_text().strip():
            raise RunFailed(
                f"`{printable(shlex.join(argv_of(step)), 200)}` left no status: it was killed in the guest "
                f"(raise memory_mib if memory ran out), or the disk of {self.folder} is full"
            )
        refuse_much(argv_of(step), max(file.stat().st_size for file in files))
        out, err, status = (file.read_text(errors="replace") for file in files)
        return Completed(tuple(argv_of(step)), int(status), out, err)

    def _wait(
        self, sign: Path, alive: Callable[[], None], timeout_s: float, what: str, delay: RunDelay
    ) -> None:
        ends_s = began_s = time.monotonic()
        ends_s += timeout_s
        while not sign.exists():
            alive()
            if (now_s := time.monotonic()) > ends_s:
                lost_s = delay.seconds()
                ends_s = began_s + timeout_s + lost_s
                if now_s > ends_s:
                    starved = f", plus {lost_s:.0f} s without a CPU" if lost_s >= 1 else ""
                    raise TimeoutError(f"`{what}` did not end within {timeout_s:.0f} s{starved}")
            time.sleep(POLL_S)


def _is_plain(file: Path) -> bool:
    """There, and neither a pipe nor a link: a guest under test may lead to /dev/zero, which never ends."""
    return file.is_file() and not file.is_symlink()


def _job_line(n: int, k: int, step: Step) -> str:
    stem = f"job.{n}.{k}"
    command = shlex.join(argv_of(step))
    if isinstance(step, Write):  # printf is built into the shell: no process for a write
        command = f"{{ {command} > {shlex.quote(step.path)}; }}"
    return f"{command} > {stem}.out 2> {stem}.err; echo $? > {stem}.status\n"
