# SPDX-License-Identifier: MIT
"""Small files as the kernel prints them, for every test of their readers."""

LOCK_EVENTS = """/sys/kernel/debug/lock_event_counts/lock_pending:8069
/sys/kernel/debug/lock_event_counts/lock_slowpath:1118
/sys/kernel/debug/lock_event_counts/rwsem_wlock:52
"""
FUNCTION_GRAPH = """# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0)               |  ext4_create() {
 0)   0.321 us    |    ext4_inode_journal_mode();
 1) ! 123.456 us  |  ext4_unlink();
 0) + 12.345 us   |    ext4_add_nondir();
 0) # 2345.678 us |  } /* ext4_create */
"""
JBD2 = """2317 transactions (2301 requested), each up to 8192 blocks
average: \n  0ms waiting for transaction
  0ms request delay
  2ms running transaction
  0ms transaction was being locked
  1ms flushing data (in ordered mode)
  4ms logging transaction
  4231us average transaction commit time
  83 handles per transaction
  21 blocks per transaction
  22 logged blocks per transaction
"""
FC_INFO = """fc stats:
12 commits
3 ineligible
40 numblks
811us avg_commit_time
Ineligible reasons:
"Extended attributes changed":\t0
"Cross rename":\t2
"Journal flag changed":\t0
"Insufficient memory":\t0
"Swap boot":\t0
"Resize":\t0
"Dir renamed":\t1
"Falloc range op":\t0
"Data journalling":\t0
"Encrypted filename":\t0
"""
EVENTS = """event ext4/ext4_lost_inode_bit
# event histogram
#
# trigger info: hist:keys=common_cpu:vals=hitcount:sort=hitcount:size=2048 [paused]
#

{ common_cpu:          2 } hitcount:         40

Totals:
    Hits: 40
    Entries: 1
    Dropped: 0
"""
LOCK_STAT = "lock_stat version 0.4\n" + "-" * 221 + "\n"
LOCK_STAT += " class name con-bounces contentions waittime-min waittime-max waittime-total waittime-avg"
LOCK_STAT += " acq-bounces acquisitions holdtime-min holdtime-max holdtime-total holdtime-avg\n"
LOCK_STAT += "-" * 221 + "\n\n" + "&bgl->locks[i].lock: 3 4 0.10 0.40 1.00 0.25 7 10 0.10 2.00 10.00 1.00\n"
LOCK_STAT += "-----\n &bgl->locks[i].lock 4 [<ffff>] __ext4_new_inode+0x4a/0x90\n"
LOCK_STAT += "-----\n &bgl->locks[i].lock 4 [<ffff>] ext4_free_inode+0x1/0x2\n\n....\n"
