# SPDX-License-Identifier: MIT
"""The tables that `patches check --write-table` keeps in kernel-patches/README.md."""

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.base import VARIABLE, bases
from lockscale.prove.campaign import Counted
from lockscale.prove.check import CheckedArm
from lockscale.prove.counters import CounterEntry, counters_of
from lockscale.prove.kept_rows import read_rows
from lockscale.prove.series_checks import CheckResult
from lockscale.prove.table import (
    BEGIN,
    END,
    as_text,
    begin_of,
    counter_rows,
    refuse_other_boots,
    row,
    write_readme,
)
from lockscale.study.file import load_whole_study


def entry(arm: str, base: str, *, ok: bool = True) -> CounterEntry:
    return CounterEntry(
        name="retries", unit="per create", variant="", threads=8, arm_name=arm, base_name=base, base=0.0,
        arm=0.3, low=0.1, high=0.5, level_pct=96.8, iterations=5, expected="before > upstream", ok=ok,
    )  # fmt: skip


def test_a_count_beside_other_work_says_so_in_the_table_and_in_the_lines():
    busy = replace(entry("before", "upstream"), busy_boots=2)
    (row_of,) = counter_rows("s", [busy])
    assert row_of[-1] == "yes (2 boots beside other work)"
    assert counter_rows("s", [replace(busy, ok=False)])[0][-1] == "**no** (2 boots beside other work)"
    assert as_text([CheckedArm("s", "before", {}, [busy])]).endswith("(2 boots beside other work)")


@pytest.fixture
def readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(paths.KERNEL_PATCHES / "base.toml", tmp_path)
    monkeypatch.setattr(paths, "KERNEL_PATCHES", tmp_path)
    return tmp_path / "README.md"


def checked(*, ok: bool = True) -> CheckedArm:
    counters = [entry("before", "upstream", ok=ok), entry("upstream", "before", ok=ok)]
    return CheckedArm(
        "s", "before", {"applies": CheckResult(True, "1 patch"), "builds": CheckResult(ok, "x")}, counters
    )


def test_the_table_stands_between_its_marks_and_is_replaced(readme: Path):
    readme.write_text(f"# Before\n\n{BEGIN}\nstale\n{END}\n\nafter\n")
    for ok, cell in ((True, "yes"), (False, "**no**")):
        write_readme([checked(ok=ok)])
        text = readme.read_text()
        assert text.startswith("# Before\n") and text.endswith(f"{END}\n\nafter\n") and "stale" not in text
        assert f"| s/before | yes | {cell} |" in text
        # told once, by the arm that the expectation begins with
        (told,) = [line for line in text.splitlines() if "before > upstream" in line]
        assert told.endswith(f"| before 0.3 | upstream 0 | [0.1, 0.5] | {cell} |")


def test_what_was_declared_not_to_show_stands_as_that_and_as_no_yes(readme: Path):
    readme.write_text(f"{BEGIN}\n{END}\n")
    shown = entry("before", "upstream")
    declared = replace(entry("before", "upstream", ok=False), low=-0.1, reason="four processors")
    contrary = replace(declared, high=-0.05, reversed=True)
    checks = {"counts": CheckResult(True, "2 comparisons")}
    for other, cell, held in (
        (declared, "1 of 2 not shown", "not shown: four processors"),
        (contrary, "**no**", "**no** (reversed)"),
    ):
        write_readme([CheckedArm("s", "before", checks, [shown, other])])
        lines = readme.read_text().splitlines()
        assert f"| s/before | {cell} |" in lines
        assert [line for line in lines if line.endswith(f"| {held} |")]


def test_the_table_says_how_it_was_counted(readme: Path):
    readme.write_text(f"{BEGIN}\n{END}\n")
    fewer = replace(entry("before", "upstream"), iterations=4, level_pct=97.14)
    write_readme([checked(), CheckedArm("t", "before", {}, [fewer])])
    said = "Counted in QEMU, never a rate: 4 or 5 boots of each arm, 8 processes. "
    assert said in readme.read_text() and "with its 96.8 or 97.1% interval." in readme.read_text()


def test_each_base_has_a_table_of_its_own(readme: Path, monkeypatch: pytest.MonkeyPatch):
    newest = begin_of("7.3")
    assert begin_of("6.12") == BEGIN != newest
    readme.write_text(f"{BEGIN}\nfirst\n{END}\n{newest}\nstale\n{END}\nafter\n")
    monkeypatch.setenv(VARIABLE, "7.3")
    write_readme([checked()])
    text = readme.read_text()
    assert text.startswith(f"{BEGIN}\nfirst\n{END}\n") and text.endswith(f"{END}\nafter\n")
    assert "stale" not in text and "| s/before | yes | yes |" in text


@pytest.mark.parametrize("marks", ["# no marks\n", f"{BEGIN}\n", f"{BEGIN}\n<!-- table: other -->\n{END}\n"])
def test_without_its_marks_nothing_is_written(readme: Path, marks: str):
    readme.write_text(marks)
    with pytest.raises(BadInput, match="put them where the table should go"):
        refuse_other_boots(5, whole=True)
    with pytest.raises(BadInput, match="put them where the table should go"):
        write_readme([checked()])
    assert readme.read_text() == marks


def test_the_project_s_own_readme_has_the_marks():
    text = (paths.ROOT / "kernel-patches" / "README.md").read_text()
    marks = [begin_of(one.line) for one in bases()]
    assert [text.count(mark) for mark in marks] == [1] * text.count(END)
    assert sorted(marks, key=text.index) == marks


def test_a_kernel_s_build_time_stands_in_both(readme: Path):
    readme.write_text(f"{BEGIN}\n{END}\n")
    one = CheckedArm(
        "s", "before", {"applies": CheckResult(True, "1 patch"), "builds": CheckResult(True, "6.12", 24.34)}
    )
    write_readme([one])
    assert "| s/before | yes | yes, 24 s |" in readme.read_text()
    assert as_text([one]).endswith("builds: 6.12, compiled once in 24.3 s")


def test_a_failure_is_seen_on_its_line():
    lines = as_text([checked(ok=False)]).splitlines()
    assert lines[0].startswith("ok  s/before applies") and lines[1].startswith("NO  s/before builds")
    assert "expected before > upstream" in lines[2] and lines[2].startswith("NO ")


def of_study(study: str, arm_mean: float, iterations: int = 5) -> CheckedArm:
    sides = [entry("before", "upstream"), entry("upstream", "before")]
    counters = [replace(one, arm=arm_mean, iterations=iterations) for one in sides]
    return CheckedArm(study, "before", {"counts": CheckResult(True, "")}, counters)


def test_a_check_of_one_study_replaces_its_rows_and_leaves_the_others(readme: Path):
    readme.write_text(f"{BEGIN}\n{END}\n")
    write_readme([of_study("s", 0.3), of_study("u", 0.4)])
    write_readme([of_study("t", 0.5)], whole=False)
    write_readme([of_study("s", 0.6)], whole=False)
    whole = readme.read_text()
    rows = [line for line in whole.splitlines() if line.startswith(("| s", "| t", "| u"))]
    assert [one.split("|")[1].strip() for one in rows] == [
        *("s/before", "t/before", "u/before"), *("s: retries", "t: retries", "u: retries"),
    ]  # fmt: skip
    assert [one.split("|")[4].strip() for one in rows[3:]] == ["before 0.6", "before 0.5", "before 0.4"]
    write_readme([of_study("s", 0.6), of_study("t", 0.5), of_study("u", 0.4)])
    assert readme.read_text() == whole


def test_rows_that_were_counted_in_another_way_do_not_stand_beside_the_others(readme: Path):
    readme.write_text(f"{BEGIN}\n{END}\n")
    write_readme([of_study("s", 0.3)])
    whole = readme.read_text()
    with pytest.raises(BadInput, match=r"made in another way .*5 boots.*: check this study in the same way"):
        write_readme([of_study("t", 0.5, iterations=8)], whole=False)
    assert readme.read_text() == whole


def test_that_so_many_boots_do_not_go_into_the_table_is_said_before_the_first(readme: Path):
    readme.write_text(f"{BEGIN}\n{END}\n")
    refuse_other_boots(8, whole=False)
    write_readme([of_study("s", 0.3)])
    refuse_other_boots(5, whole=False)
    refuse_other_boots(8, whole=True)
    with pytest.raises(BadInput, match="is of 5 boots of each arm: give --iterations 5, or check all arms"):
        refuse_other_boots(8, whole=False)


KEPT = sorted(paths.COUNTED.glob("patches-check-*/counts-*.csv"))


def test_the_tables_are_those_of_the_counts_kept_beside_them():
    assert KEPT
    text = (paths.KERNEL_PATCHES / "README.md").read_text()
    for path in KEPT:
        study = load_whole_study(path.stem.removeprefix("counts-"))
        line = path.parent.name.removeprefix("patches-check-")
        table = text.partition(begin_of(line))[2].partition(END)[0].splitlines()
        rows = counter_rows(study.name, counters_of(study, read_rows(path, Counted)))
        kept = [row(cells) for cells in rows]
        assert kept and sorted(kept) == sorted(one for one in table if one.startswith(f"| {study.name}: "))


GOAL_FOLD = "counts-goal-fold.csv"


def test_what_the_check_of_goal_fold_alone_shows_is_told():
    counts = read_rows(paths.COUNTED / "goal-fold-alone-6.12" / GOAL_FOLD, Counted)
    found = counters_of(load_whole_study("goal-fold"), counts)
    said = " ".join((paths.KERNEL_PATCHES / "README.md").read_text().split())
    rows = counter_rows("goal-fold", found)
    assert {cells[-1] for cells in rows} == {"yes"} and f"all {len(rows)} expectations hold" in said
    one = next(one for one in found if (one.variant, one.base_name) == ("scan0", "multi-goal-fold"))
    told = f"{one.arm:.3f} with multi-goal and {one.base:.3f} with multi-goal-fold, interval"
    assert f"{one.name} (scan0) {told} {one.low:.3f} to {one.high:.3f}" in said


def test_how_many_groups_were_skipped_beside_other_work_is_told():
    """The sum of both events, as the table has it."""
    skipped: Counter[tuple[int, str]] = Counter()
    events = ("trace:ext4_mb_busy_group", "trace:ext4_group_trylock_failed")
    for one in read_rows(paths.COUNTED / "patches-check-6.12" / GOAL_FOLD, Counted):
        if one.arm == "multi-goal" and one.source in events:
            skipped[one.iteration, one.variant] += one.value
    told = []
    for boots in (range(1, 6), range(6, 9)):
        counts = [count for (boot, _), count in skipped.items() if boot in boots]
        told.append(f"{min(counts):,} to {max(counts):,}")
    said = " ".join((paths.KERNEL_PATCHES / "README.md").read_text().split())
    assert f"skipped {told[0]} groups in each of boots 1 to 5, and {told[1]} in boots 6 to 8" in said
