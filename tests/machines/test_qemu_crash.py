# SPDX-License-Identifier: MIT
"""An emulator that crashes is not the kernel's fault: once, while it boots. Here a shell stands for QEMU."""

import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lockscale.errors import RunFailed
from lockscale.machines import qemu
from lockscale.machines.qemu import Guest, QemuMachine

GUEST = Guest(Path("bzImage"), 1, 64, "tcg", boot_timeout_s=20)


def crashes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, times: int, says: str = "booting") -> Path:
    """As many QEMUs end with 255, the next one runs the guest's script. The file counts them."""
    count = tmp_path / "count"
    count.write_text("")

    def command(guest: Guest, shared: Path, script: str) -> list[str]:
        work = f"[ $(wc -c < {count}) -gt {times} ] && exec {script}"
        return ["sh", "-c", f"printf x >> {count}; {work}; echo {shlex.quote(says)}; exit 255"]

    monkeypatch.setattr(qemu, "command", command)
    monkeypatch.setattr(qemu, "environment", dict)
    return count


def test_an_emulator_that_crashes_in_a_boot_is_started_once_more(monkeypatch, tmp_path: Path, capfd):
    count = crashes(monkeypatch, tmp_path, times=1)
    with QemuMachine(GUEST, tmp_path) as machine:
        assert machine.run(["echo", "here"]).stdout == "here\n"
    assert count.read_text() == "xx" and "started once more" in capfd.readouterr().err


def test_an_interrupt_while_it_starts_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Else it would go on with this machine's lock, and nobody would know of it."""
    crashes(monkeypatch, tmp_path, times=0)
    start, started = subprocess.Popen, list[subprocess.Popen[bytes]]()

    def interrupted(argv: list[str], **how: Any) -> subprocess.Popen[bytes]:
        process = start(argv, **how)
        if "printf" in argv[2]:
            signal.raise_signal(signal.SIGINT)
            started.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` ignores it
    try:
        with pytest.raises(KeyboardInterrupt), QemuMachine(GUEST, tmp_path):
            pass
    finally:
        signal.signal(signal.SIGINT, before)
    assert started[0].poll() is not None


def test_and_no_more_than_once(monkeypatch, tmp_path: Path):
    count = crashes(monkeypatch, tmp_path, times=9)
    with (
        pytest.raises(RunFailed, match=r"(?s)QEMU exited while the guest booted.*booting"),
        QemuMachine(GUEST, tmp_path),
    ):
        pass
    assert count.read_text() == "xx" and not list(tmp_path.glob("lockscale-guest-*"))


def test_a_kernel_that_panics_is_not_tried_again(monkeypatch, tmp_path: Path):
    count = crashes(monkeypatch, tmp_path, times=9, says="Kernel panic - not syncing: lost")
    with pytest.raises(RunFailed, match="panicked"), QemuMachine(GUEST, tmp_path):
        pass
    assert count.read_text() == "x"


def test_what_ran_is_never_run_again(monkeypatch, tmp_path: Path):
    count = crashes(monkeypatch, tmp_path, times=0)
    with (
        pytest.raises(RunFailed, match="ended before its command did"),
        QemuMachine(GUEST, tmp_path) as machine,
    ):
        machine.run(["sh", "-c", "kill -9 0"], timeout_s=20)
    assert count.read_text() == "x"
