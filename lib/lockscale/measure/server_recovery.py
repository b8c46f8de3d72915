# SPDX-License-Identifier: MIT
"""A target file's server: its parts, its lock, and its way back to its own kernel.

Whatever ends a run (an arm that hangs, a lost connection, a controller that died), the server is left on the
kernel that it had: at the end of `on_own_kernel()`, or when the next run begins on it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lockscale.errors import BadInput, RunFailed
from lockscale.files import expanded
from lockscale.machines.boot_watchdog import BootWatchdog, I6300esb, NoWatchdog
from lockscale.machines.disk_guard import NamedDisk
from lockscale.machines.machine import Machine
from lockscale.machines.server_boot import go_home
from lockscale.machines.server_lock import RETAKE_S, SILENT_S, HeldByOther, ServerLock
from lockscale.machines.ssh import SshMachine
from lockscale.machines.ssh_host import SshHost
from lockscale.measure.rows import Origin
from lockscale.measure.target import holder_of, in_use
from lockscale.progress import tell
from lockscale.study.file import SshTarget


def host_of(target: SshTarget) -> SshHost:
    """How the server is reached."""
    key, hosts = (expanded(x) if x else None for x in (target.identity_file, target.known_hosts))
    return SshHost(target.host, target.user, target.port, identity_file=key, known_hosts=hosts)


def machine_of(target: SshTarget) -> SshMachine:
    """The server, to be entered."""
    return SshMachine(host_of(target))


def disk_of(target: SshTarget) -> NamedDisk:
    """The only disk of the server that may be formatted."""
    return NamedDisk(Path(target.disk.by_id), target.disk.serial, target.disk.size_bytes)


def guard_of(target: SshTarget) -> BootWatchdog:
    """What brings the server back from a hang before user space."""
    return I6300esb() if target.boot.guard == "i6300esb" else NoWatchdog()


@contextmanager
def server_lock(target: SshTarget, what: str, *, run: str | None = None) -> Iterator[ServerLock]:
    """The server's lock, taken for `what`. Raises BadInput with who has it and since when.

    run: a run that another controller may go on with. Anything else is nobody else's, whatever it is called.
    """
    lock = ServerLock(host_of(target), run, holder_of(what), target.boot.boot_timeout_s)
    try:
        with refuse_if_taken(target):
            lock.take()
            yield lock
    finally:
        lock.release()


@contextmanager
def refuse_if_taken(target: SshTarget) -> Iterator[None]:
    """Who has the server instead, and since when, as one sentence."""
    try:
        yield
    except HeldByOther as other:
        dead = f"if its controller died, ask again in {SILENT_S} s, or in {RETAKE_S} s where it was rebooting"
        raise BadInput(f"{in_use(f'target {target.name}', other.said)}; {dead}") from None


def refuse_other_kind(target: SshTarget, machine: Machine) -> None:
    """Rows of a virtual machine never pass as hardware's. Raises BadInput where the file says otherwise."""
    said = _hypervisor(machine)
    if not said:
        return  # no systemd to ask: the file's word stands
    if (is_virtual := said != "none") != target.virtual:
        what = f"a virtual machine ({said})" if is_virtual else "not a virtual machine"
        raise BadInput(f"target {target.name} is {what}: set virtual: {str(is_virtual).lower()} in its file")


def is_emulated(machine: Machine) -> bool:
    """Whether its processors are an emulator's threads (TCG), for which kernel text is patched with care."""
    return _hypervisor(machine) == "qemu"


def origin_of(target: SshTarget, machine: Machine) -> Origin:
    """What its rows say: a virtual machine that systemd does not know as QEMU's is told as any other one."""
    if not target.virtual:
        return "hardware"
    return "qemu" if _hypervisor(machine) in ("qemu", "kvm") else "vm"


def _hypervisor(machine: Machine) -> str:
    """As systemd calls it, `none` on hardware; nothing where there is no systemd to ask."""
    return machine.run(["systemd-detect-virt", "--vm"]).stdout.strip()


def host_facts(machine: Machine) -> dict[str, Any]:
    """CPU model, cores, memory, kernel of a machine; what it does not say is null."""
    lscpu, memory, uname = machine.run_all([["lscpu", "--json"], ["cat", "/proc/meminfo"], ["uname", "-r"]])
    cpu = {
        one["field"].rstrip(":"): one.get("data")
        for one in (json.loads(lscpu.stdout).get("lscpu", []) if lscpu.status == 0 else [])
    }
    kib = next((x.split()[1] for x in memory.stdout.splitlines() if x.startswith("MemTotal:")), None)
    return {
        "cpu_model": cpu.get("Model name"),
        "cpus": int(cpu["CPU(s)"]) if "CPU(s)" in cpu else None,
        "memory_bytes": int(kib) * 1024 if kib else None,
        "kernel": uname.stdout.strip() or None,
    }


@contextmanager
def on_own_kernel(
    target: SshTarget, what: str, *, run: str | None = None
) -> Iterator[tuple[SshMachine, ServerLock]]:
    """The server held, on its own kernel now and at the end, whatever was booted in between."""
    with server_lock(target, what, run=run) as lock, machine_of(target) as server:
        server.end_others()
        _boot_own_kernel(server, target, lock)  # a controller that died may have left an arm running
        refuse_other_kind(target, server)
        try:
            yield server, lock
        except BaseException as error:
            _boot_own_kernel_after(error, server, target, lock)
            raise
        _boot_own_kernel(server, target, lock)


def _boot_own_kernel(server: SshMachine, target: SshTarget, lock: ServerLock) -> None:
    """The server on its own kernel, and still held: a reboot lets go of the lock, a failed one too."""
    with refuse_if_taken(target):
        before = server.boot_id()
        lock.keep()
        go_home(server, target.boot.boot_timeout_s)
        if server.boot_id() != before:
            lock.take()


def _boot_own_kernel_after(
    error: BaseException, server: SshMachine, target: SshTarget, lock: ServerLock
) -> None:
    """Home whatever went wrong; where that fails too, the sentence says both."""
    try:
        _boot_own_kernel(server, target, lock)
    except (BadInput, RunFailed) as later:
        if isinstance(error, KeyboardInterrupt):  # whoever runs our notebook hears no more of it
            tell(str(later))
        raise RunFailed(f"{str(error) or 'interrupted'}; besides, {later}") from error
