# SPDX-License-Identifier: MIT
"""What enters data/ says nothing of the machine: the rule by hand, and held over all of data/."""

import getpass
import gzip
import re
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure import curate as module
from lockscale.measure.curate import TOOL_WORDS, scrub
from lockscale.tools.registry import parse
from lockscale.tools.seal import seal, unseal

FILES = [path for path in sorted((paths.ROOT / "data").rglob("*")) if path.is_file()]
TEMPORARY = tempfile.gettempdir()
CHECKOUT = "/srv/build/lockscale"
# in pieces: no file of the repository may name a folder of one machine
HOMES, ROOTS = "/" + "home", "/" + "root"


@pytest.fixture(autouse=True)
def named(monkeypatch):
    """A machine with a name, a user, and a checkout of its own."""
    monkeypatch.setattr(paths, "ROOT", Path(CHECKOUT))
    monkeypatch.setattr(paths, "CACHE", Path("/big/cache"))
    monkeypatch.setattr(socket, "gethostname", lambda: "mds1")
    monkeypatch.setattr(socket, "getfqdn", lambda: "mds1.example.org")
    monkeypatch.setattr(getpass, "getuser", lambda: "jsmith")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"init={CHECKOUT}/.venv/bin/x,", "init=ROOT/.venv/bin/x,"),
        (f"cwd {CHECKOUT}\n", "cwd ROOT\n"),
        ("-kernel /big/cache/kernels/1/bzImage", "-kernel CACHE/kernels/1/bzImage"),
        (f"{CHECKOUT}2/x", f"{CHECKOUT}2/x"),
        (f"{TEMPORARY}/lockscale-guest-ab_1/shared", "GUEST/shared"),
        (f"path={TEMPORARY}/virtme_ret1", "path=TMP/virtme_ret1"),
        ("virtme.exec=`L3RtcC9sb2Nr`", "virtme.exec=`GUEST`"),
        (f"{HOMES}/jsmith/build {HOMES}/other/x", "HOME/build HOME/x"),
        (f"open {ROOTS}/.debug", "open HOME/.debug"),
        ("overlay=/home,/root", "overlay=/home,/root"),
        ("Linux mds1 6.12.117", "Linux HOST 6.12.117"),
        ("mds1.example.org: mds12 mds1-ost", "HOST: mds12 HOST-ost"),
        ("jsmith@mds1", "USER@HOST"),
        ("/var/tmp/st/x /private/tmp/foo", "/var/tmp/st/x /private/tmp/foo"),
        (f"/mnt{CHECKOUT}/x /", "/mnt/ROOT/x /"),
        (f"/{HOMES}/alice/z file://{HOMES}/alice/z", "HOME/z file:HOME/z"),
        (f"{HOMES}/al ice/x {HOMES}/al\\ ice/x {HOMES}/al\\040ice/x", "HOME/x HOME/x HOME/x"),
        (f"open {HOMES}/alice 5/s", "open HOME 5/s"),
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


FORMS = {
    "MDS01": "HOST",
    "MDS01.lab.example.com": "HOST",
    "Mds01: up": "HOST: up",
    "mds01-ib0 mds01_eth0": "HOST-ib0 HOST_eth0",
    "mds01.other.example.org,mds01.local": "HOST,HOST",
    "oss7.lab.example.com gw.example.com": "HOST HOST",
    "mds01.log mds012 xmds01 mds01a": "HOST.log mds012 xmds01 mds01a",
}


@pytest.mark.parametrize(("said", "kept"), FORMS.items())
@pytest.mark.parametrize("known", ["this machine", "by the place"])
def test_a_host_is_found_in_every_form(said, kept, known, monkeypatch):
    host = "mds01.lab.example.com"
    if known == "this machine":
        monkeypatch.setattr(socket, "gethostname", lambda: host)
    assert scrub(said, [host] if known == "by the place" else []) == kept


def test_a_place_by_its_address_reads_host():
    said = "10.1.2.3:/x 10.1.2.31 [2001:db8::7]:22"
    assert scrub(said, ["10.1.2.3", "2001:db8::7"]) == "HOST:/x IP [HOST]:22"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("alice_run1 run_alice alice2 ALICE", "USER_run1 run_USER USER2 USER"),
        ("malice alicent", "malice alicent"),
        ("/srv/my homes/alice b/x", "HOME/x"),
        ("/srv/my\\040homes/alice\\ b/x", "HOME/x"),
    ],
)
def test_a_user_is_found_in_every_form(said, kept, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "alice")
    monkeypatch.setenv("HOME", "/srv/my homes/alice b")
    assert scrub(said) == kept


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("inet 10.1.2.3/24, 10.1.2.3@tcp 10.1.2.3:988.", "inet IP/24, IP@tcp IP:988."),
        ("127.0.0.1 0.0.0.0 ::1", "127.0.0.1 0.0.0.0 ::1"),
        ("version 2.15.0.1 v2.15.0.1 lustre-2.15.0.1 6.1.0.1-ddn", None),
        ("1.2.3.4.5 300.1.2.3 6.12.117 fallocate::2 12:30:45 2026:11:22", None),
        ("fe80::5054:ff:fe12:3456%eth0 2001:DB8::1", "IP%eth0 IP"),
        ("link/ether 52:54:00:12:34:5F brd ff", "link/ether MAC brd ff"),
    ],
)
def test_addresses_go_and_versions_stay(said, kept):
    assert scrub(said) == (kept or said)


@pytest.mark.parametrize("word", ["vm", "mdtest", "perf", "ext4", "mark"])
def test_a_machine_or_user_named_like_a_word_of_the_tools_is_found_only_as_a_name(word, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: word)
    monkeypatch.setattr(getpass, "getuser", lambda: word)
    said = f"{word}.dirty_ratio = 20; {word}-4.0.0 __{word}_dirty {word} 12.5"
    assert scrub(said) == said
    assert scrub(f"{word}@{word}:~$ uname; Linux {word} 6.1") == "USER@HOST:~$ uname; Linux HOST 6.1"


def parsed(path: Path) -> list[str]:
    try:
        return [str(row) for row in parse(path.read_text(errors="replace")).rows]
    except BadInput:
        return []


# what people paste from mails: a run holds none of it
PASTED = ("bpf_histogram", "folded", "klockstat", "perf_report", "perf_top", "robot_mail", "stack_counts")
SAMPLES = [
    path
    for path in sorted((paths.ROOT / "tests" / "samples").iterdir())
    if not path.name.startswith(PASTED) and parsed(path)
]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_scrubbing_changes_no_row_of_a_sample(path: Path, tmp_path: Path):
    clean = tmp_path / path.name
    clean.write_text(scrub(path.read_text(errors="replace"), ["oss7.lab.example.org", "10.1.2.3"]))
    assert parsed(clean) == parsed(path)


def test_every_word_of_the_samples_is_a_word_of_the_tools():
    """So no machine's or user's name, whatever it is, changes a row; hexadecimal is left out."""
    text = "\n".join(path.read_text(errors="replace").lower() for path in SAMPLES)
    words = set(re.findall(r"(?<![^\W_])[a-z][a-z0-9]{3,}(?![^\W_])", text))
    hexadecimal = {word for word in words if re.fullmatch(r"[0-9a-f]*\d[0-9a-f]*|[a-f]{6,}", word)}
    assert words - hexadecimal - TOOL_WORDS == set()


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SAMPLES), st.sampled_from(sorted(TOOL_WORDS)), st.text("aimps1", min_size=1))
def test_no_name_changes_a_row_of_a_sample(path: Path, word: str, name: str):
    text = path.read_text(errors="replace")
    for host in (word, name):
        with pytest.MonkeyPatch.context() as named:
            named.setattr(getpass, "getuser", lambda host=host: host)
            clean = scrub(text, [host])
        assert [str(row) for row in parse(clean).rows] == parsed(path)


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


def by_hand(path: Path) -> bool:
    """Written by people, and so with names of people: an author of a published patch may run this test."""
    return path.suffix in (".md", ".yaml") or path.name == "datapackage.json"


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix != ".gz"], ids=lambda p: p.name)
def test_files_in_data_are_scrubbed(path: Path, monkeypatch):
    if not by_hand(path):
        monkeypatch.undo()  # the names of this machine
    text = path.read_text()
    assert scrub(text) == text


@pytest.mark.slow
def test_raw_output_in_data_is_scrubbed(monkeypatch):
    monkeypatch.undo()
    raw = [path for path in FILES if path.suffix == ".gz"]
    assert raw
    for path in raw:
        text = gzip.decompress(path.read_bytes()).decode()
        assert scrub(text) == text, path


def test_the_rule_is_stated():
    for word in ("GUEST", "ROOT", "CACHE", "TMP", "HOME", "HOST", "USER", "IP", "MAC"):
        assert word in (module.__doc__ or "")
