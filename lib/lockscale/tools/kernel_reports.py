# SPDX-License-Identifier: MIT
"""What a kernel complained about, from its log (dmesg).

Read in the kernel: kernel/locking/lockdep.c (print_circular_bug and its kin), mm/kasan/report.c,
kernel/kcsan/report.c (get_bug_type, print_report), kernel/sched/core.c (__might_resched),
kernel/panic.c (__warn), lib/bug.c, kernel/hung_task.c, mm/slub.c (__slab_bug), fs/ext4/super.c
(__ext4_error, ext4_handle_error, ext4_destroy_inode), fs/ext4/inode.c (mpage_map_and_submit_extent),
fs/ext4/page-io.c (ext4_end_io_end), fs/ext4/ext4.h (ASSERT), fs/jbd2/journal.c (jbd2_journal_abort),
fs/xfs/xfs_error.c (xfs_error_report, xfs_buf_verifier_error), fs/xfs/xfs_fsops.c (xfs_do_force_shutdown).
"""

import re

STAMP = re.compile(r"^(?:<\d+>)?\[\s*\d+\.\d+\](?:\[\s*[CT]\d+\])? ")
RACE = re.compile(r"^BUG: KCSAN: (?:data-race|assert: race) in (.+)$")
# A title begins its line; "WARNING: CPU" names the place of a WARN_ON().
TITLE = re.compile(
    r"^(?:BUG: .*|WARNING: .*|INFO: (?:task|rcu|possible|trying|lockdep|suspicious).*|kernel BUG at .*"
    r"|Oops: .*|watchdog: BUG: .*|list_(?:add|del) corruption.*|UBSAN: .*|Kernel panic .*"
    r"|EXT4-fs (?:error|warning) .*|EXT4-fs \([^)]*\): (?:Remounting filesystem read-only"
    r"|Delayed block allocation failed|This should not happen!!|failed to convert unwritten extents"
    r"|Inode \d+ \([^)]*\): ).*|Aborting journal on device .*"
    r"|(?:EXT4-fs: )?Assertion failure in .*|BUG .+ \((?:Not t|T)ainted[^)]*\): .*"
    r"|XFS(?: \([^)]*\))?: (?:Internal error|Corruption|Metadata [cC]|Assertion failed"
    r"|.*Shutting down filesystem|(?:metadata|log) I/O error).*|JBD2: .*|(?:Buffer )?I/O error.*)$"
)
# A function's offset, and what the compiler appends to the name of a part of it.
OFFSET = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+")
PART = re.compile(r"\.(?:isra|constprop|part|cold)(?:\.\d+)*")
TAINT = re.compile(r" \((?:Not tainted|Tainted: [^)]*)\)(?=: )")
PLACE = re.compile(r"CPU: \d+ PID: \d+ ")


def reports(log: str) -> list[str]:
    """Every complaint in a kernel log, in its order; one that repeats is there as often.

    Of each its first line without what differs from run to run (CPU, PID, offsets).
    """
    lines = (STAMP.sub("", line) for line in log.splitlines())
    titles = (line for line in lines if TITLE.match(line))
    return [TAINT.sub("", PLACE.sub("", PART.sub("", OFFSET.sub("", line)))).rstrip() for line in titles]


def races(log: str) -> set[tuple[str, ...]]:
    """The data races of a KCSAN kernel's log: their functions, sorted, one where the other is unknown."""
    found = map(RACE.match, reports(log))
    return {tuple(sorted(race[1].split(" / "))) for race in found if race}
