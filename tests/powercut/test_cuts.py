# SPDX-License-Identifier: MIT
"""A cut keeps what was flushed, loses what was not, and nothing else can be on the disk."""

import random
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_writer import SECTOR, Request, write_log

from lockscale.errors import BadInput, RunFailed
from lockscale.prove.powercut.cuts import BLOCK, Cut, WriteLog, choose_cuts, disks
from lockscale.prove.powercut.load import Plan, make_cuts

SIZE = 64 * BLOCK


def block(version: int) -> bytes:
    return version.to_bytes(8, "little") * (BLOCK // 8)


def left(log: WriteLog, cut: Cut) -> bytes:
    ((_, disk),) = disks(log, [cut])
    return b"".join(disk.blocks.get(n, bytes(BLOCK)) for n in range(SIZE // BLOCK))


def test_unflushed_write_is_lost_and_flushed_one_kept(tmp_path: Path) -> None:
    requests: list[Request] = [
        ("write", 0, block(1)),
        ("flush", 0, b""),
        ("write", 0, block(2)),
        ("fua", BLOCK, block(3)),
    ]
    log = WriteLog(write_log(tmp_path / "log", requests))
    disk = left(log, Cut(4, "nothing", 0))
    assert disk[:BLOCK] == block(1)
    assert disk[BLOCK : 2 * BLOCK] == block(3), "FUA is durable by itself"
    assert left(log, Cut(4, "all", 0))[:BLOCK] == block(2)
    assert left(log, Cut(1, "nothing", 0)) == bytes(SIZE), "the flush had not come yet"


def test_a_sector_written_alone_leaves_the_rest_of_its_block(tmp_path: Path) -> None:
    requests: list[Request] = [("write", 0, block(1)), ("write", 512, b"\7" * 512), ("flush", 0, b"")]
    disk = left(WriteLog(write_log(tmp_path / "log", requests)), Cut(3, "nothing", 0))
    assert disk[:BLOCK] == block(1)[:512] + b"\7" * 512 + block(1)[1024:]


def test_a_discard_is_volatile_too(tmp_path: Path) -> None:
    requests: list[Request] = [("write", 0, block(1)), ("flush", 0, b""), ("discard", 0, bytes(BLOCK))]
    log = WriteLog(write_log(tmp_path / "log", requests))
    assert left(log, Cut(3, "nothing", 0))[:BLOCK] == block(1)
    assert left(log, Cut(3, "all", 0))[:BLOCK] == bytes(BLOCK)


@st.composite
def requests_of_blocks(draw: st.DrawFn) -> list[Request]:
    kinds = draw(
        st.lists(st.sampled_from(["write", "write", "write", "fua", "flush"]), min_size=1, max_size=30)
    )
    made: list[Request] = []
    for version, kind in enumerate(kinds, start=1):
        at = draw(st.integers(0, 7)) * BLOCK
        made.append(("flush", 0, b"") if kind == "flush" else (kind, at, block(version)))
    return made


@settings(max_examples=60, deadline=None)
@given(requests_of_blocks(), st.data())
def test_every_block_is_of_the_last_flush_or_of_a_later_write(
    made: list[Request], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(made)))
    with tempfile.TemporaryDirectory() as folder:
        log = WriteLog(write_log(Path(folder) / "log", made))
        disk = left(log, Cut(at, "some", data.draw(st.integers(0, 99))))
    flushed = max((n for n in range(at) if made[n][0] == "flush"), default=-1)
    for number in range(8):
        writes = [(n, kind, content) for n, (kind, where, content) in enumerate(made[:at])
                  if kind != "flush" and where == number * BLOCK]  # fmt: skip
        certain = [w for w in writes if w[0] < flushed or w[1] == "fua"]
        base = certain[-1] if certain else (-1, "", bytes(BLOCK))
        allowed = [base[2], *(content for n, _, content in writes if n > base[0])]
        assert disk[number * BLOCK : (number + 1) * BLOCK] in allowed


def test_half_of_the_cuts_come_right_behind_an_ack() -> None:
    acks = [10, 50, 90]
    cuts = choose_cuts(acks, [50], 20, seed=3)
    behind = [cut for cut in cuts if cut.at - 1 in acks and cut.keep == "nothing"]
    assert len(behind) >= 10
    assert all(11 <= cut.at <= 91 for cut in cuts)
    assert cuts == choose_cuts(acks, [50], 20, seed=3)
    assert sum(cut.at == 51 for cut in behind) >= 5, "overwrites are looked at most"


def test_a_load_that_promised_too_little_is_not_called_safe(tmp_path: Path) -> None:
    log = WriteLog(write_log(tmp_path / "log", [("write", 0, block(1)), ("flush", 0, b"")]))
    with pytest.raises(RunFailed, match="the load overwrote 0 files: too few for 7 cuts: give fewer --cuts"):
        make_cuts(log, Plan(cuts=7))


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(bytes(4096))
    with pytest.raises(BadInput, match="not a usable write log"):
        WriteLog(path)


def test_a_saved_disk_is_sparse_and_whole(tmp_path: Path) -> None:
    requests: list[Request] = [("write", 40 * BLOCK, block(1)), ("flush", 0, b"")]
    ((_, disk),) = disks(WriteLog(write_log(tmp_path / "log", requests)), [Cut(2, "nothing", 0)])
    disk.save(tmp_path / "image", SIZE)
    assert (tmp_path / "image").stat().st_size == SIZE
    assert (tmp_path / "image").read_bytes()[40 * BLOCK :][:BLOCK] == block(1)


@pytest.mark.skipif(not shutil.which("qemu-io"), reason="qemu-io is not here")
def test_the_log_that_qemu_writes_gives_back_the_disk_and_its_last_flush(tmp_path: Path) -> None:
    rng = random.Random(5)
    image, log_file = tmp_path / "disk.img", tmp_path / "log"
    for path, size in ((image, SIZE), (log_file, 64 << 20)):
        with path.open("wb") as stream:
            stream.truncate(size)
    options = (
        f"driver=blklogwrites,file.driver=file,file.filename={image},file.cache.no-flush=on,"
        f"log.driver=file,log.filename={log_file},log.cache.no-flush=on,log-sector-size=512"
    )
    argv = ["qemu-io", "-t", "writeback", "--image-opts", options]
    current, durable = bytearray(SIZE), bytes(SIZE)
    for _ in range(60):
        at, size, pattern = (
            rng.randrange(0, SIZE - 8192, 512),
            rng.choice([512, 4096, 8192]),
            rng.randrange(1, 256),
        )
        argv += ["-c", f"write -P {pattern} {at} {size}"]
        current[at : at + size] = bytes([pattern]) * size
        if rng.random() < 0.1:
            argv += ["-c", "flush"]
            durable = bytes(current)
    argv += ["-c", "abort"]  # no flush at the end
    subprocess.run(argv, capture_output=True, check=False)
    log = WriteLog(log_file)
    assert left(log, Cut(len(log.entries), "all", 0)) == bytes(current) == image.read_bytes()
    assert left(log, Cut(len(log.entries), "nothing", 0)) == durable != bytes(current)


def test_some_of_the_cache_is_kept_and_some_is_not(tmp_path: Path) -> None:
    requests: list[Request] = [("write", n * BLOCK, block(n + 1)) for n in range(40)]
    log = WriteLog(write_log(tmp_path / "log", requests))
    for seed in range(3):
        kept = sum(left(log, Cut(40, "some", seed))[n * BLOCK] != 0 for n in range(40))
        assert 8 <= kept <= 32


def test_what_one_cut_kept_is_not_on_the_disk_of_the_next(tmp_path: Path) -> None:
    requests: list[Request] = [("write", 0, block(1)), ("write", BLOCK, block(2)), ("write", 0, block(3))]
    log = WriteLog(write_log(tmp_path / "log", requests))
    found = [disk.blocks for _, disk in disks(log, [Cut(2, "all", 0), Cut(3, "nothing", 1)])]
    assert found == [{0: block(1), 1: block(2)}, {}]


def test_every_second_cut_is_anywhere_and_keeps_more_than_nothing_at_times() -> None:
    cuts = sorted(choose_cuts([10, 1000], [], 60, seed=1), key=lambda cut: cut.seed)
    anywhere = [cut for cut in cuts if cut.seed % 2]
    assert {cut.keep for cut in anywhere} == {"nothing", "some", "all"}
    assert len({cut.at for cut in anywhere}) > 20
    assert {(cut.at, cut.keep) for cut in cuts if cut.seed % 2 == 0} == {(11, "nothing"), (1001, "nothing")}


def test_a_write_that_was_cut_off_is_no_entry(tmp_path: Path) -> None:
    """The emulator was killed in the middle of it: nobody was told that it is done."""
    path = write_log(tmp_path / "log", [("write", 0, block(1)), ("write", BLOCK, block(2))])
    content = bytearray(path.read_bytes()[: SECTOR * (1 + 2 * (1 + BLOCK // SECTOR)) - 100])
    content[16:24] = (1).to_bytes(8, "little")  # so many entries at the last flush
    path.write_bytes(content)
    assert [entry.offset for entry in WriteLog(path).entries] == [0]


def test_a_log_with_fewer_entries_than_were_flushed_has_a_hole(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log", [("write", 0, block(1)), ("write", BLOCK, block(2))])
    content = bytearray(path.read_bytes())
    content[16:24] = (3).to_bytes(8, "little")
    path.write_bytes(content)
    with pytest.raises(RunFailed, match="has a hole after 2 of 3 entries"):
        WriteLog(path)


@pytest.mark.parametrize("sector", [0, 1, 511])
def test_a_sector_that_no_disk_has_is_no_log(tmp_path: Path, sector: int) -> None:
    path = write_log(tmp_path / "log", [("flush", 0, b"")])
    content = bytearray(path.read_bytes())
    content[24:28] = sector.to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(BadInput, match="is not a usable write log"):
        WriteLog(path)
