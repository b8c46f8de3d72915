# SPDX-License-Identifier: MIT
"""What ext4 and jbd2 count, against the kernel's formats and a real file system."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools import ext4_stats
from lockscale.tools.seal import UNSEALED, seal

SAMPLE = (Path(__file__).parents[1] / "samples" / "ext4_stats-6.18.44.txt").read_text()
# jbd2_seq_info_show() of fs/jbd2/journal.c
JBD2 = (
    "%d transactions (%d requested), each up to %d blocks\naverage: \n  %dms waiting for transaction\n"
    "  %dms request delay\n  %dms running transaction\n  %dms transaction was being locked\n"
    "  %dms flushing data (in ordered mode)\n  %dms logging transaction\n"
    "  %dus average transaction commit time\n  %d handles per transaction\n  %d blocks per transaction\n"
    "  %d logged blocks per transaction\n"
)
# ext4_seq_mb_stats_show() of fs/ext4/mballoc.c
CRITERION = (
    "\tcr_%s_stats:\n\t\thits: %%d\n\t\tgroups_considered: %%d\n\t\textents_scanned: %%d\n"
    "\t\tuseless_loops: %%d\n"
)
MB_STATS = (
    "mballoc:\n\treqs: %d\n\tsuccess: %d\n\tgroups_scanned: %d\n"
    + "".join(CRITERION % name for name in ("p2_aligned", "goal_fast", "best_avail", "goal_slow", "any_free"))
    + "\textents_scanned: %d\n\t\tgoal_hits: %d\n\t\tlen_goal_hits: %d\n\t\t2^n_hits: %d\n\t\tbreaks: %d\n"
    "\t\tlost: %d\n\tbuddies_generated: %d/%d\n\tbuddies_time_used: %d\n\tpreallocated: %d\n\tdiscarded: %d\n"
)
HEAD = SAMPLE[SAMPLE.index("#group:") :].partition("\n")[0] + "\n"


def numbers(text):
    return {
        (one.test, one.metric): (one.value, one.unit, one.statistic) for one in ext4_stats.parse(text).rows
    }


def test_a_file_system_by_hand():
    found = ext4_stats.parse(SAMPLE)
    assert found.warnings == (UNSEALED, ext4_stats.MB_STATS_OFF)
    value = numbers(SAMPLE)
    assert value["mb_groups", "groups"] == (8, "count", "total")
    assert value["mb_groups", "groups_full"][0] == 6
    assert value["mb_groups", "free"] == (59 + 6, "clusters", "total")
    assert value["mb_groups", "free_extents"][0] == 5 + 3
    assert value["mb_groups", "free_chunks_2^0"][0] == 3 + 2
    assert value["mb_groups", "free_chunks_2^4"][0] == 2
    assert value["es_shrinker_info", "cache_hits"] == (65_996_221, "count", "total")
    assert value["es_shrinker_info", "largest_inode_objects"] == (344, "count", "max")
    assert ("es_shrinker_info", "_number") not in value  # an inode's number counts nothing
    assert value["fc_info", "commit"] == (0, "us", "mean")
    assert value["lifetime_write_kbytes", "lifetime_write_kbytes"] == (68_143_185, "KiB", "total")
    assert value["delayed_allocation_blocks", "delayed_allocation_blocks"] == (1255, "blocks", "total")
    assert not any(file == "mb_stats" for file, _ in value)


def test_the_journal_by_hand():
    value = numbers(JBD2 % (2317, 2301, 8192, 0, 0, 2, 0, 1, 4, 4231, 83, 21, 22))
    assert value["jbd2_info", "transactions"] == (2317, "count", "total")
    assert value["jbd2_info", "requested"][0] == 2301
    assert value["jbd2_info", "transaction_size"] == (8192, "blocks", "max")
    assert value["jbd2_info", "logging"] == (4, "ms", "mean")
    assert value["jbd2_info", "commit"] == (4231, "us", "mean")
    assert value["jbd2_info", "handles_per_transaction"] == (83, "count", "mean")
    assert value["jbd2_info", "logged_blocks_per_transaction"] == (22, "blocks", "mean")


def test_a_journal_without_a_transaction_has_no_means():
    assert len(numbers("0 transactions (0 requested), each up to 8192 blocks\n")) == 3


@settings(max_examples=50)
@given(st.lists(st.integers(0, 2**31 - 1), min_size=34, max_size=34))
def test_every_number_of_the_allocator_comes_back(counts):
    value = numbers(seal(MB_STATS % tuple(counts)))
    assert [one[0] for one in value.values()] == counts
    assert value["mb_stats", "any_free_useless_loops"][0] == counts[22]
    assert value["mb_stats", "lost"][0] == counts[28]
    assert value["mb_stats", "buddies_time_used"] == (counts[31], "cycles", "total")


def test_statistics_that_are_off_are_said():
    text = SAMPLE[SAMPLE.index("mballoc") : SAMPLE.index("\n==> /proc/fs/ext4/sda1/mb_groups")]
    with pytest.raises(BadInput, match="mb_stats is off: write 1"):
        ext4_stats.parse(text)


@pytest.mark.parametrize(
    ("group", "says"),
    [
        ("#0    : 59    5     1788  [ 3     4     2     1     1" + " 0    " * 9 + " ]", "do not agree"),
        ("#1    : 0     0     32768 [" + " 0    " * 14 + " ]", "line of group 0"),
        ("#0    : x", "line of group 0"),
        ("#0    : IO failure", "no readable group"),
    ],
)
def test_groups_whose_numbers_do_not_agree_are_refused(group, says):
    with pytest.raises(BadInput, match=says):
        ext4_stats.parse_mb_groups(f"{HEAD}{group}\n")


def test_a_corrupted_group_is_left_out_with_a_warning():
    good = "#0    : 5     1     32768 [ 5    " + " 0    " * 13 + " ]\n"
    bad = good.replace("#0", "#1").replace(" ]", " ] Block bitmap corrupted!")
    values, warnings = ext4_stats.parse_mb_groups(f"{HEAD}{good}{bad}#2    : IO failure\n")
    assert {one.metric: one.value for one in values}["groups"] == 1
    assert [warning.split()[1] for warning in warnings] == ["1", "2"]


@pytest.mark.parametrize(
    "text", ["", "mballoc:\n", "stats:\n", "==> /proc/fs/ext4/vda/x <==\n1\n", SAMPLE + SAMPLE]
)
def test_other_text_is_refused(text):
    with pytest.raises(BadInput):
        ext4_stats.parse(text)


def test_several_files_are_read_as_tail_prints_them(tmp_path):
    (tmp_path / "mb_groups").write_text(f"{HEAD}#0    : 0     0     32768 [" + " 0    " * 14 + " ]\n")
    (tmp_path / "errors_count").write_text("3\n")
    argv = ["tail", "-v", "-n", "+1", *(str(tmp_path / name) for name in ("mb_groups", "errors_count"))]
    text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    found = ext4_stats.parse(seal(text))
    assert found.warnings == ()
    value = numbers(text)
    assert value["errors_count", "errors_count"][0] == 3 and value["mb_groups", "groups"][0] == 1
