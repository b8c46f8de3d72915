# SPDX-License-Identifier: MIT
"""Changelog text survives mail and git am unchanged, and prints changes as kernel changelogs do."""

import csv
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lockscale import paths
from lockscale.show.changelog import as_text, changelog_blocks, percent
from lockscale.show.prediction import predict
from lockscale.study.file import load_study

STUDY = load_study("inode-claim")
COUNTER = f"{STUDY.counter} calls per create"
KERNEL = {"version": "6.12.1", "spin_lock": "queued", "build_id": "0" * 40}
PROVENANCE: dict[str, Any] = {
    "accel": "tcg",
    "origin": "qemu",
    "target": {"kind": "qemu", "name": "qemu"},
    "host": {"cpus": 2, "cpu_model": "A processor with a name that is rather long for one line of text"},
    "kernels": {arm.name: KERNEL for arm in STUDY.arms},
    "as_found": {
        "ab1": {
            "tool": "fsload",
            "tool_version": "0.1.0",
            "file_system": {
                "mkfs_line": "mkfs.ext4 " + " ".join(STUDY.mkfs),
                "mount_line": "mount -o noatime /dev/vda /mnt/lockscale",
            },
        }
    },
}


@pytest.fixture
def text() -> str:
    point = {"cpus": 4, "extra": 0.11, "low": 0.1, "high": 0.12, "spread": 0.01, "repeats": 3}
    point |= {"search-locked": 7.93, "steal-retry": 8.04, "above": True, "level_pct": 95.0}
    extra = pd.DataFrame([{**point, "threads": n, "significant": n > 1} for n in (1, 8, 48)])
    rates = pd.DataFrame(
        {"arm": arm.name, "cpus": 4, "threads": n, "statistic": "total", "value": 5000.0 + n}
        for arm in STUDY.arms
        for n in (1, 48)
    )
    cost = pd.DataFrame(
        {"function": ["ext4_create"], "total_us": [1707443399.0], "count": [1440000], "avg_us": [1185.72]}
    )
    costs = {arm.name: cost for arm in STUDY.arms}
    return as_text(changelog_blocks(STUDY, PROVENANCE, extra, rates, costs, predict(STUDY), COUNTER))


def git(*argv: str, folder: Path) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    argv = ("git", *who, *argv)
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_git_am_takes_the_text_unchanged_inside_a_commit_message(text: str, tmp_path: Path):
    git("init", "-q", "-b", "main", folder=tmp_path)
    (tmp_path / "file").write_text("one\n")
    git("add", "file", folder=tmp_path)
    git("commit", "-q", "-m", "base", folder=tmp_path)
    (tmp_path / "file").write_text("two\n")
    message = f"ext4: search again under the group lock\n\n{text}"
    (tmp_path / "message").write_text(message)
    git("commit", "-q", "-a", "--cleanup=verbatim", "-F", "message", folder=tmp_path)
    git("format-patch", "-1", "-o", "out", folder=tmp_path)
    git("reset", "-q", "--hard", "HEAD~1", folder=tmp_path)
    (patch,) = (tmp_path / "out").iterdir()
    git("am", "-q", str(patch), folder=tmp_path)
    assert git("log", "-1", "--format=%B", folder=tmp_path).rstrip() == message.rstrip()
    assert (tmp_path / "file").read_text() == "two\n"


def test_lines_are_75_columns_of_ascii_without_tabs(text: str):
    assert text.isascii() and "\t" not in text
    assert max(map(len, text.splitlines())) <= 75


def test_the_text_says_machine_kernel_command_and_runs(text: str):
    for said in (
        "MEASURED IN QEMU (tcg)",
        "Averages of 3",
        "6.12.1",
        "mkfs.ext4 -b 4096",
        "noatime",
        "0" * 40,
    ):
        assert said in text


def test_changes_are_printed_as_the_published_orphan_table_prints_them():
    """Each throughput of S4 against vanilla, with its printed percentage and its star."""
    with (paths.PUBLISHED / "s4_creat_clo.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    rate = {(r["arm"], r["threads"]): float(r["value"]) for r in rows if r["metric"] == "throughput"}
    changes = [r for r in rows if r["metric"] == "throughput_change" and r["arm"] == "orphan-lockless"]
    assert len(changes) == 16
    for row in changes:
        before, after = (rate[arm, row["threads"]] for arm in ("orphan-mutex", "orphan-lockless"))
        starred = row["starred"] == "true"
        cell = percent(before, after, starred)
        assert cell.strip("*()").strip() == row["printed"]
        assert (cell[0], cell[-1]) == (("*", "*") if starred else ("(", ")"))
        assert len(cell) == 10


def test_a_star_stands_on_both_sides_of_a_significant_change():
    assert percent(14705.88, 14354.07, True) == "*  -2.39%*"
    assert percent(27108.43, 28301.89, False) == "(   4.40%)"
