# SPDX-License-Identifier: MIT
"""A debug kernel's complaints, as 6.12 prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.tools.kernel_reports import races, reports

KCSAN = """\
[   12.345678] ==================================================================
[   12.345901] BUG: KCSAN: data-race in jbd2_journal_dirty_metadata / jbd2_journal_commit_transaction
[   12.346000]
[   12.346100] write to 0xffff8881007d5a28 of 8 bytes by task 120 on cpu 1:
[   12.346200]  jbd2_journal_commit_transaction+0x1e5a/0x2c40
[   12.346300] value changed: 0x0000000000000002 -> 0x0000000000000000
[   12.350000] BUG: KCSAN: data-race in ext4_mb_find_by_goal.isra.0+0x4e/0x3a0
"""
QUIET = """\
[    0.000000] Linux version 6.12.117-lockscale-e3b0c442-debug
[    0.004000] kasan: KernelAddressSanitizer initialized
[    1.100000] EXT4-fs (vda): mounted filesystem 1c2d r/w with ordered data mode. Quota mode: none.
[    1.150000] EXT4-fs (vda): recovery complete
[    1.160000] EXT4-fs (vda): unmounting filesystem 1c2d.
[    1.170000] SGI XFS with ACLs, security attributes, no debug enabled
[    1.180000] XFS (vda): Mounting V5 Filesystem 890f6068-8eb1-4afa-b1fb-5d
[    1.185000] XFS (vda): Starting recovery (logdev: internal)
[    1.190000] XFS (vda): Ending clean mount
[    1.195000] XFS (vda): Unmounting Filesystem 890f6068-8eb1-4afa-b1fb-5d
[    1.200000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable
[    1.300000] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
"""


def test_a_race_is_known_by_its_two_functions_in_either_order():
    assert races(KCSAN) == {
        ("jbd2_journal_commit_transaction", "jbd2_journal_dirty_metadata"),
        ("ext4_mb_find_by_goal",),
    }
    swapped = KCSAN.replace(
        "jbd2_journal_dirty_metadata / jbd2_journal_commit_transaction",
        "jbd2_journal_commit_transaction / jbd2_journal_dirty_metadata",
    )
    assert races(swapped) == races(KCSAN)


def test_a_kernel_that_only_says_what_it_does_has_no_report():
    assert reports(QUIET) == []


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("WARNING: possible circular locking dependency detected", None),
        ("WARNING: possible recursive locking detected", None),
        ("WARNING: inconsistent lock state", None),
        ("WARNING: suspicious RCU usage", None),
        ("BUG: MAX_LOCKDEP_CHAIN_HLOCKS too low!", None),
        ("BUG: sleeping function called from invalid context at fs/jbd2/transaction.c:1188", None),
        ("BUG: scheduling while atomic: fsload/123/0x00000002", None),
        (
            "BUG: KASAN: slab-use-after-free in ext4_orphan_add.constprop.0+0x1f2/0x6a0",
            "BUG: KASAN: slab-use-after-free in ext4_orphan_add",
        ),
        (
            "WARNING: CPU: 2 PID: 345 at fs/ext4/orphan.c:120 ext4_orphan_add+0x10/0x20",
            "WARNING: at fs/ext4/orphan.c:120 ext4_orphan_add",
        ),
        ("kernel BUG at fs/ext4/mballoc.c:2200!", None),
        ("INFO: task jbd2/vda-8:77 blocked for more than 241 seconds.", None),
        ("EXT4-fs error (device vda): ext4_mb_generate_buddy:1217: group 3, block bitmap and bg", None),
        ("EXT4-fs (vda): Remounting filesystem read-only", None),
        ("EXT4-fs (dm-0): This should not happen!! Data will be lost", None),
        (
            "EXT4-fs (vda): Delayed block allocation failed for inode 12 at logical offset 0 "
            "with max blocks 8 with error 117",
            None,
        ),
        ("EXT4-fs (vda): Inode 77 (00000000b8247c67): orphan list check failed!", None),
        ("EXT4-fs (vda): Inode 77 (00000000b8247c67): inode tracked as orphan!", None),
        ("EXT4-fs (vda): Inode 12 (00000000b8247c67): i_reserved_data_blocks (3) not cleared!", None),
        (
            "EXT4-fs (vda): failed to convert unwritten extents to written extents -- potential data loss!  "
            "(inode 72, error -5)",
            None,
        ),
        (
            "XFS (vda): Metadata corruption detected at xfs_agi_verify+0x1c/0x140, xfs_agi block 0x2 ",
            "XFS (vda): Metadata corruption detected at xfs_agi_verify, xfs_agi block 0x2",
        ),
        (
            "XFS (vda): Internal error ltbno + ltlen > bno at line 1957 of file fs/xfs/libxfs/xfs_alloc.c.",
            None,
        ),
        (
            "XFS (vda): Corruption of in-memory data (0x8) detected at xfs_defer_finish_noroll+0x130/0x280 "
            "(fs/xfs/libxfs/xfs_defer.c:573).  Shutting down filesystem.",
            "XFS (vda): Corruption of in-memory data (0x8) detected at xfs_defer_finish_noroll "
            "(fs/xfs/libxfs/xfs_defer.c:573).  Shutting down filesystem.",
        ),
        (
            "XFS (vda): Log I/O Error (0x2) detected at xlog_ioend_work+0x60/0xb0 (fs/xfs/xfs_log.c:1377).  "
            "Shutting down filesystem.",
            "XFS (vda): Log I/O Error (0x2) detected at xlog_ioend_work (fs/xfs/xfs_log.c:1377).  "
            "Shutting down filesystem.",
        ),
        ("XFS: Assertion failed: 0, file: fs/xfs/xfs_icache.c, line: 1840", None),
        ("Aborting journal on device vda-8.", None),
        ("JBD2: journal checksum error", None),
        ("JBD2: Detected IO errors while flushing file data on vda-8", None),
        ("Assertion failure in jbd2_journal_commit_transaction() at fs/jbd2/commit.c:450: 'x'", None),
        (
            "BUG ext4_inode_cache (Not tainted): Poison overwritten",
            "BUG ext4_inode_cache: Poison overwritten",
        ),
        (
            "BUG jbd2_journal_head (Tainted: G    B   W         ): Object already free",
            "BUG jbd2_journal_head: Object already free",
        ),
        ("list_add corruption. prev->next should be next (ffff), but was dead.", None),
    ],
)
def test_each_kind_of_complaint_is_seen_without_what_differs_from_run_to_run(line: str, title: str | None):
    for stamp in ("", "[   12.000001] ", "[    3.4][  T123] ", "<4>[    3.400000] "):
        log = f"{QUIET}{stamp}{line}\n{QUIET}"
        assert (reports(log), races(log)) == ([title or line], set())


@given(st.text())
def test_no_text_ends_in_an_error(text: str):
    assert len(reports(text)) <= len(text.splitlines())
