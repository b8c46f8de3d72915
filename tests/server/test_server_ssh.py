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
    """logind may end a login's processes with it; a scope of its own is not one of them."""
    cgroup = must(machine, ["cat", "/proc/self/cgroup"])
    assert ".scope" in cgroup and "system.slice" in cgroup and "session-" not in cgroup


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
    with pytest.raises(RunFailed, match="testserver booted anew while"):
        machine.run(["sh", "-c", "touch /run/runs; sleep 300"], timeout_s=300)
    machine.reconnect(300, after=before)
    assert machine.run(["test", "-e", "/run/runs"]).status == 1
    assert machine.boot_id() != before
