# SPDX-License-Identifier: MIT
"""Where files lie: which block groups they fill, and how far from their inodes."""

import subprocess
from pathlib import Path

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.kernels.series import Series
from lockscale.prove.locality import (
    FILES_PER_WRITER,
    HOW,
    WRITERS,
    FileExtents,
    Locality,
    _Groups,
    command,
    localities,
    refuse_unwritten,
    streams,
    summary,
)
from lockscale.study.file import load_target

# mke2fs -b 4096 -g 4096: groups of 16 MiB.
GROUPS = _Groups(blocks=4096, inodes=1024, block_bytes=4096)


def test_an_extent_that_crosses_a_border_lies_in_both_groups():
    assert GROUPS.of_blocks(FileExtents("f", 4096, ((4095, 1),))) == {0}
    assert GROUPS.of_blocks(FileExtents("f", 4096, ((4095, 2),))) == {0, 1}
    assert GROUPS.of_blocks(FileExtents("f", 4096, ((0, 10), (9000, 1)))) == {0, 2}


def test_inodes_count_from_one():
    """Inode 1024 is the last of group 0, inode 1025 the first of group 1."""
    at_the_start = FileExtents("f", 4096, ((0, 256),))
    assert GROUPS.from_inode(at_the_start, 1024) == 0
    assert GROUPS.from_inode(at_the_start, 1025) == 1
    assert GROUPS.from_inode(FileExtents("f", 4096, ((3 * 4096, 1),)), 1) == 3


def test_a_group_of_4096_blocks_holds_16_mib():
    assert GROUPS.bytes == 16 << 20


@pytest.mark.parametrize(
    ("left", "why"),
    [
        (FileExtents("7", 4096, ((0, 100), (900, 156))), ""),
        (FileExtents("7", 4096, ((0, 100),), 409600), "7 has 409600 bytes, 409600 of them allocated"),
        (FileExtents("7", 4096, ((0, 100),)), "7 has 1048576 bytes, 409600 of them allocated"),
        (FileExtents("7", 4096, (), 0), "7 has 0 bytes, 0 of them allocated"),
    ],
)
def test_a_file_that_its_writer_did_not_finish_gives_no_figure(left: FileExtents, why: str):
    others = [FileExtents("/m/1/1", 4096, ((4096, 256),))] * (WRITERS * FILES_PER_WRITER - 1)
    if not why:
        return refuse_unwritten([*others, left], "s/arm")
    with pytest.raises(RunFailed, match=f"^s/arm: {why}, and not 1048576: its writer failed$"):
        refuse_unwritten([*others, left], "s/arm")
    with pytest.raises(RunFailed, match="left only 191 files"):
        refuse_unwritten(others, "s/arm")


def test_an_arm_is_summed_up_over_its_iterations_by_way_of_writing():
    def one(how: str, iteration: int, pieces: float) -> Locality:
        return Locality("s", "arm", how, iteration, 192, pieces, 12, 12, 0.5, 100.0, 7)

    moving, pinned = summary([one("moving", 1, 1.0), one("moving", 2, 2.0), one("pinned", 1, 4.0)])
    assert moving["pieces"] == "1.5 [1, 2]" and moving["iterations"] == 2
    assert pinned["pieces"] == "4 [4, 4]" and pinned["origin"] == "qemu"


def test_only_unsafe_arms_have_no_locality_to_show():
    unsafe = Series("s", "floor", Path(), (), unsafe="it loses orphans")
    with pytest.raises(BadInput, match=r"s/floor is unsafe.*name a safe arm"):
        localities([unsafe], load_target("qemu"), 3)


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
def test_every_way_of_writing_leaves_the_same_files(how: str, tmp_path: Path):
    subprocess.run(command(how, str(tmp_path)), check=True, capture_output=True, timeout=300)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == WRITERS * FILES_PER_WRITER
    assert {path.stat().st_size for path in files} == {1 << 20}


def test_events_that_a_full_buffer_dropped_were_events():
    """kernel/trace/trace.c, tracing_stats_read()."""
    cpu = "entries: 40\noverrun: 2\ncommit overrun: 0\nbytes: 999\ndropped events: 0\nread events: 0\n"
    assert streams(2 * cpu) == 84
