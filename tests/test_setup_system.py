# SPDX-License-Identifier: MIT
"""setup/system.py on the developer's machine: whatever ends it, no policy of services is left behind."""

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
system.is_there = lambda package: False
os.geteuid = lambda: 0
sys.exit(system.main("test-packages.toml"))
"""
WAIT_S = 20


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return tmp_path / "policy-rc.d"


def start(policy: Path, seconds: str) -> subprocess.Popen[bytes]:
    """The setup with an apt-get that takes so long."""
    tools = policy.parent / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "apt-get").write_text(f"#!/bin/sh\nexec sleep {seconds}\n")
    (tools / "apt-get").chmod(0o755)
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    argv = [sys.executable, "-c", RUN, str(paths.ROOT / "setup"), str(policy)]
    return subprocess.Popen(argv, env=env, stderr=subprocess.DEVNULL, start_new_session=True)


def start_and_wait_for_policy(policy: Path) -> subprocess.Popen[bytes]:
    running = start(policy, "60")
    deadline_s = time.monotonic() + WAIT_S
    while not policy.exists():
        assert running.poll() is None and time.monotonic() < deadline_s
        time.sleep(0.05)
    return running


def end(running: subprocess.Popen[bytes], number: int) -> None:
    """As a terminal does it: to every process of the session."""
    os.killpg(running.pid, number)
    running.wait(WAIT_S)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_setup_that_is_ended_takes_its_policy_along(number: signal.Signals, policy: Path):
    running = start_and_wait_for_policy(policy)
    end(running, number)
    assert running.returncode != 0 and not policy.exists()


def test_what_a_killed_setup_left_goes_with_the_next(policy: Path):
    end(start_and_wait_for_policy(policy), signal.SIGKILL)
    assert policy.exists()  # nothing can be done about that
    assert start(policy, "0").wait(WAIT_S) == 0
    assert not policy.exists()


def test_a_policy_of_the_machines_own_stays(policy: Path):
    own = "#!/bin/sh\n# of this site\nexit 101\n"
    policy.write_text(own)
    assert start(policy, "0").wait(WAIT_S) == 0
    assert policy.read_text() == own
