# SPDX-License-Identifier: MIT
"""A server's host key is always checked, and who we are is a key; each refusal is one sentence."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale.machines.ssh_host import HostKeyRefused, LoginRefused
from lockscale.programs import need
from loopback_sshd import Sshd, answers, new_key, refusal

pytestmark = pytest.mark.slow


def test_an_unknown_host_key_is_refused_with_the_way_to_add_it(
    sshd: Sshd, tmp_path: Path, jobs: Path
) -> None:
    (tmp_path / "empty").touch()
    said = refusal(replace(sshd.host(), known_hosts=tmp_path / "empty"), jobs)
    shown = subprocess.run(
        [need("ssh-keygen"), "-lf", sshd.host_key], capture_output=True, text=True, check=True
    )
    assert isinstance(said, HostKeyRefused)
    assert shown.stdout.split()[1] in str(said)
    assert f"`ssh -p {sshd.port} " in str(said) and "not in known_hosts" in str(said)


def test_a_changed_host_key_is_refused_before_a_login(own_sshd: Sshd, tmp_path: Path, jobs: Path) -> None:
    own_sshd.write_known_hosts(key=new_key(tmp_path / "another"))
    said = refusal(own_sshd.host(), jobs)
    assert isinstance(said, HostKeyRefused) and "has changed" in str(said)
    assert "Accepted" not in (own_sshd.folder / "sshd.log").read_text()


def test_a_revoked_host_key_is_refused(own_sshd: Sshd, jobs: Path) -> None:
    known = own_sshd.known_hosts
    known.write_text(known.read_text() + f"@revoked * {known.read_text().partition(' ')[2]}")
    assert "is revoked" in str(refusal(own_sshd.host(), jobs))


def test_no_setting_lets_a_server_behind_a_port_of_this_machine_pass_unchecked(
    own_sshd: Sshd, tmp_path: Path, jobs: Path
) -> None:
    """As one that `ssh -L` or a virtual machine's network leads to."""
    own_sshd.ssh_config.write_text("NoHostAuthenticationForLocalhost yes\n")
    (tmp_path / "empty").touch()
    assert isinstance(refusal(replace(own_sshd.host(), known_hosts=tmp_path / "empty"), jobs), HostKeyRefused)


def test_the_server_is_asked_for_a_key_that_is_known(tmp_path: Path, jobs: Path) -> None:
    """It has two, and would show the other one first."""
    rsa, made = tmp_path / "rsa", Sshd(tmp_path / "two-keys", (f"HostKey {tmp_path / 'rsa'}",))
    new_key(rsa, "rsa")
    made.write_known_hosts(key=rsa)
    made.start()
    try:
        assert answers(made.host(), jobs)
    finally:
        made.stop()


def test_a_host_key_alias_is_looked_up_instead(own_sshd: Sshd, jobs: Path) -> None:
    own_sshd.ssh_config.write_text("Host *\n  HostKeyAlias machine-seven\n")
    assert "not in known_hosts" in str(refusal(own_sshd.host(), jobs))
    own_sshd.known_hosts.write_text(f"machine-seven {own_sshd.known_hosts.read_text().partition(' ')[2]}")
    assert answers(own_sshd.host(), jobs)


def test_a_wrong_key_is_one_sentence(sshd: Sshd, home: Path, tmp_path: Path, jobs: Path) -> None:
    said = refusal(replace(sshd.host(), identity_file=new_key(tmp_path / "wrong")), jobs)
    assert isinstance(said, LoginRefused) and "accepts none of this user's keys: put" in str(said)


@pytest.mark.parametrize(
    ("text", "mode", "because"),
    [
        ("no key\n", 0o600, "has no key in a known format"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\n\xff\n", 0o600, "has no key"),
        ("no key\n", 0o644, "is readable by others: chmod 600"),
        (None, 0, "the key file that the target names for 127.0.0.1 does not exist"),
    ],
)
def test_a_key_that_cannot_be_used_is_one_sentence(
    sshd: Sshd, tmp_path: Path, jobs: Path, text: str | None, mode: int, because: str
) -> None:
    if text is not None:
        (tmp_path / "odd_key").write_text(text)
        (tmp_path / "odd_key").chmod(mode)
    assert because in str(refusal(replace(sshd.host(), identity_file=tmp_path / "odd_key"), jobs))


def test_a_key_that_needs_a_passphrase_is_one_sentence(
    own_sshd: Sshd, home: Path, tmp_path: Path, jobs: Path
) -> None:
    locked = new_key(tmp_path / "locked", passphrase="a passphrase")
    with (own_sshd.folder / "authorized_keys").open("a") as accepted:
        accepted.write(locked.with_suffix(".pub").read_text())
    said = str(refusal(replace(own_sshd.host(), identity_file=locked), jobs))
    assert "needs a passphrase: add it to the agent" in said


def test_who_has_no_key_is_told_so(sshd: Sshd, home: Path, jobs: Path) -> None:
    assert "there is no key to offer" in str(refusal(replace(sshd.host(), identity_file=None), jobs))


@pytest.fixture
def agent(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An agent of its own; its socket's path."""
    socket_path = home / "agent"
    argv = [need("ssh-agent"), "-D", "-a", str(socket_path)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        while not socket_path.exists():
            pass
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket_path))
        yield socket_path
        process.terminate()


def test_an_agents_key_opens(sshd: Sshd, agent: Path, tmp_path: Path, jobs: Path) -> None:
    """Also the one whose file needs a passphrase."""
    subprocess.run([need("ssh-add"), "-q", sshd.key], check=True)
    assert answers(replace(sshd.host(), identity_file=None), jobs)
    locked = Path(shutil.copy(sshd.key, tmp_path / "locked"))
    shutil.copy(sshd.key.with_suffix(".pub"), tmp_path / "locked.pub")
    argv = [need("ssh-keygen"), "-q", "-p", "-P", "", "-N", "a passphrase", "-f", locked]
    subprocess.run(argv, check=True, capture_output=True)
    assert answers(replace(sshd.host(), identity_file=locked), jobs)


def test_identities_only_keeps_the_agents_other_keys_back(own_sshd: Sshd, agent: Path, jobs: Path) -> None:
    subprocess.run([need("ssh-add"), "-q", own_sshd.key], check=True)
    own_sshd.ssh_config.write_text("IdentitiesOnly yes\n")
    assert "no key to offer" in str(refusal(replace(own_sshd.host(), identity_file=None), jobs))


def test_too_many_keys_are_one_sentence(tmp_path: Path, agent: Path, jobs: Path) -> None:
    for number in range(3):
        subprocess.run([need("ssh-add"), "-q", new_key(tmp_path / f"key{number}")], check=True)
    made = Sshd(tmp_path / "strict", ("MaxAuthTries 2",))
    made.start()
    try:
        assert "set `IdentitiesOnly yes`" in str(refusal(made.host(), jobs))
    finally:
        made.stop()
