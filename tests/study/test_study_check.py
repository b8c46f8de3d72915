# SPDX-License-Identifier: MIT
"""What a study's file says wrong about models, tables and counters is refused when one looks at it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from command import Lockscale
from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure.study_check import check_study, refuse_unprovable
from lockscale.study.file import list_studies, load_study

Change = Callable[[str, str], None]
ACCESS = load_study("inode-claim").counter


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Change:
    """Change inode-claim.yaml, in a copy of the studies."""
    shutil.copytree(paths.STUDIES, tmp_path / "studies")
    monkeypatch.setattr(paths, "STUDIES", tmp_path / "studies")
    file = tmp_path / "studies/inode-claim.yaml"

    def replace(old: str, new: str) -> None:
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    return replace


@pytest.mark.parametrize("name", list_studies())
def test_every_study_names_what_there_is(name: str):
    check_study(load_study(name))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("model: inode_claim", "model: inode-clam", "model: no model 'inode-clam'"),
        (
            "search_locked: true",
            "search_lock: true",
            "arm search-locked: model_parameters: model inode_claim has no parameter 'search_lock'",
        ),
        ("s1_rates", "s1_ratios", "s1_ratios"),
        (f"counter: {ACCESS}", "counter: lost claims", "neither in profiled_functions nor"),
        (f"- {ACCESS}", "- ext4_evict_inode", "neither in profiled_functions nor"),
        (
            "operations_per_point: ",
            "operations_per_point: 9999999999",
            "but a process does at most 100000000 operations of a load",
        ),
        ("    - cpus: 64", "    - cpus: 65", "parameters.manycore: a guest has at most 64 CPUs"),
        (
            'kernel_source: ""',
            "kernel_source: /nowhere",
            "parameters.kernel_source: the kernel source /nowhere",
        ),
    ],
)
def test_what_is_not_there_is_one_sentence_of_study_show(
    change: Change, lockscale: Lockscale, old: str, new: str, why: str
):
    change(old, new)
    shown = lockscale("study", "show", "inode-claim")
    assert shown.status != 0 and why in shown.err and "Traceback" not in shown.err
    assert shown.err.removeprefix("lockscale: ").startswith("inode-claim.yaml: ")
    assert shown.out == ""


def test_a_counter_may_be_of_observe_kernels_but_the_pair_needs_a_function_all_the_same(
    change: Change,
):
    change(f"counter: {ACCESS}", "counter: retries")
    with pytest.raises(
        BadInput, match="counter 'retries' is not a profiled function, so the A/A pair cannot be compared"
    ):
        refuse_unprovable(load_study("inode-claim"))
    change("counter: retries", "counter: retries\naa_counter: ext4_add_entry")  # whatever the file system is
    refuse_unprovable(load_study("inode-claim"))
    change("- ext4_add_entry", "- ext4_evict_inode")
    with pytest.raises(BadInput, match="profiled_functions lacks aa_counter ext4_add_entry, which compares"):
        refuse_unprovable(load_study("inode-claim"))


def test_a_misspelt_counter_is_told_which_there_are(change: Change):
    change(f"counter: {ACCESS}", "counter: retrys")
    with pytest.raises(BadInput, match=r"one of the study's counters \(retries, get_write_access\)"):
        refuse_unprovable(load_study("inode-claim"))


def test_a_pattern_that_the_counter_matches_profiles_it():
    refuse_unprovable(load_study("inode-claim", {"profiled_functions": ["ext4_create", "jbd2_*_access"]}))
    with pytest.raises(BadInput, match="neither in profiled_functions"):
        refuse_unprovable(load_study("inode-claim", {"profiled_functions": ["ext4_create", "jbd2_access*"]}))


def test_calls_are_counted_by_one_profiler_alone():
    with pytest.raises(BadInput, match="profilers lacks ftrace_cost"):
        refuse_unprovable(load_study("inode-claim", {"profilers": ["perf_lock"]}))


def test_what_the_mkfs_of_an_arm_must_not_do_is_found_before_a_kernel_is_built(change: Change):
    change("mkfs: [-b,", "mkfs: [-Jdevice=LABEL=other, -b,")
    with pytest.raises(BadInput, match=r"arm steal-retry: the mkfs option '-Jdevice=LABEL=other' reaches"):
        check_study(load_study("inode-claim"))
