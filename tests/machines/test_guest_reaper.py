# SPDX-License-Identifier: MIT
"""kill -9 of a controller: what it started is gone soon, and until then nobody else has the machine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.files import locked
from lockscale.machines.guest_reaper import GuestReaper

# Each is given a folder, holds the lock there, and writes the process id of its guest into `pid`.
BEGINS = """
import os, signal, subprocess, sys, time
from pathlib import Path
from lockscale.files import locked
from lockscale.machines import qemu
from lockscale.machines.guest_reaper import GuestReaper
from lockscale.machines.machine import LocalMachine
home = Path(sys.argv[1])
room = home / "room"
def told(name, pid):
    (home / f"{name}.part").write_text(str(pid))
    (home / f"{name}.part").rename(home / name)
with locked(home / "lock", "this machine"):
"""
BUSY = f"""{BEGINS}
    reaper = GuestReaper(room)
    guest = subprocess.Popen(["sh", "-c", "trap '' TERM HUP; while :; do :; done"], start_new_session=True)
    reaper.watches(guest.pid)
    told("reaper", reaper.process.pid)
    told("pid", guest.pid)
    time.sleep(600)
"""
KILLED_WITH_A_GUEST_OF_NO_REAPER = f"""{BEGINS}
    def watches(reaper, group):
        told("reaper", reaper.process.pid)
        told("pid", group)
        signal.pause()
    GuestReaper.watches = watches
    qemu.command = lambda *_: ["sh", "-c", "mktemp -d; exec sleep 600"]
    qemu.environment = dict
    with qemu.QemuMachine(qemu.Guest(Path("bzImage"), 1, 64, "tcg", 20), home):
        pass
"""
KILLED_WHILE_IT_MAKES_ITS_FOLDER = f"""{BEGINS}
    def channel(folder):
        told("pid", os.getpid())
        signal.pause()
    qemu.Channel = channel
    qemu.QemuMachine(qemu.Guest(Path("bzImage"), 1, 64, "tcg", 20), home)
"""
LOCAL = f"""{BEGINS}
    script = 'setsid sh -c "echo \\\\$\\\\$ > $0/pid.part; mv $0/pid.part $0/pid; exec sleep 600" & wait'
    LocalMachine().run(["sh", "-c", script, str(home)])
"""
SOON_S = 60


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_for(what: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + SOON_S
    while not what():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def is_free(home: Path) -> bool:
    """Whether a next run would have the machine now."""
    try:
        with locked(home / "lock", "this machine"):
            return True
    except BadInput:
        return False


@contextmanager
def killed(code: str, home: Path) -> Iterator[int]:
    """The process id of the guest of a controller that is killed within; `home` has its `room`."""
    (home / "room").mkdir()
    controller = subprocess.Popen([sys.executable, "-c", code, str(home)], start_new_session=True)
    try:
        wait_for((home / "pid").exists)
        guest = int((home / "pid").read_text())
        assert not is_gone(guest) and not is_free(home)
        yield guest
    finally:
        controller.kill()
        controller.wait()


@pytest.mark.slow
def test_a_busy_guest_does_not_outlive_its_killed_controller(tmp_path: Path):
    with killed(BUSY, tmp_path) as guest:
        pass
    wait_for(lambda: is_free(tmp_path))
    assert is_gone(guest)
    wait_for(lambda: not (tmp_path / "room").exists())


@pytest.mark.slow
def test_the_machine_is_held_until_the_guest_is_gone(tmp_path: Path):
    with killed(BUSY, tmp_path) as guest:
        reaper = int((tmp_path / "reaper").read_text())
        os.kill(reaper, signal.SIGSTOP)  # as where the machine is too busy to run it
    try:
        assert not is_gone(guest) and not is_free(tmp_path)
    finally:
        os.kill(reaper, signal.SIGCONT)
    wait_for(lambda: is_free(tmp_path))
    assert is_gone(guest)


def test_a_guest_that_no_reaper_watches_yet_holds_the_machine_itself(tmp_path: Path):
    with killed(KILLED_WITH_A_GUEST_OF_NO_REAPER, tmp_path) as guest:
        reaper = int((tmp_path / "reaper").read_text())
    wait_for(lambda: is_gone(reaper))
    held_until_killed(guest, tmp_path)


def test_a_local_load_that_goes_on_holds_the_machine_itself(tmp_path: Path):
    with killed(LOCAL, tmp_path) as guest:
        pass
    held_until_killed(guest, tmp_path)


def held_until_killed(guest: int, home: Path) -> None:
    try:
        assert not is_gone(guest) and not is_free(home)
    finally:
        os.kill(guest, signal.SIGKILL)
    wait_for(lambda: is_free(home))


def test_a_controller_killed_before_its_guest_began_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nor one that virtme-ng made."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    with killed(KILLED_WITH_A_GUEST_OF_NO_REAPER, tmp_path) as guest:
        (room,) = tmp_path.glob("lockscale-guest-*")
        wait_for(lambda: bool(list(room.glob("tmp.*"))))
    os.kill(guest, signal.SIGKILL)
    wait_for(lambda: not list(tmp_path.glob("lockscale-guest-*")))
    assert not list((tmp_path / "tmp").iterdir())


def test_a_guest_whose_controller_is_killed_as_it_makes_its_folder_leaves_none(tmp_path: Path):
    with killed(KILLED_WHILE_IT_MAKES_ITS_FOLDER, tmp_path):
        assert list(tmp_path.glob("lockscale-guest-*"))
    wait_for(lambda: not list(tmp_path.glob("lockscale-guest-*")))


def test_a_dismissed_reaper_kills_nobody_and_leaves_no_process(tmp_path: Path):
    guest = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        for named in (True, False):
            reaper = GuestReaper(tmp_path)
            if named:
                reaper.watches(guest.pid)
            reaper.dismiss()
            reaper.dismiss()
            reaper.watches(guest.pid)
            assert reaper.process.poll() == 0 and guest.poll() is None and tmp_path.exists()
    finally:
        guest.kill()
        guest.wait()
