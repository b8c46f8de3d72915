# SPDX-License-Identifier: MIT
"""On a real server, with systemd and sudo: commands outlive a login, and do not outlive a boot unseen."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale.errors import RunFailed
from lockscale.machines.machine import must
from lockscale.machines.ssh import SshMachine
from lockscale.machines.ssh_host import LoginRefused
from server.machine import Server

pytestmark = [pytest.mark.guest, pytest.mark.long]


@pytest.fixture
def machine(server: Server) -> Iterator[SshMachine]:
    with SshMachine(server.host) as found:
        yield found


def test_a_command_is_outside_of_its_login(machine: SshMachine):
    """logind may end a login's processes with it; a unit of its own is not one of them."""
    cgroup = must(machine, ["cat", "/proc/self/cgroup"])
    assert "/system.slice/lockscale-job-" in cgroup and ".service" in cgroup and "session-" not in cgroup


def test_a_command_has_no_limits_that_it_would_not_have_by_hand(machine: SshMachine):
    assert must(machine, ["sh", "-c", "yes | head -n 1; umask; pwd"]) == "y\n0022\n/\n"  # SIGPIPE ends yes
    assert must(machine, ["sh", "-c", "cat /sys/fs/cgroup/system.slice/lockscale-job-*/pids.max"]) == "max\n"


def test_the_end_of_its_time_ends_every_process_of_a_command(machine: SshMachine):
    """Also one in a session of its own, and one that ignores TERM."""
    script = """
        setsid sleep 4321 &
        (trap '' TERM; while :; do sleep 1; done) & echo $! > /run/deaf
        wait"""
    with pytest.raises(RunFailed, match=r"`sh .* did not end within 2 s and was killed"):
        machine.run_all([["true"], ["sh", "-c", script], ["true"]], timeout_s=2)
    alive = 'pgrep -f "^sleep 4321"; kill -0 "$(cat /run/deaf)" 2> /dev/null && echo alive; rm /run/deaf'
    assert must(machine, ["sh", "-c", alive]) == ""


def test_what_a_command_leaves_behind_ends_with_its_job(machine: SshMachine):
    """Else it would be measured with whatever comes next."""
    must(machine, ["sh", "-c", "setsid sleep 5432 > /dev/null 2>&1 < /dev/null &"])
    assert machine.run(["pgrep", "-f", "^sleep 5432"]).status == 1


def test_a_unit_that_is_killed_is_one_sentence(machine: SshMachine):
    kill = "kill -KILL $(systemctl show --value -p MainPID 'lockscale-job-*'); sleep 60"
    with pytest.raises(RunFailed, match="was killed: did it run out of memory"):
        machine.run(["sh", "-c", kill])
    assert machine.run(["true"]).status == 0


def test_jobs_of_a_dead_controller_are_ended(server: Server, machine: SshMachine):
    def wait() -> None:
        with pytest.raises(RunFailed):
            dead.run(["sleep", "300"])

    with SshMachine(server.host) as dead:
        waiting = threading.Thread(target=wait)
        waiting.start()
        while server.run("pgrep", "-f", "^sleep 300").returncode:
            time.sleep(0.5)
        assert machine.end_others() == 1
        waiting.join(60)
        assert server.run("pgrep", "-f", "^sleep 300").returncode and machine.end_others() == 0


def test_a_command_outlives_its_login(server: Server, machine: SshMachine):
    """Every ssh connection of the server is killed while it runs, and logind kills what they left."""
    server.must("sh", "-c", "mkdir -p /etc/systemd/logind.conf.d; rm -f /run/count")
    server.must(
        "sh", "-c", "printf '[Login]\\nKillUserProcesses=yes\\n' > /etc/systemd/logind.conf.d/kill.conf"
    )
    server.must("systemctl", "restart", "systemd-logind")

    def cut() -> None:
        while server.run("test", "-e", "/run/count").returncode:
            time.sleep(0.5)
        server.run("sh", "-c", "pkill -KILL -f '^sshd: root' ")

    cutting = threading.Thread(target=cut, daemon=True)
    with SshMachine(server.host) as other:
        cutting.start()
        done = other.run(["sh", "-c", "echo once >> /run/count; sleep 20; cat /run/count"], timeout_s=300)
        cutting.join()
        assert done.stdout == "once\n"
    server.must("rm", "-f", "/etc/systemd/logind.conf.d/kill.conf", "/run/count")
    server.must("systemctl", "restart", "systemd-logind")


def test_who_may_sudo_is_root(server: Server, tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with SshMachine(replace(server.host, user="bench")) as machine:
        assert must(machine, ["id", "-u"]) == "0\n"
        machine.put(tmp_path / "file", "/etc/put-by-bench")
        assert must(machine, ["stat", "-c", "%U", "/etc/put-by-bench"]) == "root\n"
        must(machine, ["rm", "/etc/put-by-bench"])


def test_a_real_sudo_that_wants_a_password_is_one_sentence(server: Server):
    with pytest.raises(LoginRefused, match="asks for a password") as refused:
        SshMachine(replace(server.host, user="plain")).__enter__()
    assert "plain" not in str(refused.value)


def test_a_command_that_a_power_cut_ends_is_not_run_again(server: Server, machine: SshMachine):
    def cut() -> None:
        while server.run("test", "-e", "/run/runs").returncode:
            time.sleep(0.5)
        server.power_cycle(wait=False)

    before = machine.boot_id()
    threading.Thread(target=cut, daemon=True).start()
    with pytest.raises(RunFailed, match="testserver rebooted while"):
        machine.run(["sh", "-c", "touch /run/runs; sleep 300"], timeout_s=300)
    machine.reconnect(300, after=before)
    assert machine.run(["test", "-e", "/run/runs"]).status == 1
    assert machine.boot_id() != before
