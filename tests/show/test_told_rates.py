# SPDX-License-Identifier: MIT
"""What the documents tell of the kept runs in virtual time: docs/manycore.md, the covers and the stories."""

import re
from functools import cache
from typing import Any

import pandas as pd

from lockscale import paths
from lockscale.measure.rows import read_rows
from lockscale.measure.run_folder import curated_run
from lockscale.show.gains import gain_rows
from lockscale.study.file import list_studies, load_study


@cache
def rates_of(study: str, pair: str) -> pd.DataFrame:
    """Of its latest run in virtual time: the rates of the A/A pair (aa), or of the arms in turn (ab)."""
    rows = read_rows(curated_run(study, rates=True).rows)
    return rows[(rows.pair == pair) & (rows.metric == "rate") & (rows.statistic == "total") & ~rows.profiled]


@cache
def mean_rates(study: str) -> dict[tuple[str, str, int], float]:
    """(load, arm, threads) -> the mean of the boots."""
    return rates_of(study, "ab").groupby(["test", "arm", "threads"]).value.mean().to_dict()


def test_the_covers_of_goal_fold_have_the_measured_gains():
    """In % over multi-goal; what goals-apart and goals-per-cpu add, of the same rates."""
    covers = {
        path.parent.name: path.read_text() for path in paths.KERNEL_PATCHES.glob("goal-fold/*/cover.md")
    }
    gains = {(row.arm, row.threads): row.virtual or 0 for row in gain_rows() if row.study == "goal-fold"}
    told = covers["multi-goal-fold"].partition("Measured gain over")[2]
    for arm in ("multi-goal-fold", "goals-apart", "goals-per-cpu"):
        cells = re.findall(rf"(?m)^\| {arm} \| (.*) \|$", told)[0].split(" | ")
        percents = [f"{100 * (gains[arm, n] - 1):.0f}" for n in (8, 16, 32, 64)]
        assert [cell.partition(",")[0] for cell in cells] == percents
    for over in ("multi-goal-fold", "goals-apart"):
        (line,) = re.findall(rf"(?m)^\| {over} \| (.*) \|$", covers["goals-per-cpu"])
        ratios = [gains["goals-per-cpu", 2**k] / gains[over, 2**k] for k in range(7)]
        assert line.split(" | ") == [f"{ratio:.2f}" for ratio in ratios]
    more = [100 * (gains["goals-apart", n] / gains["multi-goal-fold", n] - 1) for n in (8, 16, 32, 64)]
    assert "{:.0f}, {:.0f}, {:.0f} and {:.0f} % over it at 8, 16, 32".format(*more) in covers["goals-apart"]


def test_both_runs_of_handle_start_are_told():
    """By kernel-patches/README.md and the covers: the first, by which predictions are judged, and another."""
    first = {(row.arm, row.threads): row for row in gain_rows() if row.study == "handle-start"}
    rates = mean_rates("handle-start")

    def before(arm: str, threads: int = 64) -> str:
        return f"{first[arm, threads].virtual:.2f}"

    def again(arm: str, threads: int = 64) -> str:
        return f"{rates['truncate', arm, threads] / rates['truncate', 'shared-counters', threads]:.2f}"

    reads, both, per_cpu, count = "reads-apart", "updates-reads-apart", "updates-per-cpu", "count-per-cpu"
    ends = [f"{before(reads, n)} ({first[reads, n].low:.2f} to {first[reads, n].high:.2f})" for n in (4, 8)]
    told = {
        "../README": [
            f"{per_cpu} gains {again(per_cpu)} at 64, {both} {again(both)} and {reads} {again(reads)}"
        ],
        f"{reads}/cover": [
            f"{before(reads)} times the truncates at 64 processes",
            f"{' and '.join(ends)} times the rate",
            f"{again(reads)} at 64, and {again(reads, 4)} and {again(reads, 8)} at 4 and 8",
        ],
        f"{per_cpu}/cover": [f"{before(per_cpu)} at 64 processes, between", f"again: {again(per_cpu)} at 64"],
        f"{both}/cover": [f"{before(both)} at 64 processes, in that interval", f"lists: {again(both)}."],
        f"{count}/cover": [f"three boots: {again(count, 32)} at 32 and {again(count)} at 64"],
    }
    for name, sentences in told.items():
        text = (paths.KERNEL_PATCHES / f"handle-start/{name}.md").read_text()
        assert not [one for one in sentences if one not in " ".join(text.split())]


XFS = {"groups": "four-groups", "32": "many-groups"}


def test_what_virtual_time_gave_is_that_of_the_kept_runs():
    """docs/manycore.md: rates to the nearest hundred, the gain of their means, and what was published."""
    said = (paths.ROOT / "docs/manycore.md").read_text().partition("## What it gave")[2]
    arms = {name: {arm.name for arm in load_study(name).arms} for name in list_studies()}
    published = {(row.study, row.load, row.arm, row.over, row.threads): row.published for row in gain_rows()}
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines() if line[:1] == "|"
    ]
    title = unit = ""
    for cells in (line for line in lines[2:] if len(line) == 7):
        title, unit = cells[0] or title, cells[1] or unit
        found = re.search(r"(\S+) to (\S+)", title)
        assert found, title
        over, arm = (XFS.get(name, name) for name in found.groups())
        (study,) = [name for name, known in arms.items() if {over, arm} <= known]
        load, threads = unit.removesuffix("s/s"), int(cells[2])
        before, after = (mean_rates(study)[load, one, threads] for one in (over, arm))
        digits = len(cells[5].partition(".")[2])
        rates = [f"{round(rate, -2):,.0f}" for rate in (before, after)]
        assert cells[3:6] == [*rates, f"{after / before:.{digits}f}"], cells
        value = published.get((study, load, arm, over, threads))
        if value is None:  # S1's removes have no row among the gains
            assert not cells[6] or unit == "removes/s", cells
        else:
            digits = len(cells[6].partition(" ")[0].partition(".")[2])
            assert cells[6] == f"{value:.{digits}f} at {threads}", cells


def test_how_far_the_two_boots_of_a_pair_differ_is_told():
    """docs/manycore.md: in %, the most over the numbers of processes, except those that are told apart."""

    def apart(study: str, load: str) -> pd.Series:
        rates = rates_of(study, "aa").groupby(["test", "threads"]).value
        return (100 * (rates.max() / rates.min() - 1))[load]

    s1, s3 = apart("inode-claim", "create"), apart("group-trylock", "fallocate")
    removes, cloned = apart("inode-claim", "remove").max(), apart("orphan-file", "creat").max()
    s2, xfs = apart("write-access", "create").max(), apart("xfs-create", "create").max()
    s2_removes, xfs_removes = apart("write-access", "remove").max(), apart("xfs-create", "remove").max()
    told = (
        f"{s1.drop([32, 48]).max():.1f}% in S1's creates (but {s1[32]:.1f}% at 32 and {s1[48]:.1f}% at 48) "
        f"and {removes:.1f}% in its removes; {s2:.1f}% in S2's creates and {s2_removes:.1f}% in its removes; "
        f"{s3.drop(1).max():.1f}% in S3 (but {s3[1]:.1f}% at one container); "
        f"{apart('orphan-file', 'truncate').max():.1f}% in S4's truncates and {cloned:.1f}% in its creates; "
        f"{apart('goal-fold', 'fallocate').max():.0f}% in goal-fold; "
        f"{apart('handle-start', 'truncate').max():.1f}% in handle-start; "
        f"{xfs:.1f}% in XFS's creates and {xfs_removes:.1f}% in its removes"
    )
    assert told in " ".join((paths.ROOT / "docs/manycore.md").read_text().split())


def test_the_stories_tell_the_rates_and_gains_of_the_real_kernels():
    rows = {(row.load, row.arm, row.over, row.threads): row for row in gain_rows()}

    def real(*key: Any, digits: int = 1) -> str:
        return f"{rows[key].virtual:.{digits}f}"

    def published(*key: Any) -> str:
        return f"{rows[key].published:.1f}"

    def thousands(study: str, *key: Any) -> str:
        return f"{mean_rates(study)[key] / 1000:.0f} thousand"

    fix, cheap = ("create", "search-locked", "steal-retry", 48), ("create", "fast-retry", "slow-retry")
    goal, locked = (
        ("fallocate", "inode-goal-scan0", "wait-group"),
        ("truncate", "orphan-locked", "orphan-mutex"),
    )
    file, creat = (
        ("truncate", "orphan-lockless", "orphan-locked", 64),
        ("creat", "orphan-lockless", "orphan-mutex"),
    )
    searched = [rows["create", arm, "slow-retry", 48].virtual or 0 for arm in ("fast-search", "slow-search")]
    lists = [mean_rates("orphan-file")["creat", "orphan-mutex", n] / 1000 for n in (8, 16, 32)]
    told = {
        "inode_claim": [
            f"creates {real(*fix)} times as many files (published: {published(*fix)})",
            f"from {thousands('inode-claim', 'create', 'search-locked', 16)} creates per second with 16",
            f"it falls to {thousands('inode-claim', 'create', 'search-locked', 64)} with 64",
        ],
        "write_access": [
            f"makes creates {real(*cheap, 16)} times as fast, with 48 it makes them {real(*cheap, 48)} times",
            f"as fast (published: {published(*cheap, 48)})",
            f"{searched[0] / searched[1]:.1f} times with 48 processes, where the model",
        ],
        "group_trylock": [
            f"{real(*goal, 64, digits=0)} times as fast (published: {published(*goal, 64)})",
            f"{thousands('group-trylock', 'fallocate', 'wait-group', 64)} per second here",
            f"the real gain, {real(*goal, 32)}, is above its upper end, {rows[*goal, 32].predicted_high:.1f}",
        ],
        "orphan_file": [
            f"truncates {real('truncate', 'orphan-lockless', 'orphan-mutex', 64)} times as fast",
            f"a factor of {real(*file)} with 64 processes (published: {published(*file)})",
            f"{real(*locked, 32)} times as fast with 32 processes, {real(*locked, 64)} times with 64",
            f"falls from {real(*creat, 8)} with 8 processes to {real(*creat, 32)} with 32",
            f"from {published(*creat, 7)} with 7 clients to {published(*creat, 31)} with 31",
            f"from {thousands('orphan-file', 'creat', 'orphan-lockless', 8)} per second with 8 processes",
            f"to {thousands('orphan-file', 'creat', 'orphan-lockless', 32)} with 32",
            f"between {min(lists):.0f} and {max(lists):.0f} thousand",
        ],
    }
    for name, sentences in told.items():
        text = (paths.NOTEBOOKS / f"src/explore/story_{name}.py").read_text().replace("\n#", " ")
        assert not [one for one in sentences if one not in " ".join(text.split())]
