# SPDX-License-Identifier: MIT
"""lock_stat, against the kernel's own formatting written again from its source."""

import subprocess
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from printed_lock_stat import (
    DATA_SEM,
    FILE,
    GROUP_LOCK,
    HEADER,
    QUIET,
    WRONG,
    Class,
    LockTime,
    as_read,
    kernel_times,
    lines_of,
    plain_file,
    tables,
)

from damaged_output import lost_or_repeated
from kernel_files import LOCK_STAT
from lockscale.errors import BadInput
from lockscale.tools import lock_stat
from lockscale.tools.lock_stat import LockSite, Times
from lockscale.tools.registry import parse


def test_rows_by_hand():
    group, write, read, quiet = lock_stat.parse(FILE).uses
    assert (group.name, group.mode) == ("&(&bgl->locks[i].lock)->rlock", "write")
    assert (group.con_bounces, group.acq_bounces) == (112, 300)
    assert group.waits == Times(3, 0.21, 49.24, 50.45, 16.82)  # 50450 / 3 = 16816 ns, rounded to 10
    assert group.holds == Times(4, 0.12, 624.31, 625.39, 156.35)  # 625390 / 4 = 156347 ns
    assert (write.name, write.mode) == (read.name, "write") and read.mode == "read"
    assert read.waits == Times(1, 0.31, 0.31, 0.31, 0.31)
    assert read.holds == Times(3, 0.09, 0.1, 0.28, 0.09)  # 279 and 93 ns
    assert (quiet.name, quiet.waits) == ("(wq_completion)ext4-rsv-conversion", Times(0, 0, 0, 0, 0))


def test_places_by_hand():
    reading = lock_stat.parse(FILE)
    assert reading.warnings == ()
    assert reading.places == (
        LockSite(GROUP_LOCK.name, "waiter", "__ext4_new_inode+0x8a1/0x1570", 2),
        LockSite(GROUP_LOCK.name, "waiter", "ext4_free_inode+0x2c5/0x6b0 [ext4]", 1),
        LockSite(GROUP_LOCK.name, "holder", "__ext4_new_inode+0x8a1/0x1570", 3),
        LockSite(DATA_SEM.name, "waiter", "ext4_map_blocks+0x1c2/0x620", 2),
        LockSite(DATA_SEM.name, "holder", "ext4_truncate+0x1ee/0x4b0", 2),
    )


def test_the_documentations_own_rows_are_read():
    """Documentation/locking/lockstat.rst of the kernel, two of its rows."""
    row = (
        "                         &mm->mmap_sem-W:            46             84           0.26         939.10"
        "       16371.53         194.90          47291        2922365           0.16     2220301.69"
        " 17464026916.32        5975.99\n"
        "                         unix_table_lock:           110            112           0.21          49.24"
        "         163.91           1.46          21094          66312           0.12         624.42"
        "       31589.81           0.48\n"
    )
    mmap, unix = lock_stat.parse(HEADER + row).uses
    assert mmap.holds == Times(2922365, 0.16, 2220301.69, 17464026916.32, 5975.99)
    assert (unix.name, unix.con_bounces, unix.waits.total_us) == ("unix_table_lock", 110, 163.91)


@pytest.mark.slow
@given(tables)
def test_any_table_comes_back(classes):
    expected = {}
    for one in classes:
        modes = [("write", one.write), ("read", one.read)]
        expected |= {(one.name, mode): numbers for mode, numbers in modes if numbers[3].nr}
    reading = lock_stat.parse(as_read(classes))
    found = {(use.name, use.mode): use for use in reading.uses}
    assert found.keys() == expected.keys()
    for key, (con_bounces, waits, acq_bounces, holds) in expected.items():
        use = found[key]
        assert (use.con_bounces, use.acq_bounces, use.ambiguous) == (con_bounces, acq_bounces, False)
        for got, ns in ((use.waits, waits), (use.holds, holds)):
            assert (got.count, [got.min_us, got.max_us, got.total_us, got.avg_us]) == (
                ns.nr,
                [float(text) for text in ns.printed()],
            )
            assert got.total_us * 1000 == pytest.approx(ns.total, abs=5.01, rel=1e-12)
    waited = [one for one in classes if one.write[1].nr + one.read[1].nr]
    assert [(p.name, p.role, p.symbol, p.count) for p in reading.places] == [
        (one.name, role, symbol, count)
        for one in waited
        for role, where in (("waiter", one.waiters), ("holder", one.holders))
        for symbol, count in where.items()
    ]


def test_classes_that_share_a_cut_name_are_added_and_marked():
    twin = replace(GROUP_LOCK, write=(8, kernel_times(100), 2, kernel_times(1_000_000)))
    (use,) = lock_stat.parse(as_read([GROUP_LOCK, twin])).uses
    assert use.ambiguous and (use.con_bounces, use.acq_bounces) == (120, 302)
    assert use.waits == Times(4, 0.1, 49.24, 50.55, 50.55 / 4)
    assert use.holds == Times(5, 0.12, 1000.0, 1625.39, 1625.39 / 5)


def test_a_separator_without_a_class_above_it_is_no_table():
    with pytest.raises(BadInput, match="ends before its first lock class"):
        lock_stat.parse(HEADER + "   -----\n")


def test_cut_anywhere_it_is_refused_or_says_that_classes_may_be_missing():
    whole = set(lock_stat.parse(FILE).uses)
    for end in range(len(FILE)):
        try:
            reading = lock_stat.parse(FILE[:end])
        except BadInput as error:
            assert "\n" not in str(error)
            continue
        assert reading.warnings and set(reading.uses) <= whole


def test_a_part_of_the_file_ends_where_somebody_cut_it():
    """Its rows stand above the first separator of their class; who reads the head of the file has those."""
    dotted = FILE.rindex("\n" + "." * 20)
    part = lock_stat.parse(FILE[:dotted].rstrip("\n") + "\n")
    rows = lock_stat.parse(FILE[: FILE.index("\n", dotted + 1) + 1]).uses
    assert part.uses == rows and any("ends inside the class" in one for one in part.warnings)


@settings(max_examples=300)
@given(lost_or_repeated(FILE))
def test_lines_lost_or_repeated_change_no_row(text):
    try:
        reading = lock_stat.parse(text)
    except BadInput:
        return
    assert set(reading.uses) == set(lock_stat.parse(FILE).uses) or reading.warnings


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("at", range(12))
def test_what_is_no_number_of_its_column_is_refused(wrong, at):
    row = next(line for line in FILE.split("\n") if line.strip().startswith(GROUP_LOCK.name + ":"))
    name, _, numbers = row.rpartition(":")
    cells = numbers.split()
    cells[at] = wrong
    with pytest.raises(BadInput):
        lock_stat.parse(FILE.replace(row, f"{name}: {' '.join(cells)}"))


def test_one_that_a_mail_quotes_is_read_as_it_was():
    quoted = "".join(f"> {line}" for line in LOCK_STAT.splitlines(keepends=True))
    assert parse(quoted).rows == parse(LOCK_STAT).rows


@given(st.text())
def test_other_text_is_refused(text):
    for one in (text, f"lock_stat version 0.4\n{text}", f"{HEADER}x{text}\n"):
        with pytest.raises(BadInput):
            lock_stat.parse(one)


def test_another_version_and_disabled_debugging_are_named():
    with pytest.raises(BadInput, match=r"lock_stat version 0\.3 is not known"):
        lock_stat.parse(FILE.replace("0.4", "0.3", 1))
    warning = "*WARNING* lock debugging disabled!! - possibly due to a lockdep warning\n"
    with pytest.raises(BadInput, match="lock debugging is disabled"):
        lock_stat.parse(plain_file([QUIET]).replace("0.4\n", f"0.4\n{warning}", 1))
    with pytest.raises(BadInput, match="CONFIG_LOCK_STAT"):
        lock_stat.parse("lines 0\n")  # READ of a kernel without the file
    rows = as_read([QUIET]).removeprefix(HEADER)
    with pytest.raises(BadInput, match=r"has only 1 of its 6 lines"):
        lock_stat.parse(rows)
    with pytest.raises(BadInput, match=r"its first line, lock_stat version 0\.4, is missing"):
        lock_stat.parse(f"{plain_file([QUIET]).removeprefix(HEADER)}another line\n")


def test_a_repeated_row_of_the_plain_file_is_refused():
    with pytest.raises(BadInput, match="identical lines for"):
        lock_stat.parse(plain_file([QUIET, QUIET]))


@pytest.mark.parametrize("name", ["key#1", "&k->key#1/2", "x" * 37])
def test_classes_whose_names_the_kernel_cut_to_the_same_may_have_the_same_numbers(name):
    """Versions 10 and 11 of the class `key` are both printed as key#1; a version of 1 is never printed."""
    one, two = (parse(plain_file(n * [Class(name, QUIET.write)])).rows for n in (1, 2))
    once, twice = ([row.value for row in rows if row.metric == "acquisitions"] for rows in (one, two))
    assert once == [1] and twice == [2] and len(one) == len(two)


def test_it_starts_from_zero():
    assert lock_stat.START == [("/proc/sys/kernel/lock_stat", "1\n"), ("/proc/lock_stat", "0\n")]


def test_the_command_counts_its_lines(tmp_path):
    file = tmp_path / "lock_stat"
    file.write_text(plain_file([GROUP_LOCK, QUIET]))
    argv = [*lock_stat.READ[:-1], str(file)]
    text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert text == as_read([GROUP_LOCK, QUIET])


def refused(lines):
    text = HEADER + "".join(lines)
    with pytest.raises(BadInput):
        lock_stat.parse(text + f"lines {text.count(chr(10))}\n")


def test_a_row_between_a_class_and_the_dots_that_end_it_is_refused():
    lines = lines_of(plain_file([GROUP_LOCK]))
    refused([*lines[:-3], lines_of(plain_file([QUIET]))[0], *lines[-3:]])


def test_the_kernel_notes_four_places_of_a_kind_and_no_fifth():
    for count in (4, 5):
        places = {f"function_{n}+0x1/0x2": n + 1 for n in range(count)}
        one = replace(GROUP_LOCK, waiters=places)
        if count == 4:
            assert len([p for p in lock_stat.parse(as_read([one])).places if p.role == "waiter"]) == 4
        else:
            refused(lines_of(plain_file([one])))


@pytest.mark.parametrize("first", [True, False])
def test_of_two_classes_of_one_name_one_may_never_have_been_waited_for(first: bool):
    waited = Class("lock", (1, kernel_times(940), 5, kernel_times(2_774, 100)))
    idle = Class("lock", (0, LockTime(), 2, kernel_times(55_004)))
    (use,) = lock_stat.parse(as_read([waited, idle] if first else [idle, waited])).uses
    assert use.waits == lock_stat.parse(as_read([waited])).uses[0].waits and use.holds.count == 3


@pytest.mark.parametrize(
    ("says", "said"), [("0.40 1.00 0.25", "0.40 10.00 0.25"), ("10.00 1.00\n", "1.00 1.00\n")]
)
def test_a_total_that_is_not_the_count_times_the_mean_is_damage(says: str, said: str) -> None:
    assert lock_stat.parse(LOCK_STAT).uses
    with pytest.raises(BadInput, match=r"says of &bgl->locks\[i\]\.lock a total of"):
        lock_stat.parse(LOCK_STAT.replace(says, said, 1))


def test_each_side_of_a_lock_that_some_read_has_the_name_that_the_kernel_prints() -> None:
    """A bare name would read as the sum of both."""
    found = {row.test for row in parse(as_read([GROUP_LOCK, DATA_SEM])).rows if row.metric == "acquisitions"}
    assert found == {GROUP_LOCK.name, f"{DATA_SEM.name}-W", f"{DATA_SEM.name}-R"}


@pytest.mark.parametrize("command", ["# cat", "root@host:~# cat", "$ sudo cat"])
def test_the_command_may_stand_above_the_file(command):
    """As a terminal's copy has it; nothing else may."""
    assert parse(f"{command} /proc/lock_stat\n{LOCK_STAT}") == parse(LOCK_STAT)
    with pytest.raises(BadInput):
        parse(f"a line of /proc/lock_stat\n{LOCK_STAT}")
