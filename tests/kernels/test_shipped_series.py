# SPDX-License-Identifier: MIT
"""The series in kernel-patches: their names, covers and licences, and what git am makes of one."""

import re
from pathlib import Path

import pytest
from tiny_kernel import git

from command import Lockscale
from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.base import bases
from lockscale.kernels.series import all_series, apply_beside, read_series
from lockscale.study.file import named_series


def test_a_series_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(
        BadInput, match=r"no series zfs/one under .* \(known: .*inode-claim/steal-retry, .*\)$"
    ):
        read_series("zfs", "one")
    with pytest.raises(BadInput, match=r"did you mean inode-claim/steal-retry\?$"):
        read_series("inode-claim", "steal-retri")
    for name in ("inode-claim", "/steal-retry", "inode-claim/", ""):
        with pytest.raises(BadInput, match="names no series: write STUDY/ARM"):
            named_series(name)


def test_the_upstream_arm_is_the_base_itself(tmp_path: Path):
    base = named_series("inode-claim/search-locked")
    assert base.patches == ()
    assert apply_beside(base, tmp_path) == {}


@pytest.mark.parametrize("name", [series.name for series in all_series()])
def test_a_shipped_series_says_its_base_and_its_licence(name):
    series = named_series(name)
    cover = (series.folder / "cover.md").read_text()
    assert "SPDX-License-Identifier: GPL-2.0-only" in cover
    assert re.search(r"Base: Linux 6\.12\.y", cover)
    for patch in series.patches:
        assert re.search(r"^Signed-off-by: .+ <.+@.+>$", patch.read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", [one.line for one in bases()])
def test_every_arm_has_its_patches_on_every_base(line: str):
    known = {f"series.{one.line}" for one in bases()} | {"series"}
    assert {path.name for path in paths.KERNEL_PATCHES.glob("*/*/series*")} <= known
    for series in all_series():
        own = read_series(series.study, series.arm, line=line)
        assert own.base == line and own.unsafe == series.unsafe


@pytest.mark.long
@pytest.mark.parametrize("line", [one.line for one in bases()])
def test_every_arm_applies_on_every_base(line: str, lockscale: Lockscale):
    """To the distribution's own source of that line, which is fetched where it is not there."""
    said = lockscale("patches", "check", "--base", line, "--json")
    assert said.status == 0 and all(one["ok"] for one in said.value)


def test_no_patch_lies_in_kernel_patches_twice():
    every = [read_series(one.study, one.arm, line=base.line) for base in bases() for one in all_series()]
    listed = {patch.resolve() for series in every for patch in series.patches}
    there = [path for path in paths.KERNEL_PATCHES.rglob("*.patch") if "drafts" not in path.parts]
    assert len({path.read_bytes() for path in there}) == len(there) > len(listed)  # and those that observe
    assert listed < {path.resolve() for path in there}


def test_what_git_am_makes_of_steal_retry_is_what_was_checked(tmp_path: Path):
    """Real git am on a file that holds the patch's own context where the patch says it is."""
    series = named_series("inode-claim/steal-retry")
    (patch,) = series.patches
    lines = [f"/* {n} */" for n in range(1200)]
    for start, hunk in re.findall(r"^@@ -(\d+).*?@@.*\n((?:[ +\-].*\n)+)", patch.read_text(), re.MULTILINE):
        old = [line[1:] for line in hunk.splitlines() if line[0] in " -"]
        lines[int(start) - 1 : int(start) - 1 + len(old)] = old
    before = "".join(f"{line}\n" for line in lines)
    (tmp_path / "fs/ext4").mkdir(parents=True)
    (tmp_path / "fs/ext4/ialloc.c").write_text(before)
    applied = apply_beside(series, tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "base")
    git(tmp_path, "am", "-q", str(patch))
    assert {"fs/ext4/ialloc.c": (tmp_path / "fs/ext4/ialloc.c").read_bytes()} == applied
    said = git(tmp_path, "log", "-1", "--format=%an%n%s%n%b").splitlines()
    assert said[:2] == [
        "lockscale authors",
        "ext4: retry a lost inode bit in the same group without the lock",
    ]
    body = " ".join(said[2:])
    assert "ext4: reduce lock contention in __ext4_new_inode" in body
    assert "For measurement only: this takes a fix out again." in body
    after = applied["fs/ext4/ialloc.c"].decode()
    assert before.count("find_inode_bit(") - after.count("find_inode_bit(") == 1
    assert after.count("repeat_in_this_group") == 2
