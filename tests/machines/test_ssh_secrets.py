# SPDX-License-Identifier: MIT
"""Root by sudo without a password; and what nobody typed is in no sentence, traceback or log."""

import io
import logging
import os
import shutil
import traceback
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.machines import ssh_shell
from lockscale.machines.server_facts import not_reached
from lockscale.machines.ssh import SshMachine
from lockscale.machines.ssh_host import HostKeyRefused, LoginRefused, SshHost, Unreachable
from loopback_sshd import Sshd, answers, free_port, new_key, refusal

pytestmark = pytest.mark.slow


def test_who_is_not_root_becomes_it_by_sudo_without_a_password(own_sshd: Sshd, jobs: Path) -> None:
    log = own_sshd.folder / "sudo.log"
    own_sshd.sudo(f'echo "$*" >> {log}; [ "$1" = -n ] && shift; exec "$@"')
    own_sshd.uid(0)
    assert answers(own_sshd.host(), jobs)
    assert not log.exists()
    own_sshd.uid(1000)
    assert answers(own_sshd.host(), jobs)
    assert {line.split()[0] for line in log.read_text().splitlines()} == {"-n"}


@pytest.mark.parametrize(
    ("sudo", "sentence"),
    [
        (
            "echo 'sudo: a password is required' >&2; exit 1",
            "asks for a password, which lockscale neither stores",
        ),
        ("echo 'sudo: sorry, you must have a tty to run sudo' >&2; exit 1", "wants a terminal"),
        ("echo 'planted-user is not in the sudoers file; sudo refuses' >&2; exit 1", "refuses this user"),
        ("echo 'sh: 1: sudo: not found' >&2; exit 127", "has no sudo"),
    ],
)
def test_a_sudo_that_refuses_is_one_sentence(own_sshd: Sshd, jobs: Path, sudo: str, sentence: str) -> None:
    own_sshd.uid(1000)
    own_sshd.sudo(sudo)
    said = refusal(own_sshd.host(), jobs)
    assert isinstance(said, LoginRefused) and sentence in str(said)
    assert "planted-user" not in str(said)
    reached, root = not_reached("my-server", said)
    assert reached.ok and not root.ok and root.fix == str(said)


@pytest.mark.parametrize("end", ["\\n", ""])
def test_what_a_login_shell_prints_is_no_answer(tmp_path: Path, jobs: Path, end: str) -> None:
    noise = f'ForceCommand printf "a\\nwelcome{end}"; echo "$(date)" >&2; exec sh -c "$SSH_ORIGINAL_COMMAND"'
    made = Sshd(tmp_path / "noisy", (noise,))
    made.start()
    try:
        assert answers(made.host(), jobs)
    finally:
        made.stop()


@pytest.mark.parametrize(
    "refused", [HostKeyRefused("why"), LoginRefused("why"), Unreachable("why"), BadInput("why")]
)
def test_the_doctor_says_which_step_fails(refused: BadInput | RunFailed) -> None:
    [line] = not_reached("my-server", refused)
    assert not line.ok and line.fix == "why" and line.name == "my-server is reached"


def test_no_secret_is_in_a_sentence_a_traceback_or_a_log(
    own_sshd: Sshd, tmp_path: Path, jobs: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Planted: the names of a user, a host, a key file, known_hosts, an agent's socket; a passphrase."""
    log = logging.StreamHandler(io.StringIO())
    logging.getLogger().addHandler(log)
    logging.getLogger().setLevel(logging.DEBUG)
    logging.getLogger("lockscale.example").debug("seen")
    folder = tmp_path / "planted-folder"
    folder.mkdir()
    key = new_key(folder / "planted-key", passphrase="planted-passphrase")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(folder / "planted-agent"))
    config = folder / "planted-config"
    known = Path(shutil.copy(own_sshd.known_hosts, folder / "planted-known"))
    (folder / "planted-empty").touch()
    config.write_text(
        f"Host typed\n  HostName 127.0.0.1\n  User planted-user\n  Port {own_sshd.port}\n"
        f"  IdentityFile {key}\n"
        "Host away\n  HostName planted-host.invalid\n"
    )
    monkeypatch.setenv("HOME", str(folder))
    typed = SshHost("typed", "planted-user", None, None, known, config)
    hosts = [
        typed,
        replace(typed, identity_file=key),
        replace(typed, known_hosts=folder / "planted-empty"),
        replace(typed, host="away"),
        replace(typed, port=free_port()),
        replace(typed, ssh_config=folder / "planted-none"),
    ]
    told = []
    for host in hosts:
        try:
            with SshMachine(host, jobs_folder=str(jobs)):
                pytest.fail("it let us in")
        except (BadInput, RunFailed) as error:
            told += [str(error), repr(host), "".join(traceback.format_exception(error)[-1:])]
            assert error.__suppress_context__ or error.__context__ is None
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger().removeHandler(log)
    assert log.stream.getvalue() == "seen\n"
    told += capfd.readouterr()
    assert "planted" not in "".join(told)
    assert len(told) == 3 * len(hosts) + 2


def test_a_pipe_that_broke_before_ssh_was_seen_to_end_is_not_told_beside_why_it_ended(
    own_sshd: Sshd, jobs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(pipe: int, data: bytes) -> int:
        raise BrokenPipeError

    here = SimpleNamespace(**{**vars(os), "write": broken})
    monkeypatch.setattr(ssh_shell, "os", here)
    with pytest.raises(Unreachable, match="refuses the connection") as told:
        SshMachine(replace(own_sshd.host(), port=free_port()), jobs_folder=str(jobs)).__enter__()
    assert told.value.__suppress_context__ or told.value.__context__ is None


def test_no_password_is_ever_asked_for(own_sshd: Sshd, home: Path, tmp_path: Path, jobs: Path) -> None:
    """A server that would take one gets none, and nobody is asked."""
    own_sshd.stop()
    config = own_sshd.folder / "sshd_config"
    config.write_text(config.read_text().replace("PasswordAuthentication no", "PasswordAuthentication yes"))
    own_sshd.start()
    said = refusal(replace(own_sshd.host(), identity_file=new_key(tmp_path / "wrong")), jobs)
    assert isinstance(said, LoginRefused)
    assert "password" not in (own_sshd.folder / "sshd.log").read_text()
