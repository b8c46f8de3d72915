# SPDX-License-Identifier: MIT
"""The running test server: booted again whenever it resets, reached only by ssh on loopback."""

import contextlib
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockscale.machines.ssh_host import SshHost
from lockscale.programs import need
from server.boot_sector import run
from server.image import Image
from server.qemu import SYSTEM_SERIAL, Disk, Hardware, Qemu, free_port

BOOT_TIMEOUT_S = 600  # 14 to 28 s on an idle machine, six times that on a busy one
ALIAS = "testserver"
BOOT_ID = "/proc/sys/kernel/random/boot_id"

# What the disks are for: two that a target file may name, and the rest for the disks' table of reasons.
DATA_MIB = {"LOCKSCALE1": 2048, "LOCKSCALE2": 1024}
SMALL_MIB = {f"SMALL{n:02d}": 64 for n in range(1, 13)} | {"MEDIUM1": 400, "MEDIUM2": 400}
READ_ONLY_MIB = {"READONLY1": 64}


@dataclass
class Server:
    """`disks`: every disk but the system's, by serial. `folder` holds its images and its console."""

    image: Image
    folder: Path
    hardware: Hardware
    port: int = field(default_factory=free_port)
    boots: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.console = self.folder / "console.log"
        self.system = Disk(self.folder / "system.qcow2", SYSTEM_SERIAL)
        run(need("qemu-img"), "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", self.image.disk,
            self.system.image)  # fmt: skip
        sizes = DATA_MIB | SMALL_MIB | READ_ONLY_MIB
        self.disks = {serial: self._new_disk(serial, mib) for serial, mib in sizes.items()}
        self._write_ssh_config()
        self._is_wanted = threading.Event()
        self._keeper: threading.Thread | None = None
        disks = (self.system, *self.disks.values())
        self._qemu = Qemu(self.hardware, disks, self.console, self.port)

    def _new_disk(self, serial: str, size_mib: int) -> Disk:
        disk = Disk(self.folder / f"{serial}.img", serial, read_only=serial in READ_ONLY_MIB)
        with disk.image.open("wb") as stream:
            stream.truncate(size_mib << 20)
        return disk

    def _write_ssh_config(self) -> None:
        """An ssh_config that knows the server as `testserver`, its key, and its host key."""
        self.known_hosts = self.folder / "known_hosts"
        kind, key = self.image.host_key.split()[:2]
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {key}\n")
        self.ssh_config = self.folder / "ssh_config"
        self.ssh_config.write_text(
            f"Host {ALIAS}\n  HostName 127.0.0.1\n  Port {self.port}\n  User root\n"
            f"  IdentityFile {self.image.identity_file}\n  IdentitiesOnly yes\n  BatchMode yes\n"
            f"  UserKnownHostsFile {self.known_hosts}\n  StrictHostKeyChecking yes\n  ConnectTimeout 10\n"
        )

    @property
    def is_on(self) -> bool:
        return self._is_wanted.is_set()

    def start(self) -> None:
        """Switch it on and wait until ssh answers. From now on a reset boots it again."""
        self._is_wanted.set()
        self._keeper = threading.Thread(target=self._keep_up, daemon=True)
        self._keeper.start()
        try:
            self.wait_for_ssh(BOOT_TIMEOUT_S / 2)
        except AssertionError:  # now and then an emulated processor loses its timer, and the boot hangs
            self.power_cycle()

    def _keep_up(self) -> None:
        """A fresh process for each boot: steadier than warm resets under emulation."""
        while self._is_wanted.is_set():
            self.boots += 1
            self._qemu.start()
            if self._qemu.wait_for_end() not in (0, -signal.SIGKILL):
                return  # it did not even start: see its messages, and do not try for ever

    def power_cycle(self, *, wait: bool = True) -> None:
        """Cut the power and switch it on again; nothing is synced."""
        self._qemu.kill()
        if wait:
            self.wait_for_ssh()

    def stop(self) -> None:
        """Cut the power for good."""
        self._is_wanted.clear()
        while self._keeper and self._keeper.is_alive():
            self._qemu.kill()
            self._keeper.join(0.2)  # it may have been starting the next one

    @contextlib.contextmanager
    def switched_off(self) -> Iterator[None]:
        """Hold the server off, its disks' images at rest; it boots again afterwards."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def run(self, *argv: str, user: str = "root", timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """One command over plain ssh, whatever its status: the tests' own way in."""
        ssh = [need("ssh"), "-F", str(self.ssh_config), f"{user}@{ALIAS}", shlex.join(argv)]
        return subprocess.run(
            ssh, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s
        )

    def must(self, *argv: str, timeout_s: float = 120) -> str:
        """The output of a command that has to succeed."""
        done = self.run(*argv, timeout_s=timeout_s)
        assert done.returncode == 0, f"{argv} ended with {done.returncode}: {done.stderr or done.stdout}"
        return done.stdout

    @property
    def host(self) -> SshHost:
        """How a target file would name it."""
        return SshHost(ALIAS, ssh_config=self.ssh_config)

    def boot_id(self) -> str:
        return self.must("cat", BOOT_ID).strip()

    def wait_for_ssh(self, timeout_s: float = BOOT_TIMEOUT_S) -> None:
        """Until ssh answers, or an assertion with what the console said last."""
        self.wait_for_boot(timeout_s=timeout_s)

    def wait_for_boot(self, *, after: str = "", timeout_s: float = BOOT_TIMEOUT_S) -> None:
        """The same, under another boot_id than `after`."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s and self._keeper and self._keeper.is_alive():
            with contextlib.suppress(subprocess.TimeoutExpired):
                done = self.run("cat", BOOT_ID, timeout_s=30)
                if done.returncode == 0 and done.stdout.strip() != after:
                    return
            time.sleep(0.5)
        messages = self.console.with_suffix(".qemu").read_text(errors="replace")
        raise AssertionError(f"no ssh; qemu said: {messages}; its console said:\n{self.console_tail()}")

    def console_tail(self, lines: int = 40) -> str:
        """The last lines of the serial console, over all boots."""
        text = self.console.read_text(errors="replace") if self.console.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def images(self, serials: Sequence[str] = ()) -> dict[str, Path]:
        """The image file of each disk but the system's, by serial."""
        return {serial: self.disks[serial].image for serial in serials or self.disks}
