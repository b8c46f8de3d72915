# SPDX-License-Identifier: MIT
"""What is listed in a series and is no text, no mail, no plain file, or lies outside the kernel tree."""

import pytest
from tiny_kernel import IALLOC, Kernel, git, text

from lockscale.errors import BadInput
from lockscale.kernels.series import all_series, apply_beside, read_series, touched_files


def patch_of(kernel: Kernel, content: str | bytes):
    """Series s/arm of one patch with this content."""
    arm = kernel.patches / "s/arm"
    arm.mkdir(parents=True)
    (arm / "0001-x.patch").write_bytes(content.encode() if isinstance(content, str) else content)
    return kernel.series("0001-x.patch")


@pytest.mark.parametrize(
    "listed",
    [
        "0009-absent.patch",
        "../x.patch",
        "../../../x.patch",
        "../../../beside/x.patch",
        "../other/leads-out.patch",
        "/etc/passwd",
        ".",
        "0001.patch extra",
    ],
)
def test_what_is_no_patch_of_an_arm_is_refused(kernel: Kernel, listed):
    for folder in (kernel.patches / "s/arm", kernel.patches / "s/other", kernel.folder / "beside"):
        folder.mkdir(parents=True)
        (folder / "series").write_text("x.patch\n")
    for folder in (kernel.patches / "s", kernel.folder, kernel.folder / "beside"):
        (folder / "x.patch").write_text("outside\n")
    (kernel.patches / "s/other/leads-out.patch").symlink_to(kernel.folder / "beside/x.patch")
    with pytest.raises(
        BadInput, match=r"lists '.*', which is neither a file beside it nor a patch of another arm"
    ):
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
    with pytest.raises(BadInput, match=r"changes '\.\./secret', which is outside the kernel tree"):
        apply_beside(kernel.series("0001-x.patch"), kernel.tree)
    assert outside.read_text() == "x\n"


def test_a_series_file_that_is_no_utf_8_is_refused(kernel: Kernel):
    (kernel.patches / "S/A").mkdir(parents=True)
    (kernel.patches / "S/A/series").write_bytes(b"# gr\xfc\n")
    for read in (lambda: read_series("S", "A"), all_series):
        with pytest.raises(BadInput, match=r"S/A/series is not UTF-8 text \(byte 4\): save it as UTF-8$"):
            read()
    with pytest.raises(BadInput, match=r"no series S/B under .*: did you mean S/A\?$"):
        read_series("S", "B")


def test_a_series_that_is_a_folder_is_refused(kernel: Kernel):
    (kernel.patches / "S/A/series").mkdir(parents=True)
    for read in (lambda: read_series("S", "A"), all_series):
        with pytest.raises(BadInput, match=r"S/A/series cannot be read \(Is a directory\): put a text file"):
            read()
    with pytest.raises(BadInput, match=r"no series S/B under .*: did you mean S/A\?$"):
        read_series("S", "B")


@pytest.mark.parametrize("listed", ["a\0b.patch", "x" * 300, "loop"])
def test_a_name_that_no_file_can_have_is_refused(kernel: Kernel, listed: str):
    (kernel.patches / "s/arm").mkdir(parents=True)
    (kernel.patches / "s/arm/loop").symlink_to("loop")
    with pytest.raises(
        BadInput, match="which is neither a file beside it nor a patch of another arm: add the file"
    ):
        kernel.series(listed)


def test_a_patch_that_is_no_utf_8_is_refused(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="grün"))
    (patch,) = kernel.series().patches
    patch.write_bytes(patch.read_text().encode("latin-1"))
    with pytest.raises(BadInput, match=r"0001-.*\.patch is not UTF-8 text \(byte \d+\): save it as UTF-8$"):
        touched_files(read_series("s", "arm"))


def test_an_absolute_name_is_refused_and_reads_nothing(kernel: Kernel):
    series = patch_of(kernel, "--- a//tmp/x\n+++ b//tmp/x\n@@ -1 +1 @@\n-x\n+y\n")
    with pytest.raises(BadInput, match=r"changes '/tmp/x', which is outside the kernel tree: leave it out$"):
        touched_files(series)


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret"])
def test_a_file_that_moves_from_outside_the_tree_is_refused(kernel: Kernel, name: str):
    head = f"diff --git a/x b/x\nsimilarity index 100%\nrename from {name}\nrename to x\n"
    with pytest.raises(
        BadInput, match=rf"changes '{name}', which is outside|is not a patch that git can read"
    ):
        touched_files(patch_of(kernel, head))


def test_a_symbolic_link_is_refused(kernel: Kernel):
    (kernel.work / "fs/link").symlink_to("/etc/passwd")
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    with pytest.raises(
        BadInput, match=r"contains a symbolic link or a file mode \(create mode 120000 fs/link\)"
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
    with pytest.raises(BadInput, match=rf"a file mode \({said}\): leave it out, only regular files"):
        touched_files(kernel.series())


def test_crlf_line_ends_are_told_by_that_word(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    (patch,) = kernel.series().patches
    patch.write_bytes(patch.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(BadInput, match=r"0001-.*\.patch has CRLF line endings: save it with LF"):
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
    with pytest.raises(
        BadInput, match=r"0001-.*\.patch is not a mail as git format-patch writes it .* git format-patch$"
    ):
        apply_beside(read_series("s", "arm"), kernel.tree)


def test_a_patch_that_is_listed_twice_is_refused(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", "changed\n")
    (patch,) = kernel.series().patches
    with pytest.raises(BadInput, match="twice: drop one of the lines"):
        kernel.series(patch.name, patch.name)
