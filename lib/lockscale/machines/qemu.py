# SPDX-License-Identifier: MIT
"""Target qemu: a guest that runs our kernel over the host's user space (virtme-ng)."""

import os
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from lockscale.errors import BadInput, BootHung, RunFailed
from lockscale.kernels.logged_command import interrupts_later
from lockscale.machines.channel import Channel
from lockscale.machines.guest_init import write_starter
from lockscale.machines.guest_reaper import GuestReaper
from lockscale.machines.machine import Completed, Machine, Step
from lockscale.machines.run_delay import RunDelay
from lockscale.machines.virtual_time import (
    KERNEL_ARGUMENTS,
    SECTIONS,
    Section,
    VirtualTime,
    read_sections,
    refuse_library,
)
from lockscale.programs import find, need
from lockscale.progress import say
from lockscale.scratch import scratch_folder

CONSOLE_LINES_SHOWN = 12
PANIC = "Kernel panic"
# virtme-ng's own flags and a cache: the guest's root is read-only, and without one every command is
# read over 9p again. The shared folder is another mount, without a cache.
# The kernel has drivers of disks in memory, which would make some by themselves.
NO_OTHER_DISKS = ("null_blk.nr_devices=0", "brd.rd_nr=0")
ROOT_FLAGS = "version=9p2000.L,trans=virtio,access=any,msize=524288,cache=loose"


class Attached(Protocol):
    """A disk, or several, of a guest."""

    def qemu_options(self) -> str:
        """The options that attach it, separated by blanks; none for one in the guest's own memory."""
        ...


@dataclass(frozen=True)
class Guest:
    """What to boot: a kernel image, the size of the machine, how it is accelerated, its disk.

    ``kernel_arguments`` go behind virtme-ng's own on the kernel's command line. virtual_time: the machine
    that it is, in place of as many threads as it has CPUs.
    """

    image: Path
    cpus: int
    memory_mib: int
    accel: str
    boot_timeout_s: float
    disk: Attached | None = None
    kernel_arguments: tuple[str, ...] = ()
    virtual_time: VirtualTime | None = None


def vng() -> str:
    """virtme-ng's command: beside this Python, or on PATH."""
    beside = Path(sys.executable).with_name("vng")
    return str(beside) if beside.is_file() else need("vng")


def environment() -> dict[str, str]:
    """vng starts its own helpers by name: they lie beside it, which PATH may not name."""
    path = f"{Path(vng()).parent}:{os.environ.get('PATH') or os.defpath}"
    return {**os.environ, "LC_ALL": "C", "PATH": path}


def command(guest: Guest, shared: Path, script: str, *, for_people: bool = False) -> list[str]:
    """The virtme-ng command line that boots `guest` and runs `script` in it.

    for_people: with virtme-ng's own first process, so that QEMU is what starts and no script of ours.
    """
    program = need("qemu-system-x86_64")
    if not find("udevadm"):
        raise BadInput("udevadm is missing, so the guest has no script ports: apt-get install udev")
    # virtme-ng puts its words behind one another for a shell
    argv = [vng(), "--verbose", "--run", shlex.quote(str(guest.image)), "--force-9p", "--user", "root"]
    argv += ["--cpus", str(guest.cpus), "--memory", f"{guest.memory_mib}M"]
    argv += ["--cwd", "/", "--rwdir", shlex.quote(str(shared)), "--exec", script]
    of_machine = (*NO_OTHER_DISKS, *(KERNEL_ARGUMENTS if guest.virtual_time else ()))
    for argument in ("loglevel=4", f"rootflags={ROOT_FLAGS}", *of_machine, *guest.kernel_arguments):
        argv += ["--append", argument]
    if guest.virtual_time:
        argv += ["--disable-kvm", "--disable-microvm"]
        argv += ["--qemu", shlex.quote(str(guest.virtual_time.starter(shared.parent)))]
        argv += [f"--qemu-opts={words}" for words in guest.virtual_time.qemu_options(shared.parent)]
    elif guest.accel != "kvm":
        # Where code lies at another address in each process, TCG translates it anew for each.
        argv += ["--append", "norandmaps"]
        # thread=multi: one host thread a virtual CPU; else TCG serialises them and nothing contends
        argv += ["--disable-kvm", "--qemu-opts=-accel tcg,thread=multi"]
    if not (guest.virtual_time or for_people):
        argv += ["--qemu", shlex.quote(str(write_starter(shared.parent / "qemu", [program])))]
    if guest.disk and guest.disk.qemu_options():
        argv += [f"--qemu-opts={guest.disk.qemu_options()}"]
    return argv


def qemu_line(guest: Guest) -> str:
    """The exact qemu line that virtme-ng would run for `guest`, for a person to read or repeat."""
    with scratch_folder("line") as room:
        shared = room / "shared"
        shared.mkdir()
        argv = [*command(guest, shared, "true", for_people=True), "--dry-run"]
        silent = subprocess.DEVNULL
        # not close_fds: where we are killed amid it, it holds the machine's lock until it ends
        done = subprocess.run(
            argv, stdin=silent, capture_output=True, text=True, env=environment(), close_fds=False
        )
    if done.returncode:
        raise RunFailed(f"vng --dry-run ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


class NeverReady(RunFailed):
    """QEMU is gone, the guest did not panic, and none of its commands has run."""


class QemuMachine(Machine):
    """A booted guest, from `with` to its power-off. A hang or panic ends in the console's last lines."""

    def __init__(self, guest: Guest, room: Path | None = None) -> None:
        self.guest = guest
        # in virtual time one thread runs all CPUs: none patches what another executes
        self.emulated = guest.accel == "tcg" and guest.virtual_time is None
        # the reaper knows the name before the folder is there: nothing is left, whenever we are killed
        self.room = Path(room or tempfile.gettempdir()) / f"lockscale-guest-{secrets.token_hex(8)}"
        self.reaper = GuestReaper(self.room)
        self.room.mkdir(mode=0o700)
        self.console = self.room / "console.log"
        self.channel = Channel(self.room / "shared")
        self.process: subprocess.Popen[bytes] | None = None
        self.abandoned = False

    def __enter__(self) -> Self:
        try:
            try:
                self._boot()
            except NeverReady:
                if self.abandoned:
                    raise
                # Emulation itself crashes now and then. What an arm does wrong while it boots, it does again.
                say("QEMU exited while a guest booted: it is started once more")
                self._boot()
        except BaseException:
            self._remove()
            raise
        return self

    def _boot(self) -> None:
        argv = command(self.guest, self.channel.folder, self.channel.guest_command)
        if self.reaper.is_dismissed:  # of the boot before
            self.reaper = GuestReaper(self.room)
        # Append: qemu opens the same file again, and two offsets would overwrite each other. Not close_fds:
        # between here and watches() the guest itself holds the machine's lock.
        with self.console.open("ab") as console, interrupts_later():
            self.process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=console, stderr=console, start_new_session=True,
                env={**environment(), "TMPDIR": str(self.room)}, close_fds=False,
            )  # fmt: skip
        self.reaper.watches(self.process.pid)
        if self.abandoned:  # before there was a process to kill
            raise self._end("the guest was killed while it started")
        try:
            self.channel.wait_ready(self._boots, self.guest.boot_timeout_s, RunDelay(self.process.pid))
        except TimeoutError as late:
            late_by = str(late).partition(" did not end ")[2]
            raise self._end(f"the guest did not boot {late_by}", BootHung) from None

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        assert self.process and self.process.stdin
        try:
            delay = RunDelay(self.process.pid)
            return self.channel.run_all(steps, self.process.stdin, self._alive, timeout_s, delay)
        except TimeoutError as late:
            raise self._end(f"the guest hangs: {late}") from None
        except BrokenPipeError:
            raise self._end("the guest ended before its command did") from None

    def so_far(self) -> str:
        """What the command that runs now has printed to standard output, for who waits for it."""
        return self.channel.so_far()

    def sections(self, skip: int = 0) -> list[Section]:
        """In virtual time, what was counted between marks, but for the first `skip` of this boot."""
        return read_sections(self.room / SECTIONS, skip)

    @property
    def group(self) -> int:
        """The process group of QEMU, which runs the guest's CPUs as threads."""
        assert self.process
        return self.process.pid

    def cut(self) -> None:
        """Kill the guest where it stands: nothing is synced, unmounted or powered off."""
        self._kill()

    def abandon(self) -> None:
        """From another thread: the guest ends, whatever it is asked to do meanwhile."""
        self.abandoned = True
        self._kill()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self.process and self.process.stdin:
            self.process.stdin.close()
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self._kill()
        self._remove()

    def _remove(self) -> None:
        self._kill()
        shutil.rmtree(self.room, ignore_errors=True)

    def _boots(self) -> None:
        assert self.process
        if self.process.poll() is not None and PANIC not in self._console_text():
            refuse_library(self._console_text())
            raise NeverReady(str(self._end("QEMU exited while the guest booted")))
        self._alive()

    def _alive(self) -> None:
        assert self.process
        if self.process.poll() is not None:
            raise self._end("the guest ended before its command did")
        if PANIC in self._console_text():
            raise self._end("the guest panicked")

    def _console_text(self) -> str:
        return self.console.read_text(errors="replace") if self.console.exists() else ""

    def _end(self, why: str, kind: type[RunFailed] = RunFailed) -> RunFailed:
        """Kill the guest and say why, with what its console said last; of one that panicked RunFailed."""
        self._kill()
        lines = [x.rstrip() for x in self._console_text().splitlines() if x.strip()]
        said = "\n    ".join(lines[-CONSOLE_LINES_SHOWN:]) or "nothing"
        if panic := next((line for line in lines if PANIC in line), None):
            why, kind = f"the guest panicked ({panic.strip()})", RunFailed
        return kind(f"{why}; the console's last lines:\n    {said}")

    def _kill(self) -> None:
        if self.process:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
            if self.process.stdin and not self.process.stdin.closed:
                self.process.stdin.close()
        self.reaper.dismiss()
