# SPDX-License-Identifier: MIT
"""What the tests of targets share: a real sshd on loopback, and a machine that it leads to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lockscale.machines.ssh import SshMachine
from loopback_sshd import Proxy, Sshd


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """An sshd for the whole session, which no test changes."""
    made = Sshd(tmp_path_factory.mktemp("sshd"))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def own_sshd(tmp_path: Path) -> Iterator[Sshd]:
    """An sshd for one test, which may change it or end it."""
    made = Sshd(tmp_path / "own-sshd")
    made.start()
    yield made
    made.stop()


@pytest.fixture
def proxy(sshd: Sshd) -> Iterator[Proxy]:
    made = Proxy(sshd.port)
    yield made
    made.close()


@pytest.fixture(scope="session")
def machine(sshd: Sshd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshMachine]:
    """One session on the sshd, for the tests that only run something."""
    with SshMachine(sshd.host(), jobs_folder=str(tmp_path_factory.mktemp("jobs"))) as made:
        yield made


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return tmp_path / "jobs"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without keys, and no agent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / ".ssh").mkdir(mode=0o700)
    return tmp_path / ".ssh"
