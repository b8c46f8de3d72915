# SPDX-License-Identifier: MIT
"""A series goes in exactly or is refused in a sentence; the tree itself is never touched by trying."""

import re
import shutil

import pytest
from tiny_kernel import IALLOC, Kernel, git, text

from lockscale.errors import BadInput
from lockscale.kernels.series import (
    apply_beside,
    apply_with_offset,
    chosen_series,
    read_series,
    touched_files,
)


def test_a_series_gives_the_new_files_and_leaves_the_tree_alone(kernel: Kernel):
    wanted = text(IALLOC, l15="changed")
    kernel.commit("fs/ext4/ialloc.c", wanted)
    before = kernel.snapshot()
    assert apply_beside(kernel.series(), kernel.tree) == {"fs/ext4/ialloc.c": wanted.encode()}
    assert kernel.snapshot() == before


def test_a_second_patch_builds_on_the_first(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="once"))
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="twice", l16="more"))
    series = kernel.series()
    assert len(series.patches) == 2
    assert (
        apply_beside(series, kernel.tree)["fs/ext4/ialloc.c"]
        == text(IALLOC, l15="twice", l16="more").encode()
    )
    # the second alone finds `line 15` where it looks for `once`
    with pytest.raises(BadInput, match="does not apply"):
        apply_beside(kernel.series(series.patches[1].name), kernel.tree)


def test_a_base_on_which_an_arm_differs_has_a_series_of_its_own(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="once"))
    for_all = kernel.series()
    own = for_all.folder / "7.3"
    own.mkdir()
    shutil.move(for_all.patches[0], own / "0001-on-7.3.patch")
    (for_all.folder / "series").write_text("")
    (for_all.folder / "series.7.3").write_text("7.3/0001-on-7.3.patch\n")
    there = read_series("s", "arm", line="7.3")
    assert there.patches == (own / "0001-on-7.3.patch",) and there.base == "7.3"
    assert read_series("s", "arm", line="6.12").patches == ()
    (other := kernel.patches / "s/other").mkdir()
    (other / "series").write_text("../arm/7.3/0001-on-7.3.patch\n")
    assert read_series("s", "other").sha256 == there.sha256  # another arm may begin with it


def test_arms_that_begin_with_one_patch_name_it_where_it_is(kernel: Kernel):
    """The patch exists once; both arms are one kernel, and so have one hash."""
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="once"))
    first = kernel.series()
    for listed in ("study/later", "s/beside"):
        folder = kernel.patches / listed
        folder.mkdir(parents=True)
        (folder / "series").write_text(f"../../s/arm/{first.patches[0].name}\n")
        later = read_series(*listed.split("/"))
        assert later.sha256 == first.sha256
        assert apply_beside(later, kernel.tree) == apply_beside(first, kernel.tree)


def test_files_come_go_and_move(kernel: Kernel):
    kernel.commit("fs/ext4/new file.c", "new\n")
    kernel.commit("fs/ext4/old.c", None)
    git(kernel.work, "mv", "fs/ext4/ialloc.c", "fs/ext4/moved.c")
    kernel.commit("fs/ext4/moved.c", text(IALLOC, l30="moved"))
    assert apply_beside(kernel.series(), kernel.tree) == {
        "fs/ext4/new file.c": b"new\n",
        "fs/ext4/old.c": None,
        "fs/ext4/moved.c": text(IALLOC, l30="moved").encode(),
        "fs/ext4/ialloc.c": None,
    }


def test_the_same_hunk_further_down_is_taken_and_said_by_how_far(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    series = kernel.series()
    assert apply_with_offset(series, kernel.tree)[1] == 0
    path = kernel.tree / "fs/ext4/ialloc.c"
    path.write_text("a point release put\nthree lines\nbefore it\n" + path.read_text())
    got = apply_beside(series, kernel.tree)["fs/ext4/ialloc.c"]
    assert got.decode().endswith(text(IALLOC, l15="changed"))
    assert apply_with_offset(series, kernel.tree)[1] == 3


def test_a_hunk_that_needs_fuzz_is_refused_though_patch_would_take_it(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    series = kernel.series()
    (kernel.tree / "fs/ext4/ialloc.c").write_text(text(IALLOC, l18="the outermost line of context"))
    with pytest.raises(
        BadInput, match=r"^series s/arm: 0001-.*\.patch does not apply .* fuzz is not allowed$"
    ):
        apply_beside(series, kernel.tree)


def test_a_patch_whose_tabs_a_mailer_changed_is_told_from_one_to_rebase(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="\ttabbed"))
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="\ttabbed", l16="changed"))
    series = kernel.series()
    second = series.patches[1]
    second.write_text(second.read_text().replace("\t", "        "))
    with pytest.raises(BadInput, match="applies only if white space is ignored"):
        apply_beside(series, kernel.tree)


def test_a_patch_made_without_prefixes_is_told_from_one_to_rebase(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    series = kernel.series()
    (patch,) = series.patches
    patch.write_text(re.sub(r"\b[ab]/fs/", "fs/", patch.read_text()))
    with pytest.raises(
        BadInput, match=r"changes ext4/ialloc.c, .*: its paths lack a/ and b/, so make it again"
    ):
        apply_beside(series, kernel.tree)


def test_an_arm_whose_folder_lists_no_patches_is_asked_for_its_series(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    (kernel.series().folder / "series").unlink()
    with pytest.raises(BadInput, match=r"^kernel-patches/s/arm has no file `series`: name its patches there"):
        chosen_series("s/arm")


@pytest.mark.parametrize("patches", [1, 2])
def test_a_series_that_is_in_already_is_refused_by_that_word(kernel: Kernel, patches: int):
    for n in range(patches):
        kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15=f"changed {n}"))
    series = kernel.series()
    for name, content in apply_beside(series, kernel.tree).items():
        (kernel.tree / name).write_bytes(content)
    with pytest.raises(BadInput, match=r"^series s/arm: 0001-.*\.patch is already in this kernel source"):
        apply_beside(series, kernel.tree)


TAIL = ["\tif (err)", "\t\tgoto out;", "out:", "\tbrelse(bh);", "\treturn err;", "}"]
FUNCTIONS = [*IALLOC, *TAIL, *IALLOC, *TAIL, *IALLOC]


def test_a_series_that_is_in_does_not_go_into_the_next_function_that_ends_alike(kernel: Kernel):
    """git apply looks through the whole file for the lines around a hunk, and so does git am."""
    at = len(IALLOC) + 3
    for place in (kernel.tree, kernel.work):
        (place / "fs/ext4/ialloc.c").write_text(text(FUNCTIONS))
    git(kernel.work, "commit", "-q", "-a", "--amend", "-m", "base")
    changed = text([*FUNCTIONS[:at], "\tnew_line();", *FUNCTIONS[at:]])
    kernel.commit("fs/ext4/ialloc.c", changed)
    series = kernel.series()
    assert apply_with_offset(series, kernel.tree)[1] == 0
    (kernel.tree / "fs/ext4/ialloc.c").write_text(changed)
    with pytest.raises(BadInput, match=r"is already in this kernel source"):
        apply_beside(series, kernel.tree)
    elsewhere = text(["a line above", *FUNCTIONS])
    (kernel.tree / "fs/ext4/ialloc.c").write_text(elsewhere)
    assert apply_with_offset(series, kernel.tree)[1] == 1


def test_a_new_file_that_is_there_already_is_refused_by_that_word(kernel: Kernel):
    kernel.commit("fs/ext4/new.c", "new\n")
    (kernel.tree / "fs/ext4/new.c").write_text("new\n")
    with pytest.raises(BadInput, match="is already in"):
        apply_beside(kernel.series(), kernel.tree)


def test_a_tree_without_the_file_is_refused(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    (kernel.tree / "fs/ext4/ialloc.c").unlink()
    with pytest.raises(BadInput, match=r"does not apply to this kernel source \(fs/ext4/ialloc\.c: No such"):
        apply_beside(kernel.series(), kernel.tree)


@pytest.mark.parametrize("where", [".", "below", "kernel-patches/s/arm"])
def test_a_repository_around_it_changes_nothing(kernel: Kernel, monkeypatch, where):
    """Below the top of a repository git apply skips what it thinks lies outside, and says nothing."""
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    series = kernel.series()
    git(kernel.folder, "init", "-q")
    (kernel.folder / where).mkdir(exist_ok=True)
    monkeypatch.chdir(kernel.folder / where)
    monkeypatch.setenv("TMPDIR", str(kernel.folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert touched_files(series) == ["fs/ext4/ialloc.c"]
    assert apply_beside(series, kernel.tree)["fs/ext4/ialloc.c"] == text(IALLOC, l15="changed").encode()


def test_a_users_own_git_settings_change_nothing(kernel: Kernel, monkeypatch):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="blanks at the end  "))
    (kernel.folder / ".gitconfig").write_text("[apply]\n\twhitespace = error\n\tignoreWhitespace = change\n")
    monkeypatch.setenv("HOME", str(kernel.folder))
    assert b"blanks at the end  \n" in apply_beside(kernel.series(), kernel.tree)["fs/ext4/ialloc.c"]


def test_the_same_patches_are_one_kernel_whatever_the_arm_is_called(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    one = kernel.series()
    shutil.copytree(one.folder, one.folder.with_name("twin"))
    twin = read_series("s", "twin")
    assert (twin.name, twin.sha256) == ("s/twin", one.sha256)
    twin.patches[0].write_text(twin.patches[0].read_text() + "\n")
    assert twin.sha256 != one.sha256
