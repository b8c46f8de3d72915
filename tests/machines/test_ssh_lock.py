# SPDX-License-Identifier: MIT
"""One controller at a time on a server, told by a lock that lives there; on a real sshd."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.files import is_locked
from lockscale.machines.server_lock import HeldByOther, ServerLock
from loopback_sshd import Sshd

BOOT_S = 10**9  # longer than this machine is up: as if it had just been booted


def lock(sshd: Sshd, folder: Path, run: str | None = "one", boot_s: int = 600) -> ServerLock:
    return ServerLock(sshd.host(), run, f'{{"who": "{run}"}}', boot_s, str(folder))


def rebooted(folder: Path) -> None:
    """The record is of another boot."""
    first, said = (folder / "holder").read_text().splitlines()
    token, run, _, pid = first.split()
    (folder / "holder").write_text(f"{token} {run} another-boot {pid}\n{said}\n")


@pytest.mark.slow
def test_a_second_run_is_told_the_words_of_the_first(sshd: Sshd, tmp_path: Path):
    first, second = lock(sshd, tmp_path), lock(sshd, tmp_path, "two")
    first.take()
    for _ in range(2):
        with pytest.raises(HeldByOther) as held:
            second.take()
        assert held.value.said == '{"who": "one"}'
    first.release()
    assert not (tmp_path / "holder").exists()
    second.take()
    second.release()


def test_a_copy_of_the_run_is_refused_while_the_first_lives(sshd: Sshd, tmp_path: Path):
    first, copy = lock(sshd, tmp_path), lock(sshd, tmp_path)
    first.take()
    with pytest.raises(HeldByOther):
        copy.take()
    first.release()


def test_a_controller_that_is_killed_lets_go_at_once(sshd: Sshd, tmp_path: Path):
    pid = os.fork()
    if not pid:
        lock(sshd, tmp_path).take()
        (tmp_path / "taken").touch()
        time.sleep(60)
        os._exit(1)
    while not (tmp_path / "taken").exists():
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    second, tries = lock(sshd, tmp_path, "two"), 0
    while True:  # sshd has to see the end of the connection
        try:
            second.take()
            break
        except HeldByOther:
            tries += 1
            assert tries < 100
            time.sleep(0.05)
    second.release()


@pytest.mark.slow
def test_a_controller_that_falls_silent_loses_the_server_though_its_connection_stands(
    sshd: Sshd, tmp_path: Path
):
    """As where its power or its network is gone: nothing ends the connection for two hours."""
    silent = ServerLock(sshd.host(), "one", "{}", 600, str(tmp_path), silent_s=2)
    silent.take()
    silent._fall_silent()
    began_s = time.monotonic()
    same_run = lock(sshd, tmp_path)
    while True:
        try:
            same_run.take()
            break
        except HeldByOther:
            assert time.monotonic() - began_s < 120
            time.sleep(0.1)
    same_run.release()
    silent._let_go()


@pytest.mark.slow
def test_a_controller_that_does_nothing_for_long_keeps_the_server(sshd: Sshd, tmp_path: Path):
    mine = ServerLock(sshd.host(), "one", "{}", 600, str(tmp_path), silent_s=2)
    mine.take()
    time.sleep(5)
    with pytest.raises(HeldByOther):
        lock(sshd, tmp_path, "two").take()
    mine.release()
    assert not (tmp_path / "holder").exists()


def test_its_own_lost_connection_is_taken_over(sshd: Sshd, tmp_path: Path):
    mine = lock(sshd, tmp_path)
    mine.take()
    before = mine._connection
    mine._connection = None  # the server does not know that it is gone
    mine.keep()
    with pytest.raises(HeldByOther):
        lock(sshd, tmp_path, "two").take()
    mine.release()
    assert before is not None
    before.close()


@pytest.mark.slow
def test_a_process_that_has_the_number_of_a_dead_holder_is_not_killed(sshd: Sshd, tmp_path: Path):
    """The record is still ours, whose shell is dead, while another one is taking the server."""
    mine = lock(sshd, tmp_path)
    mine.take()
    mine._let_go()
    first, said = (tmp_path / "holder").read_text().splitlines()
    stranger = subprocess.Popen(["sleep", "60"])
    other = subprocess.Popen(["flock", tmp_path / "holder.lock", "sleep", "60"], start_new_session=True)
    while not is_locked(tmp_path / "holder.lock"):
        time.sleep(0.01)
    (tmp_path / "holder").write_text(f"{first.rpartition(' ')[0]} {stranger.pid}\n{said}\n")
    try:
        with pytest.raises(HeldByOther):
            mine.take()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        os.killpg(other.pid, signal.SIGKILL)
        stranger.wait()
        other.wait()


@pytest.mark.slow
def test_a_reboot_keeps_the_server_for_the_run_that_asked_for_it(sshd: Sshd, tmp_path: Path):
    first = lock(sshd, tmp_path)
    first.take()
    first._let_go()  # as a reboot does
    rebooted(tmp_path)
    with pytest.raises(HeldByOther) as held:
        lock(sshd, tmp_path, "two", BOOT_S).take()
    assert held.value.said == '{"who": "one"}'
    first.take()
    first.release()


@pytest.mark.slow
def test_a_holder_that_does_not_come_back_from_its_reboot_loses_the_server_once_somebody_asks(
    sshd: Sshd, tmp_path: Path
):
    """Who lives tries every second, so it is back soon after the server answers anybody."""
    dead = lock(sshd, tmp_path)
    dead.take()
    dead._let_go()
    rebooted(tmp_path)
    for name in ("two", "three"):  # who asks is let in by how long ago the first one asked, whoever it was
        other = ServerLock(sshd.host(), name, "{}", BOOT_S, str(tmp_path), retake_s=600)
        with pytest.raises(HeldByOther) as held:
            other.take()
        assert held.value.said == '{"who": "one"}'
    boot, up_s = (tmp_path / "asked").read_text().split()
    for asked in ("another-boot -600", f"{boot} {int(up_s) - 300}"):  # in an earlier boot, and too short ago
        (tmp_path / "asked").write_text(f"{asked}\n")
        with pytest.raises(HeldByOther):
            other.take()
    (tmp_path / "asked").write_text(f"{boot} {int(up_s) - 600}\n")
    other.take()
    assert not (tmp_path / "asked").exists()
    with pytest.raises(HeldByOther) as held:
        dead.take()  # it comes back too late
    assert held.value.said == "{}"
    other.release()


@pytest.mark.slow
def test_a_run_that_died_in_its_reboot_is_resumed_and_forgotten_later(sshd: Sshd, tmp_path: Path):
    for run, boot_s in (("one", BOOT_S), ("two", 0)):
        dead = lock(sshd, tmp_path)
        dead.take()
        dead._let_go()
        rebooted(tmp_path)
        again = lock(sshd, tmp_path, run, boot_s)
        again.take()
        again.release()


@pytest.mark.slow
def test_what_is_no_run_is_taken_over_by_nobody_that_does_the_same(sshd: Sshd, tmp_path: Path):
    """Two `target boot` of one arm are two, also while the first one's server reboots."""
    first, other = lock(sshd, tmp_path, None), lock(sshd, tmp_path, None, BOOT_S)
    first.take()
    first._let_go()
    rebooted(tmp_path)
    with pytest.raises(HeldByOther):
        other.take()
    first.take()
    first.release()
    other.take()
    other.release()


def test_words_of_a_holder_are_no_command(sshd: Sshd, tmp_path: Path):
    hostile = "$(touch ran) `touch ran`; touch ran | '\" \\ %s \x1b[31m"
    first = ServerLock(sshd.host(), "a run\n$(touch ran)", hostile, 600, str(tmp_path))
    first.take()
    with pytest.raises(HeldByOther) as held:
        lock(sshd, tmp_path, "two").take()
    assert held.value.said == hostile
    first.release()
    assert not (tmp_path / "ran").exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(sshd: Sshd, tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot be written"):
        lock(sshd, tmp_path / "file" / "folder").take()
