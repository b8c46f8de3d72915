# SPDX-License-Identifier: MIT
"""known_hosts is read as ssh-keygen reads it."""

import base64
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.machines.ssh_known_hosts import KnownKeys, entry_name, known_keys
from lockscale.programs import need
from loopback_sshd import new_key

PATTERNS = [
    "server", "SERVER", "server,other", "*.example.org", "ser?er", "*,!server", "!server,server",
    "[server]:2222", "[*]:2222", "192.0.2.1", "2001:db8::1", "srv*", "serve[rs]", "*",
]  # fmt: skip
NAMES = ["server", "a.example.org", "[server]:2222", "192.0.2.1", "2001:db8::1", "serves", "other"]


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> str:
    key = new_key(tmp_path_factory.mktemp("keys") / "key")
    return " ".join(key.with_suffix(".pub").read_text().split()[:2])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_means_what_ssh_keygen_finds(tmp_path: Path, public: str, pattern: str) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"# a comment\n\n{pattern} {public} somebody\n")
    for name in NAMES:
        found = subprocess.run([need("ssh-keygen"), "-F", name, "-f", file], capture_output=True)
        assert bool(known_keys([file], name).keys) == (found.returncode == 0), name


def test_hashed_names_are_found(tmp_path: Path, public: str) -> None:
    file = tmp_path / "known_hosts"
    file.write_text("".join(f"{name} {public}\n" for name in NAMES[:-1]))
    subprocess.run([need("ssh-keygen"), "-H", "-f", file], check=True, capture_output=True)
    assert "server" not in file.read_text()
    for name in NAMES:
        assert len(known_keys([file], name).keys) == (name != "other")


def test_every_key_of_a_host_is_known_and_a_revoked_one_apart(tmp_path: Path) -> None:
    one, two = base64.b64encode(b"one").decode(), base64.b64encode(b"two").decode()
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(f"a ssh-ed25519 {one}\n@revoked * ssh-rsa {two}\n@cert-authority * ssh-rsa {one}\n")
    second.write_text(f"a,b ssh-ed25519 {two}\nb ssh-rsa not-base64!\nb\n")
    known = known_keys([first, second], "a")
    assert known == KnownKeys((("ssh-ed25519", b"one"), ("ssh-ed25519", b"two")), frozenset({b"two"}))


def test_a_host_is_looked_up_with_its_port_unless_it_is_the_usual_one() -> None:
    assert entry_name("Server", 22) == "server"
    assert entry_name("Server", 2222) == "[server]:2222"
    assert entry_name("server", 2222, "Alias") == "alias"


@settings(max_examples=30)
@given(st.text())
def test_no_text_is_too_odd_for_a_known_hosts_file(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "odd_known_hosts"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert known_keys([file], "a-server-that-nobody-has").keys == () or "*" in text
