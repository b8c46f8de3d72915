# SPDX-License-Identifier: MIT
"""A series goes in exactly or is refused in a sentence; the tree itself is never touched by trying."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.series import (
    all_series,
    apply_beside,
    named_series,
    read_series,
    refuse_unsafe,
    touched_files,
)

IALLOC = [f"line {n}" for n in range(1, 31)]
AUTHOR = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@x",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@x",
}


def git(folder: Path, *argv: str) -> str:
    env = {**os.environ, **AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    done = subprocess.run(["git", *argv], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def text(lines: list[str], **changes: str) -> str:
    """The file with lines replaced: `line 3` becomes the text given for `l3`."""
    return "".join(f"{changes.get(f'l{n}', line)}\n" for n, line in enumerate(lines, start=1))


class Kernel:
    """A tiny kernel tree, and real git beside it to write series against it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree, self.work = folder, folder / "tree", folder / "work"
        self.patches = folder / "kernel-patches"
        for place in (self.tree, self.work):
            (place / "fs/ext4").mkdir(parents=True)
            (place / "fs/ext4/ialloc.c").write_text(text(IALLOC))
            (place / "fs/ext4/old.c").write_text("old\n")
        git(self.work, "init", "-q")
        git(self.work, "add", ".")
        git(self.work, "commit", "-q", "-m", "base")

    def commit(self, name: str, content: str | None) -> None:
        """One commit that writes, or with None removes, a file."""
        path = self.work / name
        if content is None:
            path.unlink()
        else:
            path.write_text(content)
        git(self.work, "add", "-A")
        git(self.work, "commit", "-q", "-s", "-m", f"change {name}")

    def series(self, *listed: str):
        """The commits since the base as series s/arm; `listed` instead of their names when given."""
        arm = self.patches / "s" / "arm"
        arm.mkdir(parents=True, exist_ok=True)
        root = git(self.work, "rev-list", "--max-parents=0", "HEAD").strip()
        made = git(self.work, "format-patch", "-q", "-o", str(arm), root) or sorted(arm.glob("*.patch"))
        names = listed or [path.name for path in made]
        (arm / "series").write_text("# what the arm changes\n\n" + "".join(f"{n}\n" for n in names))
        return read_series("s", "arm")

    def snapshot(self) -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in self.tree.rglob("*") if p.is_file()}


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel(tmp_path)
    monkeypatch.setattr(paths, "KERNEL_PATCHES", made.patches)
    return made


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


def test_the_same_hunk_further_down_is_taken(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    path = kernel.tree / "fs/ext4/ialloc.c"
    path.write_text("a point release put\nthree lines\nbefore it\n" + path.read_text())
    got = apply_beside(kernel.series(), kernel.tree)["fs/ext4/ialloc.c"]
    assert got.decode().endswith(text(IALLOC, l15="changed"))


def test_a_hunk_that_needs_fuzz_is_refused_though_patch_would_take_it(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    series = kernel.series()
    (kernel.tree / "fs/ext4/ialloc.c").write_text(text(IALLOC, l18="the outermost line of context"))
    with pytest.raises(BadInput, match=r"^series s/arm: 0001-.*\.patch does not apply .* no fuzz is taken$"):
        apply_beside(series, kernel.tree)


@pytest.mark.parametrize("patches", [1, 2])
def test_a_series_that_is_in_already_is_refused_by_that_word(kernel: Kernel, patches: int):
    for n in range(patches):
        kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15=f"changed {n}"))
    series = kernel.series()
    for name, content in apply_beside(series, kernel.tree).items():
        (kernel.tree / name).write_bytes(content)
    with pytest.raises(BadInput, match=r"^series s/arm: 0001-.*\.patch is already in this kernel source"):
        apply_beside(series, kernel.tree)


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


@pytest.mark.parametrize(
    "listed", ["0009-absent.patch", "../x.patch", "/etc/passwd", ".", "0001.patch extra"]
)
def test_what_lies_not_beside_the_series_is_refused(kernel: Kernel, listed):
    (kernel.patches / "s" / "arm").mkdir(parents=True)
    (kernel.patches / "s" / "x.patch").write_text("outside\n")
    with pytest.raises(BadInput, match=r"lists '.*', which is not a file beside it: add it or drop the line"):
        kernel.series(listed)


@pytest.mark.parametrize("content", ["", "no patch\n", "Subject: [PATCH] words only\n\n---\n", "\0\0\xff"])
def test_a_file_that_is_no_patch_is_refused(kernel: Kernel, content):
    (kernel.patches / "s" / "arm").mkdir(parents=True)
    (kernel.patches / "s" / "arm" / "0001-x.patch").write_text(content)
    with pytest.raises(BadInput, match=r"0001-x\.patch is not a patch that git can read"):
        apply_beside(kernel.series("0001-x.patch"), kernel.tree)


def test_a_patch_of_a_file_outside_the_tree_is_refused_and_reads_nothing(kernel: Kernel):
    outside = kernel.folder / "secret"
    outside.write_text("x\n")
    (kernel.patches / "s" / "arm").mkdir(parents=True)
    patch = "--- a/../secret\n+++ b/../secret\n@@ -1 +1 @@\n-x\n+y\n"
    (kernel.patches / "s" / "arm" / "0001-x.patch").write_text(patch)
    with pytest.raises(BadInput, match=r"changes '\.\./secret', which lies outside the kernel tree"):
        apply_beside(kernel.series("0001-x.patch"), kernel.tree)
    assert outside.read_text() == "x\n"


def test_the_same_patches_are_one_kernel_whatever_the_arm_is_called(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    one = kernel.series()
    shutil.copytree(one.folder, one.folder.with_name("twin"))
    twin = read_series("s", "twin")
    assert (twin.name, twin.sha256) == ("s/twin", one.sha256)
    twin.patches[0].write_text(twin.patches[0].read_text() + "\n")
    assert twin.sha256 != one.sha256


def test_a_series_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(
        BadInput, match=r"no series inode-claim/spread under .* inode-claim/steal-retry, .*\)$"
    ):
        read_series("inode-claim", "spread")
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


# --- What is no text, no mail, or no plain file -------------------------------------------------------------


def patch_of(kernel: Kernel, content: str | bytes):
    """Series s/arm of one patch with this content."""
    arm = kernel.patches / "s/arm"
    arm.mkdir(parents=True)
    (arm / "0001-x.patch").write_bytes(content.encode() if isinstance(content, str) else content)
    return kernel.series("0001-x.patch")


def test_a_series_file_that_is_no_utf_8_is_refused(kernel: Kernel):
    (kernel.patches / "S/A").mkdir(parents=True)
    (kernel.patches / "S/A/series").write_bytes(b"# gr\xfc\n")
    for read in (lambda: read_series("S", "A"), all_series):
        with pytest.raises(BadInput, match=r"S/A/series is not UTF-8 text \(byte 4\): save it as UTF-8$"):
            read()
    with pytest.raises(BadInput, match=r"no series S/B under .* \(there are: S/A\)$"):
        read_series("S", "B")


def test_a_series_that_is_a_folder_is_refused(kernel: Kernel):
    (kernel.patches / "S/A/series").mkdir(parents=True)
    for read in (lambda: read_series("S", "A"), all_series):
        with pytest.raises(BadInput, match=r"S/A/series cannot be read \(Is a directory\): put a text file"):
            read()
    with pytest.raises(BadInput, match=r"no series S/B under .* \(there are: S/A\)$"):
        read_series("S", "B")


@pytest.mark.parametrize("listed", ["a\0b.patch", "x" * 300, "loop"])
def test_a_name_that_no_file_can_have_is_refused(kernel: Kernel, listed: str):
    (kernel.patches / "s/arm").mkdir(parents=True)
    (kernel.patches / "s/arm/loop").symlink_to("loop")
    with pytest.raises(BadInput, match="which is not a file beside it: add it or drop the line"):
        kernel.series(listed)


def test_a_patch_that_is_no_utf_8_is_refused(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="grün"))
    (patch,) = kernel.series().patches
    patch.write_bytes(patch.read_text().encode("latin-1"))
    with pytest.raises(BadInput, match=r"0001-.*\.patch is not UTF-8 text \(byte \d+\): save it as UTF-8$"):
        touched_files(read_series("s", "arm"))


def test_an_absolute_name_is_refused_and_reads_nothing(kernel: Kernel):
    series = patch_of(kernel, "--- a//tmp/x\n+++ b//tmp/x\n@@ -1 +1 @@\n-x\n+y\n")
    with pytest.raises(
        BadInput, match=r"changes '/tmp/x', which lies outside the kernel tree: leave it out$"
    ):
        touched_files(series)


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret"])
def test_a_file_that_moves_from_outside_the_tree_is_refused(kernel: Kernel, name: str):
    head = f"diff --git a/x b/x\nsimilarity index 100%\nrename from {name}\nrename to x\n"
    with pytest.raises(
        BadInput, match=rf"changes '{name}', which lies outside|is not a patch that git can read"
    ):
        touched_files(patch_of(kernel, head))


def test_a_symbolic_link_is_refused(kernel: Kernel):
    (kernel.work / "fs/link").symlink_to("/etc/passwd")
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    with pytest.raises(
        BadInput, match=r"holds a symbolic link or a file mode \(create mode 120000 fs/link\)"
    ):
        touched_files(kernel.series())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fs/new.sh", r"create mode 100755 fs/new\.sh"),
        ("fs/ext4/old.c", r"mode change 100644 => 100755 fs/ext4/old\.c"),
    ],
)
def test_a_mode_that_would_be_lost_is_refused(kernel: Kernel, name: str, said: str):
    (kernel.work / name).touch()
    (kernel.work / name).chmod(0o755)
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    with pytest.raises(BadInput, match=rf"a file mode \({said}\): leave it out, only plain files"):
        touched_files(kernel.series())


def test_crlf_line_ends_are_told_by_that_word(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    (patch,) = kernel.series().patches
    patch.write_bytes(patch.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(BadInput, match=r"0001-.*\.patch has CRLF line ends: save it with LF"):
        apply_beside(read_series("s", "arm"), kernel.tree)


def test_a_patch_of_a_file_with_crlf_is_taken(kernel: Kernel):
    for place in (kernel.tree, kernel.work):
        (place / "fs/dos.c").write_bytes(b"one\r\ntwo\r\n")
    git(kernel.work, "add", ".")
    git(kernel.work, "commit", "-q", "--amend", "-m", "base")
    (kernel.work / "fs/dos.c").write_bytes(b"one\r\n2\r\n")
    git(kernel.work, "commit", "-q", "-a", "-m", "dos")
    assert apply_beside(kernel.series(), kernel.tree) == {"fs/dos.c": b"one\r\n2\r\n"}


def test_a_bare_diff_does_not_go_in(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    (patch,) = kernel.series().patches
    patch.write_text(git(kernel.work, "diff", "HEAD~1"))
    with pytest.raises(BadInput, match=r"0001-.*\.patch is no mail that git am takes .* git format-patch$"):
        apply_beside(read_series("s", "arm"), kernel.tree)


def test_an_unsafe_arm_runs_on_a_disposable_target_only(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    kernel.series()
    listing = kernel.patches / "s/arm/series"
    listing.write_text("# unsafe: a crash leaks inodes\n" + listing.read_text())
    series = read_series("s", "arm")
    assert series.unsafe == "a crash leaks inodes"
    assert len(series.patches) == 1
    refuse_unsafe(series, disposable=True, target="qemu")
    with pytest.raises(BadInput, match=r"^arm s/arm is unsafe \(a crash leaks inodes\): .* server1 has not$"):
        refuse_unsafe(series, disposable=False, target="server1")


def test_a_safe_arm_runs_anywhere(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    refuse_unsafe(kernel.series(), disposable=False, target="server1")


@pytest.mark.parametrize(
    "line", ["# Unsafe: leaks", "#unsafe: leaks", "# unsafe", "# unsafe:", "# UNSAFE leaks"]
)
def test_a_misspelt_mark_is_not_overlooked(kernel: Kernel, line: str):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    kernel.series()
    listing = kernel.patches / "s/arm/series"
    listing.write_text(f"{line}\n" + listing.read_text())
    with pytest.raises(BadInput, match="write `# unsafe: why`"):
        read_series("s", "arm")
