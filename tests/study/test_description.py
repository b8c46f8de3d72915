# SPDX-License-Identifier: MIT
"""`lockscale study show STUDY` for a person: what the study's file says, in words and in a table."""

from pathlib import Path

import pytest

from command import Lockscale
from lockscale import paths
from lockscale.study.description import WIDTH, described
from lockscale.study.file import list_studies, load_study


def test_a_person_reads_question_arms_load_counters_and_file(lockscale: Lockscale):
    text = lockscale("study", "show", "inode-claim").out
    lines = text.splitlines()
    question = "Why do 48 creators reach only a tenth of the rate that they have with the fix?"
    assert lines[0] == f"inode-claim: {question}"
    assert "Tables: s1_rates, s1_function_cost" in lines
    whole = " ".join(text.split())
    unpatched = "steal-retry (unpatched; simulated as inode_claim with search_locked=false)"
    assert f"{unpatched}: ext4: retry a lost inode bit in the same group without the lock" in whole
    patched = "search-locked (patched; simulated as inode_claim with search_locked=true)"
    assert f"{patched}: A create that has lost its bit" in whole
    assert "Load: create_unlink, in creates per second; 3 iterations" in lines
    assert "  manycore     64  1, 2, 4, 8, 16, 32, 48, 64  7200 (1200 at 1, 4800 at 2)" in lines
    assert "  any other     4  1, 2, 4, 8, 48              2400" in lines
    assert "  retries, per create: steal-retry > search-locked; search-locked = 0" in lines
    assert str(paths.STUDIES / "inode-claim.yaml") in lines[-1] and "--json" in lines[-1]
    assert "{" not in text and "null" not in text


def test_what_sets_an_arm_apart_stands_beside_its_role():
    text = " ".join(described(load_study("group-trylock")).split())
    assert "trylock-scan1 (variant; patches of trylock; mount -o mb_optimize_scan=1; simulated as" in text
    assert "wait-group (unpatched; simulated as group_goals as it is): ext4" in text
    assert (
        "multi-goal-scan1 (variant; patches of multi-goal; mount -o mb_optimize_scan=1; not simulated, "
        "so its gain is not predicted)" in text
    )
    assert "(scan0 is mount -o mb_optimize_scan=0; scan1 is mount -o mb_optimize_scan=1)" in text
    assert "s_md_lock, acquisitions per allocation (with scan0 and scan1): trylock > inode-goal;" in text
    assert "(variant; lost_inode_sleep_us = 100;" in described(load_study("write-access"))


@pytest.mark.parametrize("name", list_studies())
def test_no_line_is_longer_than_a_terminal(name: str):
    *lines, where = described(load_study(name)).splitlines()
    assert max(map(len, lines)) <= WIDTH and where.startswith("The whole study is in ")


def test_an_arm_without_its_folder_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    study = load_study("write-access")
    monkeypatch.setattr(paths, "KERNEL_PATCHES", tmp_path)
    text = " ".join(described(study).split())
    arm = "fast-retry (variant; simulated as write_access with fast_access=true)"
    assert f"{arm}: its patches cannot be read: `lockscale patches list` says why" in text
