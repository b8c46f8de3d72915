# SPDX-License-Identifier: MIT
"""Rows of lock_stat without the head of the file, as grep prints them."""

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from printed_lock_stat import (
    DATA_SEM,
    GROUP_LOCK,
    HEADER,
    QUIET,
    WRONG,
    Class,
    LockTime,
    kernel_times,
    lines_of,
    modes,
    plain_file,
    tables,
)

from lockscale.errors import BadInput
from lockscale.tools import lock_stat
from lockscale.tools.lock_stat import Times
from lockscale.tools.registry import parse


def grepped(classes, word=""):
    """What `grep WORD /proc/lock_stat` prints."""
    lines = lines_of(plain_file(classes))
    return "".join(line for line in lines if word in line and line.strip(" -.\n"))


@settings(max_examples=30, deadline=None)
@given(tables)
def test_rows_without_their_header_are_the_rows_of_the_file(classes):
    """In the order of lockdep_proc.c, whichever lines of the file are there beside them."""
    whole = lock_stat.parse(plain_file(classes))
    for text in (grepped(classes), "".join(lines_of(plain_file(classes)))):
        if not whole.uses:
            assert not lock_stat.recognise(text)
            continue
        assert lock_stat.recognise(text) and lock_stat.recognise(f"$ grep x /proc/lock_stat\n{text}")
        found = lock_stat.parse(text)
        assert found.uses == whole.uses and found.places == ()
        assert any("the order of the columns is assumed" in one for one in found.warnings)
    assert whole.version == "0.4"


def test_a_person_is_told_that_the_header_is_missing_and_which_order_was_assumed():
    found = parse(grepped([GROUP_LOCK, DATA_SEM, QUIET], "i_data_sem"))
    assert {row.test for row in found.rows} == {f"{DATA_SEM.name}-W", f"{DATA_SEM.name}-R"}
    header, part, sites, _ = found.warnings
    assert header.startswith("the header line is missing: the order of the columns is assumed")
    assert (
        "lockdep_proc.c (con-bounces, contentions, waittime-min," in header and found.version == "not stated"
    )
    assert "what other locks are waited for is not known" in part and "call sites are left out" in sites
    (seen,) = lock_stat.profiles(grepped([DATA_SEM]))
    assert seen.warnings[:3] == (header, part, sites)
    assert [(one.line, one.acquisitions) for one in seen.entries] == [(1, 2), (2, 3)]


def test_a_header_line_that_was_kept_is_not_assumed():
    """grep -e 'class name' -e sem: the columns are named, only the version is not."""
    found = lock_stat.parse(HEADER.splitlines(keepends=True)[2] + grepped([QUIET]))
    assert found.uses == lock_stat.parse(plain_file([QUIET])).uses
    assert not any("assumed" in one for one in found.warnings) and found.version == "not stated"


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("at", range(12))
def test_a_row_without_a_header_has_integers_for_counts_and_two_decimals_for_times(wrong, at):
    name, _, numbers = grepped([QUIET]).strip().rpartition(":")
    cells = numbers.split()
    cells[at] = wrong
    text = f"{name}: {' '.join(cells)}\n"
    assert not lock_stat.recognise(text)
    with pytest.raises(BadInput):
        parse(text)
    with pytest.raises(BadInput):
        lock_stat.parse(text)


@settings(max_examples=50)
@given(st.permutations(range(4)), modes)
@example([1, 0, 2, 3], GROUP_LOCK.write)
@example([0, 1, 3, 2], GROUP_LOCK.write)
def test_times_in_another_order_are_refused_unless_they_cannot_be_told_apart(order, mode):
    """Without a header nothing but their sizes tells the shortest from the longest, the sum and the mean."""
    name, _, numbers = grepped([Class("lock", mode)]).partition(":")
    cells = numbers.split()
    if not cells or mode[3].nr < 2:
        return
    held = [cells[8 + place] for place in order]
    try:
        (use,) = lock_stat.parse(f"{name}: {' '.join([*cells[:8], *held])}\n").uses
    except BadInput as error:
        assert "do not fit the order of /proc/lock_stat's columns" in str(error)
        return
    low, high, total, mean = map(float, held)
    assert low <= mean <= high <= total + 0.01 and total == pytest.approx(
        mode[3].nr * mean, abs=0.02 * mode[3].nr
    )
    assert use.holds == Times(mode[3].nr, low, high, total, mean)


@pytest.mark.parametrize(
    "prefix", ["12:", "/proc/lock_stat:", "/proc/lock_stat:12:", "12-", "before.txt:", "runs/after-7-"]
)
def test_what_grep_puts_before_a_line_is_no_part_of_a_name(prefix):
    with pytest.raises(BadInput, match="as grep prints them: use grep -h, without -n"):
        lock_stat.parse(f"{prefix}{grepped([QUIET])}")


def test_rows_of_two_readings_are_not_added_up():
    """As a grep before the load and one after it print them, one below the other."""
    later = replace(QUIET, write=(0, LockTime(), 3, kernel_times(55_004, 1_000)))
    with pytest.raises(BadInput, match=r"2 rows of .*rsv-conversion \(write\): give those of one reading"):
        lock_stat.parse(grepped([QUIET]) + grepped([later]))
    cut = [replace(one, name="x" * 37) for one in (QUIET, later)]
    (use,) = lock_stat.parse(grepped(cut)).uses
    assert use.ambiguous and use.holds.count == 3


def test_blanks_that_a_terminal_left_at_the_end_of_a_row_are_none_of_it():
    assert lock_stat.parse(grepped([QUIET]).replace("\n", "  \n")) == lock_stat.parse(grepped([QUIET]))


@pytest.mark.parametrize("numbers", ["1 2 0.10 3.00 4.00 5 60 0.10 7.00 80.00", "1 2 3 4 5 6 7 8 9 10 11 12"])
def test_rows_of_another_form_are_refused_with_what_is_missing(numbers):
    """Ten numbers as version 0.3 has them, and twelve of which none is a time."""
    with pytest.raises(BadInput, match=r"not with the twelve numbers of version 0\.4, .*give the whole file"):
        parse(f"  &journal->j_state_lock: {numbers}\n")
