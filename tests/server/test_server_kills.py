# SPDX-License-Identifier: MIT
"""kill -9 of the controller at random moments of runs on a real Debian server over ssh.

The server keeps its own kernel, whatever the arm: a boot takes minutes, and test_server_run.py and
test_server_boot.py have it. All else is as in any run: lock, jobs, mkfs, loads, check, journal.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kill_campaign import CONTROLLER, Campaign
from lockscale.machines.machine import Machine, must
from lockscale.measure.server_recovery import disk_of, on_own_kernel
from lockscale.measure.target_ssh import prepare_disk
from lockscale.study.file import SshTarget
from server.machine import Server
from server.target import NAME, target_of, target_text

pytestmark = [pytest.mark.guest, pytest.mark.long]
KILLS = 50
# $4 of CONTROLLER goes on: where the target's file is
OWN_KERNEL = (
    """
import sys
from contextlib import contextmanager
from pathlib import Path
from lockscale import paths
from lockscale.machines.machine import must
from lockscale.machines.prepare import only, prepared
from lockscale.measure import target_ssh
from lockscale.measure.file_system import MOUNT_POINT
from lockscale.measure.target import Booted, HeldTarget
from lockscale.tools import lock_events

paths.TARGETS = Path(sys.argv.pop())
lock_events.READ = ("echo", "lock_slowpath:1\\nlock_pending:1")  # Debian's kernel counts none

class OwnKernel(target_ssh.HeldServer):
    arms = ["search-locked", "steal-retry"]

    def __init__(self, study, target, server, lock, kind):
        self.target, self.server, self.lock = target, server, lock
        self.origin, self.label, self.disk = "qemu", target.name, target_ssh.disk_of(target)
        self.names, self.host = [target.host], target_ssh.host_facts(server)

    def describe(self):
        return HeldTarget.describe(self)

    @contextmanager
    def boot(self, arm, cpus):
        self.lock.keep()
        self.server.run(["umount", MOUNT_POINT])  # a killed controller's, which a boot would have done
        release = must(self.server, ["uname", "-r"]).strip()
        with only(self.server, cpus), prepared(self.server, self.target.prepare) as quiet:
            found = {"prepared": quiet}
            yield Booted(self.server, release, "0" * 40, MOUNT_POINT, self._program(), self.disk, found)

target_ssh.HeldServer = OwnKernel
"""
    + CONTROLLER
)


@pytest.fixture
def targets(server: Server, tmp_path: Path) -> Path:
    """A folder with the server's target file."""
    folder = tmp_path / "targets"
    folder.mkdir()
    (folder / f"{NAME}.yaml").write_text(target_text(server, "localmodconfig"))
    return folder


@pytest.fixture
def ours(server: Server, tmp_path: Path) -> SshTarget:
    """The server, its disk prepared."""
    target = target_of(server, tmp_path)
    prepare_disk(target, disk_of(target).token, dry_run=False)
    return target


def works(machine: Machine) -> list[str]:
    """Loads, and units of jobs of others, that run on the server."""
    script = "ps -eo args | grep '^[^ ]*fsload-' ; systemctl list-units --plain --no-legend 'lockscale-job-*'"
    own = must(machine, ["sh", "-c", f"{script} | cut -d ' ' -f 1"]).splitlines()
    return [line for line in own if getattr(machine, "_name") not in line]  # noqa: B009


def test_no_kill_of_many_leaves_a_load_on_the_server_beside_the_next_run(
    targets: Path, ours: SshTarget, tmp_path: Path
):
    entered: list[Machine] = []

    @contextmanager
    def taken() -> Iterator[None]:
        with on_own_kernel(ours, "the next") as (machine, _):
            entered[:] = [machine]
            yield

    small = {
        "guests": [{"cpus": 2, "processes": [1], "profiled": []}],
        "operations_per_point": 2000,
        "iterations": 2,
        "tool": "fsload",
    }
    arguments = ["inode-claim", NAME, json.dumps(small), str(targets)]
    home = tmp_path / "home"
    home.mkdir()
    said = Campaign(home, arguments, taken, lambda: works(entered[0]), OWN_KERNEL).carry_out(KILLS)
    print(said)
