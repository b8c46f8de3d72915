# SPDX-License-Identifier: MIT
"""What a run shows while it goes on: one estimate of the time left, and an A/A pair that stays apart."""

import io
import sys
from pathlib import Path

import pytest
from synthetic_rows import rates

from lockscale import progress as progressing
from lockscale.measure import run_progress as live
from lockscale.measure.compare_arms import rates as final_rates
from lockscale.measure.run_progress import Live, so_far


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(live, "tell", said.append)
    monkeypatch.setattr(live, "updated_table", lambda: lambda _, ending: said.append(ending))
    return said


def test_after_three_steps_of_its_own_a_run_no_longer_counts_those_of_earlier_ones(shown: list[str]):
    """A hundred steps of 1000 s on a day when the machine was slow, and now one takes 10 s."""
    now = Live([1000.0] * 100, 8)
    for left in (7, 6, 5, 1, 0):
        now.done([], 10.0, left)
    assert shown[0] == "8 steps to do, about 2.2 h from 100 earlier ones"
    assert shown[2].endswith("98 min") and shown[3] == "5 steps left, about 50 s"
    assert shown[4:] == ["1 step left, about 10 s", "all steps are done"]


def test_the_first_steps_are_told_from_those_that_are_known(shown: list[str]):
    now = Live([], 4)
    now.done([], 10.0, 3)
    assert shown == ["4 steps to do; their time is known after the first", "3 steps left, about 30 s"]


def test_lines_of_a_run_leave_the_time_to_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(progressing.FILE_VARIABLE, str(tmp_path / "log"))
    with progressing.progress("measure", 4, tells_left=False) as lines:
        lines.update(2, "boots")
    assert (tmp_path / "log").read_text() == "measure: 2/4 boots\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_so_does_its_bar(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(progressing.FILE_VARIABLE, raising=False)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progressing.progress("measure", 4, tells_left=False) as bar:
        bar.update(2, "boots")
    said = terminal.getvalue()
    assert "2/4" in said and "boots" in said and "<" not in said and "?" not in said


def test_the_aa_pair_is_in_no_mean_of_an_arm():
    """The table on the way and the one at the end say the same of an arm."""
    rows = rates(1, 3)
    rows.loc[rows.pair == "aa", "value"] *= 2
    table, final = so_far(rows.to_dict("records")), final_rates(rows).set_index(["threads", "arm"])
    assert list(table.columns) == ["search-locked", "search-locked (A/A)", "steal-retry"]
    for threads in (1, 4, 8):
        for arm in ("search-locked", "steal-retry"):
            assert table.loc[(4, threads), arm].startswith(f"{final.value[threads, arm]:,.0f}/s")
            assert table.loc[(4, threads), arm].endswith("(3)")
    assert table.loc[(4, 1), "search-locked (A/A)"].endswith("(2)")


def test_a_table_with_the_aa_pair_alone_says_that_it_is_one():
    rows = rates(1, 3)
    assert list(so_far(rows[rows.pair == "aa"].to_dict("records")).columns) == ["search-locked (A/A)"]
