# SPDX-License-Identifier: MIT
"""The way to a server by ~/.ssh/config and the network; what fails on it is one sentence."""

import contextlib
import getpass
import re
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.machines import ssh_host
from lockscale.machines.ssh_host import HostKeyRefused, LoginRefused, SshHost, Unreachable, refusal_of
from loopback_sshd import Sshd, answers, free_port, refusal

pytestmark = pytest.mark.slow


def test_a_name_without_an_address_is_one_sentence(sshd: Sshd, jobs: Path) -> None:
    said = refusal(replace(sshd.host(), host="no-such-host.invalid"), jobs)
    assert str(said).startswith("no-such-host.invalid does not resolve")


def test_a_closed_port_is_one_sentence(sshd: Sshd, jobs: Path) -> None:
    assert "refuses the connection: is sshd running" in str(refusal(sshd.host(free_port()), jobs))


TO = "ssh: connect to host planted-host port 22: "


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (f"{TO}No route to host", "no route to"),
        (f"{TO}Network is unreachable", "no route to"),
        (f"{TO}Connection timed out", "does not answer within"),
        (f"{TO}Permission denied", r"cannot be reached \(Permission denied\)"),
        (f'config line 9: Unsupported option "gssapi"\r\n{TO}No route to host', "no route to"),
        (
            "Unable to negotiate with planted-host port 22: no matching host key type found.",
            "considered safe",
        ),
        ("Connection reset by planted-host port 22", "closes the connection before login"),
        ("debug1: Authenticated to planted-host using", "closes the connection after the login"),
        (
            "something of a later version with planted-host in it",
            "cannot be reached: `ssh -p 22 my-server` says",
        ),
    ],
)
def test_what_ssh_logs_of_the_network_is_one_sentence(log: str, sentence: str) -> None:
    """As OpenSSH 9.2 prints it; none of these can be had on loopback."""
    said = refusal_of(SshHost("my-server", port=22), f"debug1: Reading planted-file\r\n{log}\r\n")
    assert re.search(rf"^my-server .*{sentence}", str(said)) and "planted" not in str(said)
    assert isinstance(said, LoginRefused if "safe" in sentence else Unreachable)


@pytest.mark.parametrize(
    ("banner", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n" * 200, "is there an ssh server on that port"),
        (b"", "closes the connection before login"),
    ],
)
def test_what_is_no_ssh_server_is_one_sentence(
    sshd: Sshd, jobs: Path, monkeypatch: pytest.MonkeyPatch, banner: bytes, sentence: str
) -> None:
    """One that talks of other things, and one that is silent."""
    monkeypatch.setattr(ssh_host, "CONNECT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            near, _ = listener.accept()
            with near:
                near.sendall(banner)
                with contextlib.suppress(ConnectionError):
                    while near.recv(1 << 16):
                        pass

        threading.Thread(target=serve, daemon=True).start()
        assert sentence in str(refusal(sshd.host(listener.getsockname()[1]), jobs))


def test_an_alias_gives_everything(sshd: Sshd, home: Path, jobs: Path) -> None:
    """Also from an included file, after which the block goes on."""
    (home / "config").write_text(
        f"Host my-server\n  HostName 127.0.0.1\n  Include {home}/more/*\n  Port {sshd.port}\n"
        f"Host other\n  Port 1\nHost my-*\n  UserKnownHostsFile {sshd.known_hosts}\n"
    )
    (home / "more").mkdir()
    (home / "more" / "key").write_text(
        f"IdentityFile {sshd.key}\nUser {getpass.getuser()}\nHost x\n  Port 2\n"
    )
    assert answers(SshHost("my-server"), jobs)


def test_a_server_behind_jump_hosts_is_reached(sshd: Sshd, own_sshd: Sshd, jobs: Path) -> None:
    """Two hops, passed in the order of ProxyJump: the second has a name that only its alias gives."""
    known = own_sshd.folder / "all_known"
    known.write_text(sshd.known_hosts.read_text() + own_sshd.known_hosts.read_text())
    own_sshd.ssh_config.write_text(
        f"UserKnownHostsFile {known}\nHost target\n  HostName 127.0.0.1\n  Port {own_sshd.port}\n"
        f"  ProxyJump {getpass.getuser()}@127.0.0.1:{sshd.port},second\n  IdentityFile {own_sshd.key}\n"
        f"Host second\n  HostName 127.0.0.1\n  Port {own_sshd.port}\n  IdentityFile {own_sshd.key}\n"
        f"Host 127.0.0.1\n  IdentityFile {sshd.key}\n"
    )
    assert answers(SshHost("target", ssh_config=own_sshd.ssh_config), jobs)


def test_a_jump_host_is_checked_like_any_other(own_sshd: Sshd, jobs: Path) -> None:
    own_sshd.ssh_config.write_text(
        "Host target\n  HostName 127.0.0.1\n  ProxyJump hidden-name\n"
        "Host hidden-name\n  HostName 127.0.0.1\n"
        f"  Port {own_sshd.port}\n  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n"
    )
    said = refusal(replace(own_sshd.host(), host="target", port=None), jobs)
    assert isinstance(said, HostKeyRefused)
    assert str(said).startswith("the host key of the jump host of target (") and "hidden-name" not in str(
        said
    )


@pytest.mark.parametrize("jumps", ["one", "one,two", "target"])
def test_a_circle_of_jump_hosts_ends(own_sshd: Sshd, jobs: Path, jumps: str) -> None:
    own_sshd.ssh_config.write_text(
        f"Host target\n  ProxyJump {jumps}\nHost one\n  ProxyJump two\nHost two\n  ProxyJump one\n"
        "Host *\n  HostName no-such-host.invalid\n"
    )
    said = str(refusal(replace(own_sshd.host(), host="target"), jobs))
    assert "form a loop" in said or (jumps == "target" and "does not resolve" in said)


PIPE = """
import os, socket, sys, threading
far = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def up():
    while data := os.read(0, 65536): far.sendall(data)
threading.Thread(target=up, daemon=True).start()
while data := far.recv(65536): os.write(1, data)
"""


def test_a_proxy_command_carries_the_connection(own_sshd: Sshd, tmp_path: Path, jobs: Path) -> None:
    (tmp_path / "pipe.py").write_text(PIPE)
    own_sshd.ssh_config.write_text(f"ProxyCommand {sys.executable} -S {tmp_path}/pipe.py %p\n")
    assert answers(own_sshd.host(), jobs)
    own_sshd.ssh_config.write_text("ProxyCommand /no/such/command %h\n")
    assert "has a ProxyCommand that is not on this machine" in str(refusal(own_sshd.host(), jobs))
    own_sshd.ssh_config.write_text("ProxyCommand true\n")
    assert "before login" in str(refusal(own_sshd.host(), jobs))


@pytest.mark.parametrize("text", ["Host a\n  Port twenty\n", "nonsense\n", "Match exec\n"])
def test_an_odd_ssh_config_is_one_sentence(own_sshd: Sshd, jobs: Path, text: str) -> None:
    own_sshd.ssh_config.write_text(text)
    assert "ssh_config file" in str(refusal(replace(own_sshd.host(), host="a", port=None), jobs))


def test_no_setting_passes_on_an_agent_a_ticket_or_a_port(home: Path, tmp_path: Path) -> None:
    (home / "config").write_text(
        "ForwardAgent yes\nGSSAPIDelegateCredentials yes\nTunnel yes\nRemoteForward 9000 localhost:22\n"
    )
    program, *argv = SshHost("my-server").command(tmp_path)
    said = subprocess.run([program, "-G", *argv], capture_output=True, text=True, check=True).stdout
    nothing = {"forwardagent no", "gssapidelegatecredentials no", "tunnel false", "clearallforwardings yes"}
    assert nothing <= set(said.splitlines())


def test_an_ssh_config_that_is_not_there_is_one_sentence(sshd: Sshd, jobs: Path, tmp_path: Path) -> None:
    assert "does not exist" in str(refusal(replace(sshd.host(), ssh_config=tmp_path / "none"), jobs))
    assert "does not exist" in str(refusal(replace(sshd.host(), known_hosts=tmp_path / "none"), jobs))


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
