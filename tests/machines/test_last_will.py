# SPDX-License-Identifier: MIT
"""kill -9 of a controller: what it started is gone soon, and what it ended itself is left alone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from lockscale.machines.last_will import LastWill

CONTROLLER = """
import os, subprocess, sys, time
from pathlib import Path
from lockscale.machines.last_will import LastWill
room = Path(sys.argv[1])
guest = subprocess.Popen(["sh", "-c", "trap '' TERM HUP; while :; do :; done"], start_new_session=True)
will = LastWill(guest.pid, room)
(room.parent / "pid.part").write_text(str(guest.pid))
(room.parent / "pid.part").rename(room.parent / "pid")
time.sleep(600)
"""
SOON_S = 10


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_for(what: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + SOON_S
    while not what():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def test_a_busy_guest_does_not_outlive_its_killed_controller(tmp_path: Path):
    room = tmp_path / "room"
    room.mkdir()
    controller = subprocess.Popen([sys.executable, "-c", CONTROLLER, str(room)], start_new_session=True)
    wait_for((tmp_path / "pid").exists)
    guest = int((tmp_path / "pid").read_text())
    assert not is_gone(guest)
    os.killpg(controller.pid, signal.SIGKILL)  # the will is in a session of its own
    controller.wait()
    wait_for(lambda: is_gone(guest))
    wait_for(lambda: not room.exists())


def test_a_revoked_will_kills_nobody_and_leaves_no_process(tmp_path: Path):
    guest = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        will = LastWill(guest.pid, tmp_path)
        will.revoke()
        will.revoke()
        assert will.process.poll() == 0 and guest.poll() is None and tmp_path.exists()
    finally:
        guest.kill()
        guest.wait()
