# SPDX-License-Identifier: MIT
"""A promise is kept, kept in the middle of the next operation, or broken: and each is distinguished."""

import struct
from pathlib import Path

import pytest
from log_writer import Request, write_log

from lockscale.errors import BadInput
from lockscale.prove.powercut.cuts import BLOCK, Cut, WriteLog, disks
from lockscale.prove.powercut.promises import (
    APPEND,
    CREATE,
    NOTHING,
    OVERWRITE,
    REPLACE,
    TRUNCATE,
    UNLINK,
    Promise,
    State,
    broken,
    promises,
    read_files,
)

NAME = (0, 3)
START = 16 * BLOCK
OLD = State(CREATE, (1, 1))


def judged(promise: Promise, line: str) -> list[str]:
    return broken({NAME: promise}, read_files(line))


@pytest.mark.parametrize(
    ("under_way", "line"),
    [
        (None, "0 3 8192 1 1"),
        (State(OVERWRITE, (2, 2)), "0 3 8192 1 1"),
        (State(OVERWRITE, (2, 2)), "0 3 8192 2 1"),
        (State(OVERWRITE, (2, 2)), "0 3 8192 2 2"),
        (State(APPEND, (1, 1, 2, 2)), "0 3 8192 1 1"),
        (State(APPEND, (1, 1, 2, 2)), "0 3 16384 1 1 2 zero"),
        (State(TRUNCATE, (1,)), "0 3 4096 1"),
        (State(REPLACE, (2,)), "0 3 4096 2"),
        (State(REPLACE, (2,)), "0 3 8192 1 1"),
        (State(UNLINK, None), ""),
        (State(UNLINK, None), "0 3 8192 1 1"),
    ],
)
def test_kept(under_way: State | None, line: str) -> None:
    assert judged(Promise(OLD, under_way), line) == []


@pytest.mark.parametrize(
    ("under_way", "line", "why"),
    [
        (None, "", "lost, version 1"),
        (None, "0 3 4096 1", "4096 bytes, 8192 were fsynced"),
        (None, "0 3 8192 1 zero", "block 1 is zero, version 1"),
        (None, "0 3 8192 1 bad", "block 1 is bad"),
        (State(OVERWRITE, (2, 2)), "0 3 8192 2 zero", "block 1 is zero, 1 or 2"),
        (State(OVERWRITE, (2, 2)), "", "lost"),
        (State(APPEND, (1, 1, 2)), "0 3 12288 zero 1 2", "block 0 is zero, 1 was"),
        (State(APPEND, (1, 1, 2)), "0 3 4096 1", "4096 bytes, between 8192 and 12288"),
        (State(TRUNCATE, (1,)), "0 3 5000 1 bad", "5000 bytes"),
        (State(REPLACE, (2,)), "0 3 8192 2 1", "block 0 is 2"),
        (State(UNLINK, None), "0 3 4096 1", "4096 bytes"),
    ],
)
def test_broken(under_way: State | None, line: str, why: str) -> None:
    (said,) = judged(Promise(OLD, under_way), line)
    assert said.startswith("file 0/3: ")
    assert why in said


def test_an_unlink_that_was_fsynced_stays_done() -> None:
    assert judged(Promise(State(UNLINK, None)), "") == []
    (said,) = judged(Promise(State(UNLINK, None)), "0 3 4096 1")
    assert "its unlink was fsynced" in said


def test_a_file_nobody_promised_is_broken() -> None:
    assert broken({}, read_files("0 9 4096 1")) == ["file 0/9: present, though its unlink was fsynced"]


def test_a_line_of_something_else_is_refused() -> None:
    with pytest.raises(BadInput, match="not a line of"):
        read_files("mount: /mnt: unknown file system")


def record(version: int, operation: int, acked: bool, blocks: int = 1) -> Request:
    versions = [version] * blocks + [0] * (8 - blocks)
    packed = struct.pack(
        "<Q16I", 0x31304B43414B534C, *NAME, operation, acked, version, 1, blocks, 0, *versions
    )
    return ("write", START + (BLOCK if acked else 0), packed.ljust(BLOCK, b"\0"))


def load_with(flush: bool) -> list[Request]:
    """Create and fsync, then overwrite and fdatasync; the second flush is there or is dropped."""
    return [
        record(1, CREATE, False),
        ("write", 0, b"\1" * BLOCK),
        ("flush", 0, b""),
        record(1, CREATE, True),
        record(2, OVERWRITE, False),
        ("write", 0, b"\2" * BLOCK),
        *([("flush", 0, b"")] if flush else []),
        record(2, OVERWRITE, True),
    ]


@pytest.mark.parametrize("flush", [True, False])
def test_only_a_dropped_flush_breaks_the_promise(tmp_path: Path, flush: bool) -> None:
    """The disk is the file: its first byte is the version."""
    log = WriteLog(write_log(tmp_path / "log", load_with(flush)))
    said = promises(log, START, len(log.entries))
    assert said[NAME] == Promise(State(OVERWRITE, (2,)))
    ((_, disk),) = disks(log, [Cut(len(log.entries), "nothing", 0)])
    found = {NAME: (BLOCK, (str(disk.blocks[0][0]),))}
    assert broken(said, found) == ([] if flush else ["file 0/3: block 0 is 1, version 2 was fsynced"])


def test_what_was_under_way_at_the_cut_is_known(tmp_path: Path) -> None:
    log = WriteLog(write_log(tmp_path / "log", load_with(True)))
    assert promises(log, START, 5)[NAME] == Promise(State(CREATE, (1,)), State(OVERWRITE, (2,)))
    assert promises(log, START, 1)[NAME].acked.versions is None


def test_the_record_at_the_cut_itself_was_not_written(tmp_path: Path) -> None:
    log = WriteLog(write_log(tmp_path / "log", load_with(True)))
    assert promises(log, START, 3)[NAME] == Promise(NOTHING, State(CREATE, (1,)))
    assert promises(log, START, 4)[NAME] == Promise(State(CREATE, (1,)))


def test_only_records_where_records_lie_promise_anything(tmp_path: Path) -> None:
    """A file's own content may look like one, and what lies there may be none."""
    _, _, content = record(1, CREATE, True)
    requests: list[Request] = [
        ("write", 0, content),
        ("write", START, b"\7" * BLOCK),
        record(2, CREATE, True),
    ]
    log = WriteLog(write_log(tmp_path / "log", requests))
    assert promises(log, START, 2) == {}
    assert promises(log, START, 3)[NAME] == Promise(State(CREATE, (2,)))
