# SPDX-License-Identifier: MIT
"""The way to a server by ~/.ssh/config and the network; what fails on it is one sentence."""

import contextlib
import errno
import getpass
import re
import socket
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.machines import ssh_connection
from lockscale.machines.ssh import SshHost
from lockscale.machines.ssh_host import HostKeyRefused, Unreachable
from loopback_sshd import Sshd, answers, free_port, refusal

pytestmark = pytest.mark.slow


def test_a_name_without_an_address_is_one_sentence(sshd: Sshd, room: Path) -> None:
    said = refusal(replace(sshd.host(), host="no-such-host.invalid"), room)
    assert str(said).startswith("no-such-host.invalid has no address")


def test_a_closed_port_is_one_sentence(sshd: Sshd, room: Path) -> None:
    assert "refuses the connection: does sshd run" in str(refusal(sshd.host(free_port()), room))


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.EHOSTUNREACH, "x"), "has no route to it"),
        (OSError(errno.ENETUNREACH, "x"), "has no route to it"),
        (TimeoutError(errno.ETIMEDOUT, "x"), "does not answer within"),
        (PermissionError(errno.EACCES, "Permission denied"), r"cannot be reached \(Permission denied\)"),
    ],
)
def test_what_the_network_says_is_one_sentence(
    sshd: Sshd, room: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, sentence: str
) -> None:
    def connect(*_: object) -> None:
        raise error

    monkeypatch.setattr(socket.socket, "connect", connect)
    said = refusal(sshd.host(), room)
    assert isinstance(said, Unreachable) and re.search(sentence, str(said))


@pytest.mark.parametrize(
    ("banner", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n" * 200, "is an ssh server on that port"),
        (b"", "talk before a login"),
    ],
)
def test_what_is_no_ssh_server_is_one_sentence(
    sshd: Sshd, room: Path, monkeypatch: pytest.MonkeyPatch, banner: bytes, sentence: str
) -> None:
    """One that talks of other things, and one that is silent."""
    monkeypatch.setattr(ssh_connection, "CONNECT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            near, _ = listener.accept()
            with near:
                near.sendall(banner)
                with contextlib.suppress(ConnectionError):
                    while near.recv(1 << 16):
                        pass

        threading.Thread(target=serve, daemon=True).start()
        assert sentence in str(refusal(sshd.host(listener.getsockname()[1]), room))


def test_an_alias_gives_everything(sshd: Sshd, home: Path, room: Path) -> None:
    """Also from an included file, after which the block goes on."""
    (home / "config").write_text(
        f"Host my-server\n  HostName 127.0.0.1\n  Include more/*\n  Port {sshd.port}\n"
        f"Host other\n  Port 1\nHost my-*\n  UserKnownHostsFile {sshd.known_hosts}\n"
    )
    (home / "more").mkdir()
    (home / "more" / "key").write_text(
        f"IdentityFile {sshd.key}\nUser {getpass.getuser()}\nHost x\n  Port 2\n"
    )
    assert answers(SshHost("my-server"), room)


def test_a_server_behind_jump_hosts_is_reached(sshd: Sshd, own_sshd: Sshd, room: Path) -> None:
    """Two hops, passed in the order of ProxyJump: the second has a name that only its alias gives."""
    known = own_sshd.folder / "all_known"
    known.write_text(sshd.known_hosts.read_text() + own_sshd.known_hosts.read_text())
    own_sshd.ssh_config.write_text(
        f"UserKnownHostsFile {known}\nHost target\n  HostName 127.0.0.1\n  Port {own_sshd.port}\n"
        f"  ProxyJump {getpass.getuser()}@127.0.0.1:{sshd.port},second\n  IdentityFile {own_sshd.key}\n"
        f"Host second\n  HostName 127.0.0.1\n  Port {own_sshd.port}\n  IdentityFile {own_sshd.key}\n"
        f"Host 127.0.0.1\n  IdentityFile {sshd.key}\n"
    )
    assert answers(SshHost("target", ssh_config=own_sshd.ssh_config), room)


def test_a_jump_host_is_checked_like_any_other(own_sshd: Sshd, room: Path) -> None:
    own_sshd.ssh_config.write_text(
        "Host target\n  HostName 127.0.0.1\n  ProxyJump hidden-name\n"
        "Host hidden-name\n  HostName 127.0.0.1\n"
        f"  Port {own_sshd.port}\n  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n"
    )
    said = refusal(replace(own_sshd.host(), host="target", port=None), room)
    assert isinstance(said, HostKeyRefused)
    assert str(said).startswith("the host key of the jump host of target (") and "hidden-name" not in str(
        said
    )


@pytest.mark.parametrize("jumps", ["one", "one,two", "target"])
def test_a_circle_of_jump_hosts_ends(own_sshd: Sshd, room: Path, jumps: str) -> None:
    own_sshd.ssh_config.write_text(
        f"Host target\n  ProxyJump {jumps}\nHost one\n  ProxyJump two\nHost two\n  ProxyJump one\n"
        "Host *\n  HostName no-such-host.invalid\n"
    )
    said = str(refusal(replace(own_sshd.host(), host="target"), room))
    assert "in a circle" in said or (jumps == "target" and "no address" in said)


PIPE = """
import os, socket, sys, threading
far = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def up():
    while data := os.read(0, 65536): far.sendall(data)
threading.Thread(target=up, daemon=True).start()
while data := far.recv(65536): os.write(1, data)
"""


def test_a_proxy_command_carries_the_connection(own_sshd: Sshd, tmp_path: Path, room: Path) -> None:
    (tmp_path / "pipe.py").write_text(PIPE)
    own_sshd.ssh_config.write_text(f"ProxyCommand {sys.executable} -S {tmp_path}/pipe.py %p\n")
    assert answers(own_sshd.host(), room)
    own_sshd.ssh_config.write_text("ProxyCommand /no/such/command %h\n")
    assert "has a ProxyCommand that is not on this machine" in str(refusal(own_sshd.host(), room))
    own_sshd.ssh_config.write_text("ProxyCommand true\n")
    assert "before a login" in str(refusal(own_sshd.host(), room))


@pytest.mark.parametrize("text", ["Host a\n  Port twenty\n", "nonsense\n", "Match exec\n"])
def test_an_odd_ssh_config_is_one_sentence(own_sshd: Sshd, room: Path, text: str) -> None:
    own_sshd.ssh_config.write_text(text)
    assert "ssh_config file" in str(refusal(replace(own_sshd.host(), host="a", port=None), room))


def test_an_ssh_config_that_is_not_there_is_one_sentence(sshd: Sshd, room: Path, tmp_path: Path) -> None:
    assert "is not there" in str(refusal(replace(sshd.host(), ssh_config=tmp_path / "none"), room))
    assert "is not there" in str(refusal(replace(sshd.host(), known_hosts=tmp_path / "none"), room))


@pytest.mark.parametrize(
    "host", ["-oProxyCommand=x", "a b", "a\nb", "$(x)", "a;b", "", "u@h", "../x", "a" * 300]
)
def test_a_host_that_is_no_name_is_refused(host: str) -> None:
    with pytest.raises(BadInput, match="is not a host") as refused:
        SshHost(host)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("wrong", [{"user": "-x"}, {"user": "a b"}, {"port": 0}, {"port": 65536}])
def test_a_user_or_port_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="of my-server has to be"):
        SshHost("my-server", **wrong)  # type: ignore[arg-type]
