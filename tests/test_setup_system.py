# SPDX-License-Identifier: MIT
"""setup/system.py on the developer's machine: whatever ends it, no policy of services is left behind, and the
tests bring no ssh server.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lockscale import paths

RUN = """
import os, pathlib, sys
sys.path.insert(0, sys.argv[1])
import system
system.POLICY = pathlib.Path(sys.argv[2])
system.UNPACKED = system.POLICY.parent / "cache" / "unpacked"
system.is_there = lambda package: not sys.argv[3]
os.geteuid = lambda: 0
sys.exit(system.main("test-packages.toml"))
"""
WAIT_S = 20


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return tmp_path / "policy-rc.d"


def start(policy: Path, seconds: str, torn: str = "", lacks: bool = True) -> subprocess.Popen[bytes]:
    """The setup with an apt-get that takes so long, and downloads what lies in `archive`.

    torn: what dpkg says of packages that an install before left half there. lacks: whether any is missing.
    """
    tools = policy.parent / "bin"
    tools.mkdir(exist_ok=True)
    # told to end, it ends its step first, and says whether the policy was still there then
    (tools / "apt-get").unlink(missing_ok=True)  # one that runs reads on in its own file
    ends = f"sleep 0.3; [ ! -e {policy} ] || touch {policy.parent}/ended_before_policy; exit 130"
    (tools / "apt-get").write_text(
        f'#!/bin/sh\necho "$*" >> {policy.parent}/asked\n'
        f'[ "$1" != install ] || {{ {policy}; echo $? > {policy.parent}/policy_said; }}\n'
        f'[ "$1" != download ] || exec cp -r {archive(policy.parent)} .\n'
        f"trap '{ends}' INT\ntouch {policy.parent}/works\nsleep {seconds} &\nwait $!\n"
    )
    (tools / "dpkg").write_text(f'#!/bin/sh\necho "dpkg $*" >> {policy.parent}/asked\necho {torn}\n')
    for tool in ("apt-get", "dpkg"):
        (tools / tool).chmod(0o755)
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    argv = [sys.executable, "-c", RUN, str(paths.ROOT / "setup"), str(policy), "lacks" if lacks else ""]
    return subprocess.Popen(argv, env=env, stderr=subprocess.DEVNULL, start_new_session=True)


def archive(folder: Path) -> Path:
    """An ssh server's package whose script would let it begin with the next boot."""
    tree, made = folder / "tree", folder / "openssh-server.deb"
    if not made.exists():
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "usr/sbin").mkdir(parents=True)
        (tree / "usr/sbin/sshd").write_text("#!/bin/sh\n")
        said = "Package: openssh-server\nVersion: 1\nArchitecture: all\nMaintainer: a\nDescription: a\n"
        (tree / "DEBIAN/control").write_text(said)
        (tree / "DEBIAN/postinst").write_text(f"#!/bin/sh\ntouch {folder}/enabled\n")
        (tree / "DEBIAN/postinst").chmod(0o755)
        subprocess.run(["dpkg-deb", "--build", tree, made], check=True, stdout=subprocess.DEVNULL)
    return made


def start_and_wait_for_policy(policy: Path) -> subprocess.Popen[bytes]:
    running = start(policy, "60")
    deadline_s = time.monotonic() + WAIT_S
    while not policy.exists():
        assert running.poll() is None and time.monotonic() < deadline_s
        time.sleep(0.05)
    return running


def wait_for_apt(policy: Path) -> None:
    """Until apt-get runs, and has its trap; dpkg was asked before."""
    deadline_s = time.monotonic() + WAIT_S
    while not (policy.parent / "works").exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def end(running: subprocess.Popen[bytes], number: int) -> None:
    """As a terminal does it: to every process of the session."""
    os.killpg(running.pid, number)
    running.wait(WAIT_S)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_setup_that_is_ended_takes_its_policy_along(number: signal.Signals, policy: Path):
    running = start_and_wait_for_policy(policy)
    end(running, number)
    assert running.returncode != 0 and not policy.exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_the_package_manager_is_told_to_end_and_ends_its_step(number: signal.Signals, policy: Path):
    """Killed amid a step it would leave packages torn, and services could start without the policy."""
    running = start_and_wait_for_policy(policy)
    wait_for_apt(policy)
    end(running, number)
    deadline_s = time.monotonic() + WAIT_S
    while not (policy.parent / "ended_before_policy").exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.mark.parametrize("torn", ["", "half-configured"])
def test_packages_that_another_install_left_torn_are_mended_first(torn: str, policy: Path):
    assert start(policy, "0", torn).wait(WAIT_S) == 0
    asked = (policy.parent / "asked").read_text().splitlines()
    assert ("dpkg --configure -a" in asked) == bool(torn) and asked[0] == "dpkg --audit"


def kill_amid_a_step(policy: Path) -> None:
    """While apt-get runs: a child that has yet to become apt-get still holds the setup's lock."""
    running = start_and_wait_for_policy(policy)
    wait_for_apt(policy)
    end(running, signal.SIGKILL)


def test_what_a_killed_setup_left_goes_with_the_next(policy: Path):
    kill_amid_a_step(policy)
    assert policy.exists()  # nothing can be done about that
    assert start(policy, "0").wait(WAIT_S) == 0
    assert not policy.exists()


def test_so_it_does_where_every_package_is_there_by_then(policy: Path):
    """The package manager ended its step, and was the last to be needed."""
    kill_amid_a_step(policy)
    assert start(policy, "0", "half-configured", lacks=False).wait(WAIT_S) == 0
    assert not policy.exists()
    assert (policy.parent / "asked").read_text().splitlines()[-2:] == ["dpkg --audit", "dpkg --configure -a"]


def test_the_policy_of_a_setup_that_still_works_stays(policy: Path):
    running = start_and_wait_for_policy(policy)
    wait_for_apt(policy)
    try:
        assert start(policy, "0").wait(WAIT_S) == 0 and policy.exists()
    finally:
        end(running, signal.SIGTERM)
    assert not policy.exists()


def test_a_policy_of_the_machines_own_stays(policy: Path):
    own = "#!/bin/sh\n# of this site\nexit 101\n"
    policy.write_text(own)
    assert start(policy, "0").wait(WAIT_S) == 0
    assert policy.read_text() == own


def test_the_tests_ssh_server_is_unpacked_and_never_installed(policy: Path):
    """Installed, its script lets it begin with the machine's next boot, whatever the policy says."""
    assert start(policy, "0").wait(WAIT_S) == 0
    cache = policy.parent / "cache"
    assert (cache / "unpacked/usr/sbin/sshd").exists() and [one.name for one in cache.iterdir()] == [
        "unpacked"
    ]
    asked = (policy.parent / "asked").read_text().splitlines()
    installed = [line for line in asked if line.startswith("install")]
    assert "mmdebstrap" in installed[0] and not any("openssh-server" in line for line in installed)
    assert not (policy.parent / "enabled").exists()
    assert (policy.parent / "policy_said").read_text() == "101\n"  # invoke-rc.d(8): not allowed
