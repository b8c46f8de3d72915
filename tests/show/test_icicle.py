# SPDX-License-Identifier: MIT
"""Who waits for what, drawn: a width is a mean number of threads."""

import pytest

from lockscale.errors import BadInput
from lockscale.predict.answer import Waiting
from lockscale.show.figures.stacks import waits_icicle, waits_table
from lockscale.show.prediction import ask


@pytest.mark.parametrize("study", ["inode-claim", "write-access", "group-trylock", "orphan-file"])
def test_every_row_stands_below_what_it_is_part_of(study: str):
    waits = ask(study).waits
    (drawn,) = waits_icicle(waits, "published").data
    assert len(set(drawn.labels)) == len(drawn.labels)
    assert list(drawn.labels) == [one.place for one in waits]
    assert set(drawn.parents) <= {"", *drawn.labels}
    assert list(drawn.values) == pytest.approx([one.threads for one in waits])
    assert [colour != "#DDDDDD" for colour in drawn.marker.colors] == [bool(one.waits_for) for one in waits]


def test_parts_that_overlap_are_drawn_within_their_whole():
    """A callee that two callers count; what is written in a row is what was counted."""
    rows = [Waiting("a", "", 4.0, 1.0, ""), Waiting("b", "a", 3.0, 1.0, "x"), Waiting("c", "a", 5.0, 1.0, "")]
    (drawn,) = waits_icicle(rows, "made up").data
    assert list(drawn.values) == pytest.approx([4.0, 1.5, 2.5])
    assert list(drawn.text) == ["4.0 threads", "3.0 threads", "5.0 threads"]


def test_parts_that_take_no_time_are_drawn_without_width():
    """A function that was called for less than a microsecond in all."""
    rows = [Waiting("a", "", 4.0, 1.0, ""), Waiting("b", "a", 4.0, 1.0, "x"), Waiting("c", "b", 0.0, 0.0, "")]
    assert list(waits_icicle(rows, "made up").data[0].values) == [4.0, 4.0, 0.0]


def test_the_table_has_the_same_rows():
    waits = ask("inode-claim").waits
    assert list(waits_table(waits).columns) == ["place", "within", "threads", "us_per_op", "waits_for"]
    assert len(waits_table(waits)) == len(waits)


def test_nothing_is_not_drawn():
    with pytest.raises(BadInput, match="there is none"):
        waits_icicle([], "nothing")


def test_what_is_written_on_a_coloured_part_is_dark():
    """White on orange is 2.5 to 1; WCAG asks for 4.5 to 1."""
    (drawn,) = waits_icicle(ask("inode-claim").waits, "made up").data
    assert drawn.textfont.color == "#111111"
