# SPDX-License-Identifier: MIT
"""A connection that is cut, held up or never comes back: what runs is found again and never runs twice."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale.errors import RunFailed
from lockscale.machines import ssh, ssh_host
from lockscale.machines.ssh import SshMachine
from lockscale.machines.ssh_host import Unreachable
from loopback_sshd import Proxy, Sshd

pytestmark = pytest.mark.slow

# Says that it runs, works for a while, and counts how often it was run.
WORK = 'echo once >> "$1/count"; sleep 1.5; cat "$1/count"; echo err >&2; exit 3'


@pytest.fixture
def through(
    sshd: Sshd, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SshMachine]:
    """A machine behind the proxy, whose port known_hosts does not hold: its own file does."""
    monkeypatch.setattr(ssh, "RETRY_S", 0.05)
    known = tmp_path / "known_hosts"
    known.write_text(sshd.known_hosts.read_text().replace(str(sshd.port), str(proxy.port)))
    host = replace(sshd.host(proxy.port), known_hosts=known)
    with SshMachine(host, jobs_folder=str(tmp_path / "jobs")) as machine:
        yield machine


def soon(ready: Path, do: Callable[[], None]) -> threading.Thread:
    """Do it in a thread as soon as the file is there."""

    def wait() -> None:
        while not ready.exists():
            time.sleep(0.01)
        do()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("end", ["the wire is cut", "the server's process is killed"])
def test_a_command_outlives_its_connection(
    through: SshMachine, sshd: Sshd, proxy: Proxy, tmp_path: Path, end: str
) -> None:
    cutting = soon(tmp_path / "count", proxy.cut if end == "the wire is cut" else sshd.kill_sessions)
    done = through.run(["sh", "-c", WORK, "sh", str(tmp_path)])
    cutting.join()
    assert (done.status, done.stdout, done.stderr) == (3, "once\n", "err\n")
    assert proxy.accepted == 2


@pytest.mark.parametrize("after_bytes", [1, 200, 400, 700, 1000, 1500, 2500, 20_000])
def test_wherever_the_wire_is_cut_a_command_runs_once(
    through: SshMachine, proxy: Proxy, tmp_path: Path, after_bytes: int
) -> None:
    """Cut in the start, in the wait, and in the middle of the output."""
    proxy.cut_once(after_bytes)
    count = tmp_path / "count"
    script = 'echo once >> "$1"; seq 5000'
    for run in (1, 2):
        done = through.run(["sh", "-c", script, "sh", str(count)])
        assert done.stdout == "".join(f"{n}\n" for n in range(1, 5001))
        assert count.read_text() == "once\n" * run
    assert proxy.accepted == 2


def test_a_server_that_falls_silent_is_left(
    sshd: Sshd, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Nothing closes the connection, as when a switch loses its power."""
    monkeypatch.setattr(ssh_host, "ALIVE_S", 1)
    monkeypatch.setattr(ssh_host, "ALIVE_COUNT", 1)
    monkeypatch.setattr(ssh_host, "CONNECT_S", 3)
    through: SshMachine = request.getfixturevalue("through")

    def hold() -> None:
        proxy.held.set()
        time.sleep(4)
        proxy.held.clear()

    holding = soon(tmp_path / "count", hold)
    done = through.run(["sh", "-c", WORK, "sh", str(tmp_path)])
    holding.join()
    assert done.stdout == "once\n"
    assert proxy.accepted > 1


def test_a_server_that_stays_away_is_one_sentence(
    through: SshMachine, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "LOST_S", 1.0)
    soon(tmp_path / "count", proxy.close)
    with pytest.raises(RunFailed, match=r"did not come back within 1 s: 127\.0\.0\.1 refuses the connection"):
        through.run(["sh", "-c", WORK, "sh", str(tmp_path)])


def test_a_command_of_an_earlier_boot_is_not_run_again(through: SshMachine, tmp_path: Path) -> None:
    """As after a power cut: the folder under /run is gone, and the command may have been half done."""
    through._boot_id = "another boot"
    with pytest.raises(RunFailed, match="rebooted while `touch"):
        through.run(["touch", str(tmp_path / "ran")])
    assert not (tmp_path / "ran").exists()


def test_a_start_that_comes_late_starts_nothing(through: SshMachine, tmp_path: Path) -> None:
    count = tmp_path / "count"
    append = ["sh", "-c", f"echo once >> {count}"]
    for _ in range(2):  # its results are fetched anew, until another job starts
        through.run(append)
        through._jobs -= 1
    through._jobs += 1
    through.run(["true"])
    through._jobs -= 2
    with pytest.raises(RunFailed, match="does not run again"):
        through.run(append)
    assert count.read_text() == "once\n"


def test_nothing_runs_without_its_session(through: SshMachine, tmp_path: Path) -> None:
    [session] = Path(through.jobs_folder).iterdir()
    session.rename(tmp_path / "moved")
    with pytest.raises(RunFailed, match=r"folder .* is gone"):
        through.run(["touch", str(tmp_path / "ran")])
    assert not (tmp_path / "ran").exists()


def test_a_killed_unit_is_one_sentence(through: SshMachine, tmp_path: Path) -> None:
    script = f"ps -o ppid= -p $$ > {tmp_path}/steps; touch {tmp_path}/count; sleep 30"
    kill = soon(tmp_path / "count", lambda: os.kill(int((tmp_path / "steps").read_text()), 9))
    with pytest.raises(RunFailed, match=r"the unit of `sh .* was killed"):
        through.run(["sh", "-c", script])
    kill.join()


def test_reconnect_waits_for_another_boot(through: SshMachine) -> None:
    """sshd answers while a server that is told to reboot still shuts down."""
    before = through.boot_id()
    assert before == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    through.reconnect(10)
    assert through.run(["true"]).status == 0
    with pytest.raises(RunFailed, match=r"did not come back within 0 s: .* has not rebooted"):
        through.reconnect(0, after=before)
    with pytest.raises(RunFailed, match="reconnecting failed"):
        through.run(["true"])
    through.reconnect(10, after="a boot before")
    assert through.run(["true"]).status == 0


def test_reconnect_shows_what_it_waits_for(
    own_sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ssh, "RETRY_S", 0.05)
    with SshMachine(own_sshd.host(), jobs_folder=str(tmp_path / "jobs")) as machine:
        own_sshd.stop()
        with pytest.raises(RunFailed, match="refuses the connection"):
            machine.reconnect(0.3)
        own_sshd.start()
        machine.reconnect(10)
        assert machine.run(["true"]).status == 0
    assert "waiting for 127.0.0.1" in capfd.readouterr().err


def test_an_unreachable_server_is_not_bad_input() -> None:
    assert issubclass(Unreachable, RunFailed)
