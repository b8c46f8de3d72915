# SPDX-License-Identifier: MIT
"""One QEMU process of the test server: an old PC with a watchdog, a wire to loopback and its disks."""

import os
import signal
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from lockscale.programs import need

SYSTEM_SERIAL = "SYSTEM0"
GUEST_ADDRESS = "10.0.2.15"


@dataclass(frozen=True)
class Hardware:
    """The machine's size and how it is accelerated."""

    accel: str
    cpus: int = 2  # on two processors, an emulated server of four boots a third slower
    memory_mib: int = 2048


@dataclass(frozen=True)
class Disk:
    """An image that the server sees as /dev/disk/by-id/virtio-<serial>."""

    image: Path
    serial: str
    read_only: bool = False

    @property
    def by_id(self) -> Path:
        return Path("/dev/disk/by-id") / f"virtio-{self.serial}"

    def options(self) -> list[str]:
        is_qcow2 = self.image.suffix == ".qcow2"
        # A raw image loses nothing when qemu is killed; qcow2 keeps its tables in memory until a flush.
        kind = "format=qcow2,cache=writeback" if is_qcow2 else "format=raw,cache=unsafe"
        drive = f"file={str(self.image).replace(',', ',,')},if=none,id={self.serial},{kind},discard=unmap"
        device = f"virtio-blk-pci,drive={self.serial},serial={self.serial}"
        if self.read_only:
            drive += ",readonly=on"
        if self.serial == SYSTEM_SERIAL:
            device += ",bootindex=0"
        return ["-drive", drive, "-device", device]


@dataclass
class Qemu:
    """Start and end of one process. A reset or power-off of the server ends it (-no-reboot)."""

    hardware: Hardware
    disks: tuple[Disk, ...]
    console: Path
    ssh_port: int | None = None
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        log = self.console.with_suffix(".qemu")
        with log.open("ab") as stream:
            self.process = subprocess.Popen(
                self._argv(), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            )

    def wait_for_end(self, timeout_s: float | None = None) -> int:
        """Its exit status: 0 after a reset or power-off."""
        assert self.process
        return self.process.wait(timeout_s)

    def kill(self) -> None:
        """The power cut: the process is gone where it stands."""
        if self.process and self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _argv(self) -> list[str]:
        h = self.hardware
        accel = "tcg,thread=multi" if h.accel == "tcg" else h.accel
        forward = f",hostfwd=tcp:127.0.0.1:{self.ssh_port}-{GUEST_ADDRESS}:22" if self.ssh_port else ""
        argv = [need("setpriv"), "--pdeathsig", "KILL", need("qemu-system-x86_64")]
        argv += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        argv += ["-machine", "pc", "-accel", accel, "-cpu", "host" if h.accel == "kvm" else "max"]
        argv += ["-smp", str(h.cpus), "-m", f"{h.memory_mib}M"]
        argv += ["-device", "i6300esb", "-action", "watchdog=reset", "-device", "virtio-rng-pci"]
        argv += ["-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console"]
        argv += ["-netdev", f"user,id=wire,restrict=on{forward}"]
        argv += ["-device", "virtio-net-pci,netdev=wire,romfile="]
        return [*argv, *(option for disk in self.disks for option in disk.options())]


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
