# SPDX-License-Identifier: MIT
"""What the kernel, e2fsck and the files say after a cut: each thing that is wrong is a fault."""

import struct
from pathlib import Path

import pytest
from log_writer import write_log

from lockscale.errors import RunFailed
from lockscale.machines.machine import Completed
from lockscale.prove.powercut.campaign import CheckedCut, _untested, judge, orphans, replayed
from lockscale.prove.powercut.cuts import Cut, WriteLog
from lockscale.prove.powercut.load import RECORDS_AT, CutDisks, LoggedDisk
from lockscale.prove.powercut.promises import CREATE
from lockscale.tools.kernel_reports import reports

BLOCK = 4096
# As ext4 of 6.12 prints it (fs/ext4/super.c, fs/ext4/orphan.c).
WELL = """\
[    8.1] EXT4-fs (vda): 3 orphan inodes deleted
[    8.1] EXT4-fs (vda): 1 truncate cleaned up
[    8.1] EXT4-fs (vda): recovery complete
[    8.1] EXT4-fs (vda): mounted filesystem 6f1c r/w with ordered data mode. Quota mode: none.
[    8.3] EXT4-fs (vda): unmounting filesystem 6f1c.
"""


def done(status: int = 0, stdout: str = "", stderr: str = "") -> Completed:
    return Completed(("step",), status, stdout, stderr)


def log_of_one_file(folder: Path) -> WriteLog:
    """File 0/3 with one block of version 1, created and fsynced."""
    acked = struct.pack("<Q16I", 0x31304B43414B534C, 0, 3, CREATE, 1, 1, 1, 1, 0, 1, *[0] * 7)
    requests = [("write", RECORDS_AT, acked.ljust(BLOCK, b"\0")), ("flush", 0, b"")]
    return WriteLog(write_log(folder / "log", requests))


def judged(log: WriteLog, found: str = "0 3 4096 1\n", dmesg: str = WELL, **failed: Completed) -> CheckedCut:
    names = ("mkdir", "clear", "mount", "read", "umount", "e2fsck")
    steps = {name: done() for name in names} | {"read": done(stdout=found)} | failed
    return judge(log, Cut(1, "nothing", 0), list(steps.values()), dmesg)


def test_a_clean_cut_has_no_fault_and_says_what_it_met(tmp_path: Path) -> None:
    found = judged(log_of_one_file(tmp_path))
    assert (found.faults, found.promised_files, found.orphans, found.replayed) == ((), 1, 4, True)


def test_a_number_of_free_blocks_that_is_wrong_is_a_fault_though_e2fsck_ends_with_0(tmp_path: Path) -> None:
    said = "Pass 5: Checking group summary information\nFree blocks count wrong (77, counted=78).\nFix? no\n"
    (fault,) = judged(log_of_one_file(tmp_path), e2fsck=done(stdout=said)).faults
    assert fault.endswith(": Free blocks count wrong (77, counted=78).")


def test_a_mount_without_replay_met_nothing() -> None:
    quiet = WELL.splitlines()[-2]
    assert (orphans(quiet), replayed(quiet), reports(quiet)) == (0, False, [])


@pytest.mark.parametrize(
    "said",
    [
        "EXT4-fs error (device vda): ext4_lookup:1785: inode #12: comm cat: deleted inode referenced: 77",
        "EXT4-fs warning (device vda): ext4_clear_journal_err:6305: Filesystem error recorded",
        "JBD2: Invalid checksum recovering data block 4711 in journal block 12",
        "WARNING: CPU: 1 PID: 88 at fs/ext4/inode.c:1234 ext4_da_release_space+0x1",
        "Buffer I/O error on dev vda, logical block 5, lost async page write",
    ],
)
def test_what_the_kernel_complains_of_is_a_fault(tmp_path: Path, said: str) -> None:
    found = judged(log_of_one_file(tmp_path), dmesg=f"{WELL}[    9.0] {said}\n")
    (fault,) = found.faults
    assert fault == said.replace("CPU: 1 PID: 88 ", "")


def test_a_lost_file_and_what_e2fsck_would_mend_are_faults(tmp_path: Path) -> None:
    log = log_of_one_file(tmp_path)
    assert judged(log, found="").faults == ("file 0/3: lost, version 1 was fsynced",)
    damaged = done(4, "Pass 1: Checking inodes\nInode 12 was part of the orphaned inode list.  IGNORED.\n")
    (said,) = judged(log, e2fsck=damaged).faults
    assert said.startswith("`step` exited with status 4: ")


def test_a_mount_that_fails_is_one_fault_and_not_one_for_each_file(tmp_path: Path) -> None:
    refused = done(32, stderr="mount: /run/lockscale: wrong fs type\n")
    found = judged(log_of_one_file(tmp_path), found="", mount=refused)
    assert found.faults == ("`step` exited with status 32: mount: /run/lockscale: wrong fs type",)


def test_cuts_that_met_nothing_are_not_green() -> None:
    cut = Cut(1, "nothing", 0)
    calm, busy = CheckedCut(cut, 9, 0, False, ()), CheckedCut(cut, 9, 2, True, ())
    assert [said.split(":")[0] for said in _untested([calm])] == [
        "no cut needed a journal replay, so replay was not tested",
        "no cut left an orphan, so their cleanup was not tested",
    ]
    assert list(_untested([calm, busy])) == []


def test_a_write_log_with_a_hole_is_refused(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log", [("write", 0, bytes(BLOCK)), ("flush", 0, b""), ("flush", 0, b"")])
    content = bytearray(path.read_bytes())
    header = 512 + (512 + BLOCK)  # behind the super block and the first write
    content[header : header + 512] = bytes(512)
    path.write_bytes(content)
    with pytest.raises(RunFailed, match="hole after 1 of 3 entries"):
        WriteLog(path)


def test_only_the_logged_disk_has_a_cache_to_lose_and_cut_disks_are_not_changed(tmp_path: Path) -> None:
    logged = LoggedDisk(tmp_path / "a,b.img", tmp_path / "log", "SERIAL").qemu_options()
    assert "driver=blklogwrites" in logged and "write-cache=on" in logged and "a,,b.img" in logged
    cut = CutDisks([tmp_path / "0.img", tmp_path / "1.img"])
    assert cut.qemu_options().count("snapshot=on") == 2
    assert cut.device(1).removeprefix("/dev/disk/by-id/virtio-") in cut.qemu_options()
