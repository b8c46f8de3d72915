# SPDX-License-Identifier: MIT
"""filefrag -v and e2freefrag of e2fsprogs, on this machine and as text."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.prove.locality import filefrag_command, parse_filefrag, parse_free

TWO = """\
Filesystem type is: ef53
File size of /m/a is 1048576 (256 blocks of 4096 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
   0:        0..      99:      34048..     34147:    100:             unwritten
   1:      100..     199:      34148..     34247:    100:             unwritten
   2:      200..     255:      90000..     90055:     56:      34248: last,unwritten,eof
/m/a: 2 extents found
File size of /m/b is 0 (0 blocks of 4096 bytes)
/m/b: 0 extents found
File size of /m/c d is 1 (1 block of 4096 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
   0:        0..       0:         77..        77:      1:             last,eof
/m/c d: 1 extent found
"""
FREE = """\
Device: /dev/vda
Blocksize: 4096 bytes
Min. free extent: 3808 KB
Max. free extent: 16126 KB
Avg. free extent: 9337 KB
Num. free extent: 6
"""


def test_extents_and_pieces_are_told_apart():
    """filefrag counts neighbours as one extent where the disk is read on; so do the pieces here."""
    with pytest.raises(BadInput, match="cut or damaged at /m/a"):
        parse_filefrag(TWO.replace("2 extents", "4 extents"))
    a, b, c = parse_filefrag(TWO)
    assert a.extents == ((34048, 100), (34148, 100), (90000, 56)) and a.pieces == 2
    assert b.pieces == 0 and (c.path, c.extents, c.block_bytes) == ("/m/c d", ((77, 1),), 4096)
    assert [one.size_bytes for one in (a, b, c)] == [1 << 20, 0, 1]
    assert [one.allocated_bytes for one in (a, b, c)] == [1 << 20, 0, 4096]


def test_the_real_tool_on_a_real_ext4_file_system(tmp_path: Path):
    image, source = tmp_path / "image", tmp_path / "files"
    source.mkdir()
    image.write_bytes(b"")
    with image.open("r+b") as stream:
        stream.truncate(32 << 20)
    done = subprocess.run(["mkfs.ext4", "-q", "-F", image], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = subprocess.run(["e2freefrag", image], capture_output=True, text=True, check=True).stdout
    free = parse_free(said)
    assert 0 < free.avg_kib < 32 << 10


@given(st.integers(0, len(TWO) - 2))
def test_a_cut_output_is_one_sentence(at: int):
    """Or the whole files before the cut, as one that was asked for fewer prints them."""
    try:
        found = parse_filefrag(TWO[:at])
    except BadInput as refused:
        assert str(refused).count("\n") == 0
    else:
        assert found == parse_filefrag(TWO)[: len(found)] and len(found) < 3


def test_free_extents_are_kib():
    assert parse_free(FREE).avg_kib == 9337
    with pytest.raises(BadInput, match="not e2freefrag's output"):
        parse_free("Device: /dev/vda\n")


def test_the_command_syncs_before_it_looks():
    assert filefrag_command(["/m/a b"]) == ["filefrag", "-s", "-v", "/m/a b"]
