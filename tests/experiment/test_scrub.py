# SPDX-License-Identifier: MIT
"""What enters data/ says nothing of the machine: the rule by hand, and held over all of data/."""

import getpass
import gzip
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale import paths
from lockscale.experiment import scrub as module
from lockscale.experiment.scrub import scrub
from lockscale.profilers.seal import seal, unseal

FILES = [path for path in sorted((paths.ROOT / "data").rglob("*")) if path.is_file()]
TEMPORARY = tempfile.gettempdir()
CHECKOUT = "/srv/build/lockscale"
# in pieces: no file of the repository may name a folder of one machine
HOMES, ROOTS = "/" + "home", "/" + "root"


@pytest.fixture(autouse=True)
def named(monkeypatch):
    """A machine with a name, a user, and a checkout of its own."""
    monkeypatch.setattr(paths, "ROOT", Path(CHECKOUT))
    monkeypatch.setattr(socket, "gethostname", lambda: "mds1")
    monkeypatch.setattr(socket, "getfqdn", lambda: "mds1.example.org")
    monkeypatch.setattr(getpass, "getuser", lambda: "jsmith")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"init={CHECKOUT}/.venv/bin/x,", "init=ROOT/.venv/bin/x,"),
        (f"cwd {CHECKOUT}\n", "cwd ROOT\n"),
        (f"{CHECKOUT}2/x", f"{CHECKOUT}2/x"),
        (f"{TEMPORARY}/lockscale-guest-ab_1/shared", "GUEST/shared"),
        (f"path={TEMPORARY}/virtme_ret1", "path=TMP/virtme_ret1"),
        ("virtme.exec=`L3RtcC9sb2Nr`", "virtme.exec=`GUEST`"),
        (f"{HOMES}/jsmith/build {HOMES}/other/x", "HOME/build HOME/x"),
        (f"open {ROOTS}/.debug", "open HOME/.debug"),
        ("overlay=/home,/root", "overlay=/home,/root"),
        ("Linux mds1 6.12.117", "Linux HOST 6.12.117"),
        ("mds1.example.org: mds12 mds1-ost", "HOST: mds12 mds1-ost"),
        ("jsmith@mds1", "USER@HOST"),
        ("Fri Nov 20 2026 /usr/bin/mds-survey from oss7", "Fri Nov 20 2026 /usr/bin/mds-survey from HOST"),
        ("ext4_create 8.0125 root /usr/lib /dev/vdb", "ext4_create 8.0125 root /usr/lib /dev/vdb"),
    ],
)  # fmt: skip
def test_the_rule_by_hand(said, kept):
    assert scrub(said) == kept


@settings(max_examples=100)
@given(
    st.lists(
        st.sampled_from(["mds1", f"{ROOTS}/", CHECKOUT, " ", "\n", "x", "jsmith", TEMPORARY, "/", "HOME"])
    )
)
def test_a_second_scrubbing_changes_nothing(parts):
    once = scrub("".join(parts))
    assert scrub(once) == once


def test_a_machine_named_like_a_common_word_keeps_it(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "ext4")
    monkeypatch.setattr(socket, "getfqdn", lambda: "localhost")
    monkeypatch.setattr(getpass, "getuser", lambda: "root")
    assert scrub("ext4 localhost root") == "ext4 localhost root"


def test_a_user_without_an_entry_has_no_name(monkeypatch):
    def unknown():
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", unknown)
    assert scrub("jsmith on mds1") == "jsmith on HOST"


def test_a_sealed_output_stays_sealed():
    assert unseal(scrub(seal("from mds1\n"))) == ("from HOST\n", True)


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix != ".gz"], ids=lambda p: p.name)
def test_files_in_data_are_scrubbed(path: Path, monkeypatch):
    monkeypatch.undo()  # the names of this machine
    text = path.read_text()
    assert scrub(text) == text


def test_raw_output_in_data_is_scrubbed(monkeypatch):
    monkeypatch.undo()
    raw = [path for path in FILES if path.suffix == ".gz"]
    assert raw
    for path in raw:
        text = gzip.decompress(path.read_bytes()).decode()
        assert scrub(text) == text, path


def test_the_rule_is_stated():
    for word in ("GUEST", "ROOT", "TMP", "HOME", "HOST", "USER"):
        assert word in (module.__doc__ or "")
