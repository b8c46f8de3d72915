# SPDX-License-Identifier: MIT
"""The build-id of a kernel is the one that readelf prints."""

import re
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lockscale.errors import RunFailed
from lockscale.kernels.identity import build_id_from_notes, build_id_of


def note(name: bytes, kind: int, descriptor: bytes) -> bytes:
    """One ELF note as elf(5) lays it out."""
    head = struct.pack("<III", len(name), len(descriptor), kind)
    return head + name + b"\0" * (-len(name) % 4) + descriptor + b"\0" * (-len(descriptor) % 4)


notes = st.builds(note, st.binary(max_size=12), st.integers(0, 2**32 - 1), st.binary(max_size=24))
others = st.lists(notes.filter(lambda n: b"GNU\0" not in n), max_size=4).map(b"".join)


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small program whose build-id note lies in .notes, as in a vmlinux."""
    folder = tmp_path_factory.mktemp("elf")
    (folder / "a.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-Wl,--build-id=sha1", "-o", "plain", "a.c"], cwd=folder, check=True)
    rename = ["--rename-section", ".note.gnu.build-id=.notes"]
    subprocess.run(["objcopy", *rename, "plain", "vmlinux"], cwd=folder, check=True)
    return folder / "vmlinux"


def by_readelf(path: Path) -> str:
    done = subprocess.run(
        ["readelf", "-n", path.with_name("plain")], capture_output=True, text=True, check=True
    )
    return re.search(r"Build ID: ([0-9a-f]+)", done.stdout)[1]


def test_readelf_agrees(linked: Path):
    assert build_id_of(linked) == by_readelf(linked)
    assert len(build_id_of(linked)) == 40


def test_a_linked_file_without_the_note_is_not_trusted(linked: Path):
    bare = linked.with_name("bare")
    subprocess.run(["objcopy", "--remove-section=.notes", linked, bare], check=True)
    with pytest.raises(RunFailed, match="no GNU build-id note"):
        build_id_of(bare)


def test_a_file_that_is_no_kernel_is_not_trusted(tmp_path: Path):
    (tmp_path / "vmlinux").write_bytes(b"not ELF")
    with pytest.raises(RunFailed):
        build_id_of(tmp_path / "vmlinux")


def test_other_notes_are_passed_over():
    # Xen's notes come first in a real vmlinux, some with odd sizes; type 3 of another owner is no build-id
    before = note(b"Xen\0", 6, b"linux\0") + note(b"Linux\0", 0x101, b"\1") + note(b"Xen\0", 3, b"not me")
    assert build_id_from_notes(before + note(b"GNU\0", 3, b"\xab" * 20)) == "ab" * 20
    with pytest.raises(RunFailed):
        build_id_from_notes(before + note(b"GNU\0", 1, b"\0" * 16))


@given(others, st.binary(min_size=1, max_size=32), others)
def test_the_first_gnu_build_id_is_found_among_any_notes(before, build_id, after):
    assert build_id_from_notes(before + note(b"GNU\0", 3, build_id) + after) == build_id.hex()


@given(others, st.binary(min_size=1, max_size=32), st.data())
def test_a_note_that_was_cut_is_never_half_a_build_id(before, build_id, data):
    head = note(b"GNU\0", 3, b"")
    whole = before + note(b"GNU\0", 3, build_id)
    end = len(before) + len(head) + len(build_id)
    with pytest.raises(RunFailed):
        build_id_from_notes(whole[: data.draw(st.integers(0, end - 1))])


@given(others | st.binary(max_size=200))
@example(note(b"GNU\0", 3, b""))
def test_any_bytes_are_a_build_id_that_is_in_them_or_refused(junk):
    try:
        found = bytes.fromhex(build_id_from_notes(junk))
    except RunFailed:
        return
    assert found and found in junk
