# SPDX-License-Identifier: MIT
"""A real server whose controller died, was cut off, or lost its network: it comes home, and goes on."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from command import Lockscale, Said
from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.package import ServerKernel
from lockscale.kernels.series import read_series
from lockscale.kernels.source import find_source
from lockscale.measure.resume import read_entries
from lockscale.measure.run_folder import Run
from lockscale.measure.server_recovery import disk_of, on_own_kernel, server_lock
from lockscale.measure.target_ssh import install, prepare_disk, recipe_of
from lockscale.study.file import SshTarget
from loopback_sshd import Proxy
from server.controller import WAIT_S, Controller, asked_of, wait_for_load, wait_until, whole
from server.kernels import remove_ours
from server.machine import Server
from server.target import NAME, target_of, target_text

pytestmark = [pytest.mark.guest, pytest.mark.long]
ARM = "inode-claim/search-locked"
CUT_S, AGAIN_S = 600, 90
# $1 the folder of target files, $2 when it is killed: as soon as it has asked for the reboot, when it has
# reached the trial, when it has confirmed it, or by somebody else.
BOOTS = """
import os, signal, sys
from pathlib import Path
from lockscale import paths
from lockscale.machines import server_boot
from lockscale.machines.ssh import SshMachine
from lockscale.measure import target_ssh
from lockscale.study.file import load_target

paths.TARGETS, dies = Path(sys.argv[1]), sys.argv[2]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if dies == "rebooting":
    SshMachine.reconnect = die
elif dies == "reached":
    server_boot.confirm = die
elif dies == "confirmed":
    boot_once = target_ssh.boot_once
    target_ssh.boot_once = lambda *asked: die(boot_once(*asked))
target_ssh.boot_arm(load_target("example-server"), "ARM")
""".replace("ARM", ARM)


# $1 a kernel's release, $2 the state that its package comes to.
UNTIL = """
until dpkg-query --show --showformat='${db:Status-Status}' "linux-image-$1" 2> /dev/null | grep -qx "$2"
do :; done
"""


@pytest.fixture(scope="module")
def target(server: Server, small_kernel_config: Path) -> SshTarget:
    server.wait_for_ssh()  # whatever another test left behind
    return target_of(server, small_kernel_config)


@pytest.fixture
def targets(
    server: Server, small_kernel_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with the server's target file, for commands of this process too."""
    folder = tmp_path / "targets"
    folder.mkdir()
    (folder / f"{NAME}.yaml").write_text(target_text(server, str(small_kernel_config)))
    monkeypatch.setattr(paths, "TARGETS", folder)
    return folder


@pytest.fixture(scope="module")
def kernel(target: SshTarget) -> ServerKernel:
    """Built here and not installed; the server holds none of ours."""
    with on_own_kernel(target, "remove") as (machine, _):
        remove_ours(machine)
        return recipe_of(machine, target, find_source()).build(read_series(*ARM.split("/")))


@pytest.fixture(scope="module")
def installed(target: SshTarget, kernel: ServerKernel) -> Iterator[ServerKernel]:
    with on_own_kernel(target, "install") as (machine, _):
        install(machine, [kernel])
    yield kernel
    with on_own_kernel(target, "remove") as (machine, _):
        remove_ours(machine)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = Run(tmp_path / "run")
    made.folder.mkdir()
    return made


def controller(targets: Path, dies: str) -> "subprocess.Popen[bytes]":
    """`lockscale target boot` in a process that is killed."""
    return subprocess.Popen([sys.executable, "-c", BOOTS, str(targets), dies])


def come_home(lockscale: Lockscale, target: SshTarget) -> Said:
    """`target home`, again while it is refused: for a while a holder is believed."""
    began_s = time.monotonic()
    while True:
        said = lockscale("target", "home", NAME, "--json")
        if said.status == 0:
            took_s = time.monotonic() - began_s
            print(f"home after {took_s:.0f} s", file=sys.__stderr__)
            assert took_s < target.boot.boot_timeout_s, "it came home by itself"
            return said
        assert "is in use by" in said.err or "cannot be reached" in said.err, said.err
        assert said.err.splitlines()[-1].startswith("lockscale: ")  # above it, what its controller said
        assert time.monotonic() - began_s < 2 * target.boot.boot_timeout_s, said.err
        time.sleep(5)


def facts(server: Server) -> dict[str, str]:
    """What a trial or a run changes on a server."""
    questions = {
        "release": "uname -r",
        "cpus": "cat /sys/devices/system/cpu/online",
        "swaps": "tail -n +2 /proc/swaps | cut -d ' ' -f 1",
        "timers": "systemctl list-timers --no-legend --plain | grep -o '[^ ]*[.]timer' | sort",
        "mounts": "findmnt --noheadings --list --output target | sort",
        "one-shot": "grub-editenv - list | grep next_entry=. || true",
        "trial": "grep -o lockscale /proc/cmdline || true",
        "loads": "pgrep -a '^fsload' || true",
        "jobs": "systemctl list-units --plain --no-legend 'lockscale-job-*' | grep running || true",
        "held": "cat /var/lib/lockscale/holder 2> /dev/null || true",
        "packages": "dpkg --audit",
    }
    return {name: server.must("sh", "-c", script) for name, script in questions.items()}


@pytest.fixture(scope="module")
def before(server: Server, target: SshTarget) -> dict[str, str]:
    """Of the server as it is with nobody on it."""
    with on_own_kernel(target, "look"):
        pass
    return facts(server)


def is_as_before(server: Server, before: dict[str, str], lockscale: Lockscale) -> None:
    """Nothing is left, and a second `target home` changes nothing."""
    assert facts(server) == before
    boot_id = server.boot_id()
    again = lockscale("target", "home", NAME, "--json")
    assert again.status == 0 and again.value["taken_off"] == [], again.err
    assert server.boot_id() == boot_id and facts(server) == before


@pytest.mark.parametrize("dies", ["rebooting", "reached", "confirmed"])
def test_a_trial_whose_controller_is_killed_is_brought_home(
    server: Server, targets: Path, target: SshTarget, before: dict[str, str], installed: ServerKernel,
    lockscale: Lockscale, dies: str,
):  # fmt: skip
    boot_id = server.boot_id()
    assert controller(targets, dies).wait(WAIT_S) == -signal.SIGKILL
    server.wait_for_boot(after=boot_id)
    assert server.must("uname", "-r").strip() == installed.release, "nobody was left to take it home"
    told = come_home(lockscale, target)
    assert told.value == {"release": before["release"].strip(), "taken_off": []}
    is_as_before(server, before, lockscale)


def test_a_run_whose_controller_is_killed_amid_a_load_is_brought_home(
    server: Server, targets: Path, target: SshTarget, before: dict[str, str], installed: ServerKernel,
    lockscale: Lockscale, short_run: Run, run: Run,
):  # fmt: skip
    prepare_disk(target, disk_of(target).token, dry_run=False)
    killed = Controller(run, targets, asked_of(short_run))
    wait_for_load(server, killed)
    killed.kill()
    assert server.must("uname", "-r").strip() != before["release"].strip()
    told = come_home(lockscale, target)
    assert told.value == {"release": before["release"].strip(), "taken_off": []}
    is_as_before(server, before, lockscale)


@pytest.mark.parametrize(
    ("state", "power_cut"), [("half-installed", False), ("half-configured", False), ("half-configured", True)]
)
def test_a_package_whose_installation_was_cut_short_is_taken_off(
    server: Server, targets: Path, target: SshTarget, before: dict[str, str], kernel: ServerKernel,
    lockscale: Lockscale, state: str, power_cut: bool,
):  # fmt: skip
    with on_own_kernel(target, "remove") as (machine, _):
        remove_ours(machine)
    installs = controller(targets, "by somebody else")
    server.must("timeout", "600", "sh", "-c", UNTIL, "sh", kernel.release, state, timeout_s=660)
    installs.kill()
    assert installs.wait() == -signal.SIGKILL
    if power_cut:
        server.power_cycle()
    told = come_home(lockscale, target)
    assert told.value == {"release": before["release"].strip(), "taken_off": [kernel.release]}
    is_as_before(server, before, lockscale)
    left = "ls -d /boot/*lockscale* /lib/modules/*lockscale* /var/tmp/*lockscale* 2> /dev/null || true"
    assert server.must("sh", "-c", left) == ""


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    made = Proxy(server.port)
    yield made
    made.close()


@pytest.fixture
def behind(server: Server, target: SshTarget, proxy: Proxy, tmp_path: Path) -> SshTarget:
    """The server as it is reached through the proxy."""
    known = tmp_path / "known_hosts"
    known.write_text(server.known_hosts.read_text().replace(str(server.port), str(proxy.port)))
    return target.model_copy(update={"port": proxy.port, "known_hosts": str(known)})


def test_a_run_whose_network_is_gone_for_ten_minutes_is_let_in_again(
    server: Server, targets: Path, proxy: Proxy, behind: SshTarget, short_run: Run, run: Run
):
    """Nothing passes and nothing is closed, as when a switch loses its power."""
    prepare_disk(behind, disk_of(behind).token, dry_run=False)
    file = targets / f"{NAME}.yaml"
    through = {"port": behind.port, "known_hosts": behind.known_hosts}
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | through))
    asked = asked_of(short_run)
    cut = Controller(run, targets, asked)
    wait_until(lambda: cut.steps() == 1, cut)
    wait_for_load(server, cut)
    proxy.held.set()
    began_s = time.monotonic()
    status, sentence = cut.ends(WAIT_S)
    ended_s = time.monotonic() - began_s
    assert (status, len(sentence.splitlines())) == (1, 1), sentence
    steps = len(read_entries(run.journal))
    time.sleep(max(0.0, CUT_S - (time.monotonic() - began_s)))
    proxy.held.clear()
    let_in_s = lets_in(behind, run)
    print(f"its controller gave up after {ended_s:.0f} s ({sentence}); let in again {let_in_s:.1f} s after")
    assert let_in_s <= AGAIN_S
    whole(Controller(run, targets, asked), run, short_run)
    assert len(read_entries(run.journal)) > steps >= 1


def test_a_run_is_let_in_from_elsewhere_soon_after_its_network_is_gone(
    target: SshTarget, behind: SshTarget, proxy: Proxy, tmp_path: Path
):
    """The first connection stands for two hours on the server, and its holder is not heard."""
    run = Run(tmp_path / "run")
    with server_lock(behind, run.id, run=run.id):
        proxy.held.set()
        let_in_s = lets_in(target, run)
        proxy.held.clear()
    print(f"let in {let_in_s:.0f} s after")
    assert let_in_s <= AGAIN_S


def lets_in(target: SshTarget, run: Run) -> float:
    """Seconds until the run holds the server again."""
    began_s = time.monotonic()
    while True:
        try:
            with server_lock(target, run.id, run=run.id):
                return time.monotonic() - began_s
        except BadInput as held:
            assert "is in use by" in str(held), held
            assert time.monotonic() - began_s < WAIT_S
            time.sleep(1)
