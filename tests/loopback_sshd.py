# SPDX-License-Identifier: MIT
"""A real sshd on loopback, with its own port, host key and authorized_keys; the tests' user logs in.

Who is not root gets a `sudo` that lets through, and every job a systemd-run that needs no systemd, so that
a test means the same for everybody. Where no ssh server is installed, it is what setup/test-packages.toml
unpacks under .cache, which has no user `sshd`: libnss-wrapper lends it one.
"""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import fake_systemd
from lockscale import paths
from lockscale.errors import BadInput, RunFailed
from lockscale.machines.ssh import SshMachine
from lockscale.machines.ssh_host import SshHost
from lockscale.programs import need

UP_S = 30
UNPACKED = paths.CACHE / "unpacked"
UNPRIVILEGED = "sshd:x:65534:65534::/run/sshd:/usr/sbin/nologin\n"  # who reads a login before it is let in
# of OpenSSH 9.8 and later, which is several programs
PARTS = {"SshdSessionPath": "sshd-session", "SshdAuthPath": "sshd-auth"}


def unpacked_lines() -> tuple[str, ...]:
    """Where an unpacked sshd finds its parts."""
    there = {word: UNPACKED / "usr/lib/openssh" / name for word, name in PARTS.items()}
    return tuple(f"{word} {path}" for word, path in there.items() if path.exists())


def unpacked_env(folder: Path) -> dict[str, str]:
    """What lets an unpacked sshd run: its libraries, and a passwd(5) in `folder` with one user more."""
    (wrapper,) = UNPACKED.glob("usr/lib/*/libnss_wrapper.so")
    (folder / "passwd").write_text(Path("/etc/passwd").read_text() + UNPRIVILEGED)
    return {
        "LD_LIBRARY_PATH": str(wrapper.parent),
        "LD_PRELOAD": str(wrapper),
        "NSS_WRAPPER_PASSWD": str(folder / "passwd"),
        "NSS_WRAPPER_GROUP": "/etc/group",
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def new_key(path: Path, kind: str = "ed25519", passphrase: str = "") -> Path:
    """A private key at `path`, with its public key beside it."""
    argv = [need("ssh-keygen"), "-q", "-t", kind, "-N", passphrase, "-C", "test", "-f", str(path)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return path


@dataclass
class Sshd:
    """A running sshd. `folder` is a private one; `more`: lines of its sshd_config."""

    folder: Path
    more: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.key = new_key(self.folder / "user_key")
        self.host_key = new_key(self.folder / "host_key")
        self.known_hosts = self.folder / "known_hosts"
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        fake_systemd.install(self.bin, self.folder / "units")
        self.sudo('[ "$1" = -n ] && shift; exec "$@"')
        shutil.copy(self.key.with_suffix(".pub"), self.folder / "authorized_keys")
        self.write_known_hosts()
        self.ssh_config = self.folder / "ssh_config"
        self.ssh_config.write_text("")
        (self.folder / "sshd_config").write_text("\n".join(self._config()) + "\n")
        self.process: subprocess.Popen[bytes] | None = None

    def _config(self) -> tuple[str, ...]:
        path = f"{self.bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return (
            f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self.host_key}",
            f"AuthorizedKeysFile {self.folder / 'authorized_keys'}", "PidFile none", "UsePAM no",
            "PasswordAuthentication no", "KbdInteractiveAuthentication no", "StrictModes no",
            "PermitRootLogin prohibit-password", "PrintMotd no", "LogLevel VERBOSE",
            f"SetEnv PATH={path}", *unpacked_lines(), *self.more,
        )  # fmt: skip

    def write_known_hosts(self, port: int | None = None, key: Path | None = None) -> None:
        public = (key or self.host_key).with_suffix(".pub").read_text().split()[:2]
        self.known_hosts.write_text(f"[127.0.0.1]:{port or self.port} {' '.join(public)}\n")

    def sudo(self, body: str) -> None:
        """What the user's `sudo` does."""
        (self.bin / "sudo").write_text(f"#!/bin/sh\n{body}\n")
        (self.bin / "sudo").chmod(0o755)

    def uid(self, number: int) -> None:
        """Let the user be `number`: sudo is asked for, or not, by what id -u says."""
        (self.bin / "id").write_text(f"#!/bin/sh\necho {number}\n")
        (self.bin / "id").chmod(0o755)

    def host(self, port: int | None = None) -> SshHost:
        return SshHost(
            "127.0.0.1", getpass.getuser(), port or self.port, self.key, self.known_hosts, self.ssh_config
        )

    def start(self) -> None:
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        program, env = UNPACKED / "usr/sbin/sshd", dict(os.environ)
        if program.exists():
            env |= unpacked_env(self.folder)
        else:
            program = Path(need("sshd"))
        argv = [str(program), "-D", "-e", "-f", str(self.folder / "sshd_config")]
        with (self.folder / "sshd.log").open("ab") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        deadline_s = time.monotonic() + UP_S
        while time.monotonic() < deadline_s:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError((self.folder / "sshd.log").read_text())

    def children(self) -> list[int]:
        """The processes of sshd's connections."""
        assert self.process
        task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in task.read_text().split()]

    def kill_sessions(self) -> None:
        """Kill every connection's process, as a server does that runs out of memory."""
        for pid in self.children():
            os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.process = None


class Proxy:
    """A port on loopback whose bytes go to another one, until they are cut off or held up."""

    def __init__(self, to: int) -> None:
        self.to = to
        self.held = threading.Event()
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.accepted = 0
        self.cut_after: int | None = None
        self.cut_counts_back = True
        self.bytes_counted = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.to))
            except OSError:  # the server boots
                near.close()
                continue
            self.accepted += 1
            self.pairs.append((near, far))
            for source, sink, back in ((near, far, False), (far, near, True)):
                threading.Thread(target=self._pump, args=(source, sink, back), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, back: bool) -> None:
        try:
            while data := source.recv(1 << 14):
                while self.held.is_set():
                    time.sleep(0.02)
                sink.sendall(data)
                if back == self.cut_counts_back:
                    self._count(len(data))
        except OSError:
            pass
        self._close(source, sink)

    def _count(self, count: int) -> None:
        self.bytes_counted += count
        if self.cut_after is not None and self.bytes_counted > self.cut_after:
            self.cut_after = None
            self.cut()

    @staticmethod
    def _close(*ends: socket.socket) -> None:
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def cut_once(self, after_bytes: int, back: bool = True) -> None:
        """Cut when so many more bytes came back from the server, or went to it."""
        self.cut_counts_back, self.bytes_counted, self.cut_after = back, 0, after_bytes

    def cut(self) -> None:
        """Close every connection that there is now; new ones are let through."""
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            self._close(*pair)

    def close(self) -> None:
        self._close(self.listener)
        self.held.clear()
        self.cut()


def refusal(host: SshHost, jobs: Path) -> BadInput | RunFailed:
    """Why there is no session: one sentence."""
    with pytest.raises((BadInput, RunFailed)) as refused, SshMachine(host, jobs_folder=str(jobs)):
        pass
    said = refused.value
    assert "\n" not in str(said) and str(said)
    assert isinstance(said, BadInput | RunFailed)
    return said


def answers(host: SshHost, jobs: Path) -> bool:
    with SshMachine(host, jobs_folder=str(jobs)) as machine:
        return machine.run(["echo", "hello"]).stdout == "hello\n"
