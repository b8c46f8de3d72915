# SPDX-License-Identifier: MIT
"""An exported series is taken by the tools that it is for, and gives the files that were checked."""

import email
import email.policy
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.cli import main
from lockscale.errors import BadInput
from lockscale.kernels.export import export
from lockscale.kernels.series import Series, all_series, apply_beside, read_series

AUTHOR = {f"GIT_{who}_{what}": "a@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
HAS_PATCH = shutil.which("patch") is not None
EXACTLY = ["patch", "-p1", "--fuzz=0", "--batch", "-i"] if HAS_PATCH else ["git", "apply", "-p1"]
TAKES = "patch -s -p1 -i" if HAS_PATCH else "git apply -p1"
LINES = [f"line {n}\n" for n in range(1, 40)]
DIFF = "--- a/fs/ext4/super.c\n+++ b/fs/ext4/super.c\n@@ -1 +1 @@\n-x\n+y\n"
COVER = f"# s / arm\n\nGröße\n\n{DIFF}\nFrom a@x Sat Nov 21 09:00:00 2026\n"


def run(folder: Path, *argv: str) -> str:
    env = {**os.environ, **AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def tree_of(folder: Path, **files: list[str]) -> Path:
    """A git repository of a few files of fs/."""
    for name, lines in (files or {"super.c": LINES, "ext4.h": LINES}).items():
        (folder / "fs/ext4").mkdir(parents=True, exist_ok=True)
        (folder / "fs/ext4" / name).write_text("".join(lines))
    run(folder, "git", "init", "-q")
    run(folder, "git", "add", ".")
    run(folder, "git", "commit", "-q", "-m", "base")
    return folder


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Series, Path]:
    """A series s/arm of two patches with a cover that a careless export would break, and its base."""
    work, arm = tree_of(tmp_path / "work"), tmp_path / "kernel-patches/s/arm"
    arm.mkdir(parents=True)
    for n, name in ((10, "super.c"), (30, "ext4.h")):
        changed = [*LINES[:n], f"new {name}\n", *LINES[n + 1 :]]
        (work / "fs/ext4" / name).write_text("".join(changed))
        run(work, "git", "commit", "-q", "-a", "-s", "-m", f"ext4: change {name}\n\nWhy é.")
    listed = run(work, "git", "format-patch", "-q", "-o", str(arm), "HEAD~2") or sorted(arm.glob("*.patch"))
    (arm / "series").write_text("".join(f"{path.name}\n" for path in listed))
    (arm / "cover.md").write_text(COVER)
    shutil.copy(paths.KERNEL_PATCHES / "base.toml", tmp_path / "kernel-patches")
    monkeypatch.setattr(paths, "KERNEL_PATCHES", tmp_path / "kernel-patches")
    run(work, "git", "reset", "-q", "--hard", "HEAD~2")
    return read_series("s", "arm"), work


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def holds(work: Path, wanted: dict[str, bytes | None]) -> bool:
    return all((work / name).read_bytes() == content for name, content in wanted.items())


# --- mbox ------------------------------------------------------------------------------------------------


def test_git_am_takes_the_mbox_whole_and_in_order(made, tmp_path: Path):
    series, work = made
    wanted = apply_beside(series, work)
    run(work, "git", "am", "-q", str(export(series, "mbox", tmp_path / "out.mbox").path))
    assert holds(work, wanted)
    said = run(work, "git", "log", "--reverse", "--format=%s|%b", "HEAD~2..")
    assert said.split("\n\nSigned-off-by: a@x <a@x>\n") == [
        "ext4: change super.c|Why é.",
        "\next4: change ext4.h|Why é.",
        "\n",
    ]


def test_the_senders_name_takes_the_place_of_ours_by_the_command_of_the_readme(made, tmp_path: Path):
    series, work = made
    ours = "lockscale authors <authors@lockscale.invalid>"
    for patch in series.patches:
        patch.write_text(patch.read_text().replace("a@x <a@x>", ours))
    run(work, "git", "am", "-q", str(export(series, "mbox", tmp_path / "out.mbox").path))
    assert ours in run(work, "git", "log", "-1", "--format=%an <%ae>%n%B")
    (said,) = re.findall(r"(?m)^git rebase .* BASE$", (paths.ROOT / "kernel-patches/README.md").read_text())
    run(work, "sh", "-c", said.replace("BASE", "HEAD~2"))
    assert run(work, "git", "log", "--format=%an|%ae|%b", "HEAD~2..").split("\n\n")[:2] == [
        "a@x|a@x|Why é.", "Signed-off-by: a@x <a@x>"
    ]  # fmt: skip
    assert "lockscale" not in run(work, "git", "log", "--format=%an%ae%B", "HEAD~2..")


def test_the_cover_letter_is_the_mail_0_of_n_beside_the_mbox(made, tmp_path: Path):
    series, _ = made
    out = export(series, "mbox", tmp_path / "out.mbox")
    assert out.files == ("out.mbox", "out-0000-cover-letter.patch")
    letter = email.message_from_bytes((tmp_path / out.files[1]).read_bytes(), policy=email.policy.default)
    first = email.message_from_bytes(series.patches[0].read_bytes(), policy=email.policy.default)
    assert letter["Subject"] == "[PATCH 0/2] ext4: change ext4.h"
    assert (letter["From"], letter["Date"]) == (first["From"], first["Date"])
    text = letter.get_content()
    assert text.startswith("s/arm, for Linux 6.12.y") and "Größe" in text and "# s / arm" not in text
    assert "\n\na@x (2):\n  ext4: change super.c\n  ext4: change ext4.h\n\n fs/ext4/ext4.h  | 2 +-\n" in text
    assert text.endswith(" 2 files changed, 2 insertions(+), 2 deletions(-)\n")
    assert "Größe" not in out.path.read_text()


@pytest.mark.parametrize("with_mbox", [False, True])
def test_git_am_stops_at_the_cover_letter_which_is_why_it_is_a_file_of_its_own(made, tmp_path, with_mbox):
    series, work = made
    out = export(series, "mbox", tmp_path / "out.mbox")
    both = (tmp_path / out.files[1]).read_bytes() + (out.path.read_bytes() if with_mbox else b"")
    (tmp_path / "all.mbox").write_bytes(both)
    with pytest.raises(AssertionError, match="Patch is empty"):
        run(work, "git", "am", "-q", str(tmp_path / "all.mbox"))


def test_the_mails_are_numbered_whatever_number_they_had(made, tmp_path: Path):
    series, _ = made
    for patch, prefix in zip(series.patches, ("[PATCH v2 7/9] ", ""), strict=True):
        patch.write_text(re.sub(r"(?m)^Subject: \[PATCH.*?\] ", f"Subject: {prefix}", patch.read_text()))
    text = export(series, "mbox", tmp_path / "out.mbox").path.read_text()
    assert re.findall(r"^Subject: (\[.*?\])", text, re.MULTILINE) == ["[PATCH v2 1/2]", "[PATCH 2/2]"]


def test_a_mail_without_its_first_line_is_taken_too(made, tmp_path: Path):
    series, work = made
    for patch in series.patches:
        patch.write_text(patch.read_text().partition("\n")[2])
    run(work, "git", "am", "-q", str(export(series, "mbox", tmp_path / "out.mbox").path))
    assert len(run(work, "git", "log", "--oneline").splitlines()) == 3


def test_a_bare_diff_is_no_mail(made, tmp_path: Path):
    series, _ = made
    text = series.patches[0].read_text()
    series.patches[0].write_text(text[text.index("diff --git") :])
    with pytest.raises(
        BadInput, match=r"0001-.*\.patch is not a mail as git format-patch writes it .* git format-patch$"
    ):
        export(series, "mbox", tmp_path / "out.mbox")
    assert not (tmp_path / "out.mbox").exists()


def test_a_cover_that_nobody_has_written_is_not_sent(made, tmp_path: Path):
    series, _ = made
    (series.folder / "cover.md").write_text("# s / arm\n\n- Adds: write here what the patches change.\n")
    with pytest.raises(BadInput, match=r"cover\.md still says `write here`: write what the patches do"):
        export(series, "mbox", tmp_path / "out.mbox")
    assert not (tmp_path / "out.mbox").exists()


# --- quilt and ldiskfs --------------------------------------------------------------------------------------


def push(tree: Path, listing: Path, patches: Path) -> None:
    """What `quilt push -a` does with -p1 patches, and refuses: no fuzz is allowed."""
    for name in (line for line in listing.read_text().splitlines() if not line.startswith("#")):
        run(tree, *EXACTLY, str(patches / name))


def test_patch_takes_the_quilt_folder_without_fuzz(made, tmp_path: Path):
    series, work = made
    wanted = apply_beside(series, work)
    out = export(series, "quilt", tmp_path / "out").path
    push(work, out / "patches/series", out / "patches")
    assert holds(work, wanted)


@pytest.mark.parametrize("form", ["quilt", "ldiskfs"])
def test_a_patch_of_another_arm_goes_into_the_folder_with_the_others(made, tmp_path: Path, form: str):
    series, _ = made
    first, second = series.patches
    later = series.folder.parent / "later"
    later.mkdir()
    (later / second.name).write_bytes(second.read_bytes())
    (later / "series").write_text(f"../arm/{first.name}\n{second.name}\n")
    out = export(read_series("s", "later"), form, tmp_path / "out").path
    there = {path.name: path.read_bytes() for path in out.rglob("*.patch")}
    assert there == {f"s-arm-{first.name}": first.read_bytes(), second.name: second.read_bytes()}


def test_a_lustre_tree_takes_the_ldiskfs_folder(made, tmp_path: Path):
    """As ldiskfs/autoMakefile.am does without quilt: every word of the series file is a patch."""
    series, work = made
    wanted = apply_beside(series, work)
    out = export(series, "ldiskfs", tmp_path / "out").path
    (listing,) = (out / "ldiskfs/kernel_patches/series").iterdir()
    assert listing.name == "ldiskfs-6.12-lockscale-s-arm.series"
    patches = out / "ldiskfs/kernel_patches/patches"
    run(work, "sh", "-c", f"for i in $(cat {listing}); do {TAKES} {patches}/$i || exit 1; done")
    assert holds(work, wanted)


def test_what_ldiskfs_does_not_hold_is_refused_by_file(made, tmp_path: Path):
    series, _ = made
    patch = series.patches[1]
    patch.write_text(patch.read_text().replace("fs/ext4/ext4.h", "fs/jbd2/journal.c"))
    with pytest.raises(BadInput, match=r"^s/arm changes fs/jbd2/journal\.c, which is not part of ldiskfs"):
        export(series, "ldiskfs", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert export(series, "quilt", tmp_path / "out").path.is_dir()


@pytest.mark.parametrize("name", ["fs/ext4/sub/x.c", "include/linux/jbd2.h", "include/trace/events/jbd2.h"])
def test_headers_of_others_are_not_in_ldiskfs_either(made, tmp_path: Path, name: str):
    series, _ = made
    patch = series.patches[1]
    patch.write_text(patch.read_text().replace("fs/ext4/ext4.h", name))
    with pytest.raises(BadInput, match="which is not part of ldiskfs"):
        export(series, "ldiskfs", tmp_path / "out")


def test_ext4s_tracepoints_are_in_ldiskfs(made, tmp_path: Path):
    series, _ = made
    patch = series.patches[1]
    patch.write_text(patch.read_text().replace("fs/ext4/ext4.h", "include/trace/events/ext4.h"))
    assert export(series, "ldiskfs", tmp_path / "out").path.is_dir()


def test_an_unsafe_arm_stays_marked_in_every_form(made, tmp_path: Path):
    series, _ = made
    listing = series.folder / "series"
    listing.write_text("# unsafe: a crash leaks inodes\n" + listing.read_text())
    series = read_series("s", "arm")
    for form in ("mbox", "quilt", "ldiskfs"):
        out = export(series, form, tmp_path / form).path
        text = out.read_text() if form == "mbox" else b"".join(files(out).values()).decode()
        assert "UNSAFE: a crash leaks inodes" in text
    assert "# unsafe: a crash leaks inodes\n" in (tmp_path / "quilt/patches/series").read_text()


# --- Whole, and the same every time -------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["mbox", "quilt", "ldiskfs"])
def test_one_series_gives_one_set_of_bytes(made, tmp_path: Path, form: str):
    series, _ = made
    one, two = (export(series, form, tmp_path / name / "out") for name in ("one", "two"))
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert one.files == two.files and len(files(tmp_path / "one")) == len(one.files)


@pytest.mark.parametrize("form", ["mbox", "quilt", "ldiskfs"])
def test_what_is_there_is_not_touched(made, tmp_path: Path, form: str):
    series, _ = made
    (tmp_path / "out").mkdir()
    with pytest.raises(BadInput, match="out already exists: remove it"):
        export(series, form, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


def test_a_cover_letter_that_is_there_is_not_touched(made, tmp_path: Path):
    series, _ = made
    (tmp_path / "out-0000-cover-letter.patch").write_text("mine")
    with pytest.raises(BadInput, match=r"out-0000-cover-letter\.patch already exists: remove it"):
        export(series, "mbox", tmp_path / "out.mbox")
    assert (tmp_path / "out-0000-cover-letter.patch").read_text() == "mine"
    assert not (tmp_path / "out.mbox").exists()


@pytest.mark.parametrize(("form", "out"), [("quilt", "out"), ("ldiskfs", "out"), ("mbox", "out.mbox")])
def test_a_write_that_fails_leaves_nothing(made, tmp_path: Path, monkeypatch, form: str, out: str):
    series, _ = made

    def full(path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name in ("series", "README", "out.mbox"):
            raise OSError(28, "No space left on device", str(path))
        path.write_bytes(content)

    monkeypatch.setattr("lockscale.kernels.export.write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        export(series, form, tmp_path / "outs" / out)
    assert not list((tmp_path / "outs").iterdir())


KILLED = """
import os, sys
from pathlib import Path
from lockscale import paths
from lockscale.kernels import export as module
from lockscale.kernels.series import read_series
paths.KERNEL_PATCHES, write = Path(sys.argv[1]), module.write_bytes
module.write_bytes = lambda *file: (write(*file), os.kill(os.getpid(), 9))
module.export(read_series("s", "arm"), "quilt", Path(sys.argv[2]))
"""


def test_what_a_killed_export_left_goes_with_the_next(made, tmp_path: Path):
    out = tmp_path / "outs" / "out"
    subprocess.run([sys.executable, "-c", KILLED, str(paths.KERNEL_PATCHES), str(out)], check=False)
    assert len(list(out.parent.iterdir())) == 1 and not out.exists()
    export(made[0], "quilt", out)
    assert list(out.parent.iterdir()) == [out]


@pytest.mark.parametrize("form", ["mbox", "quilt", "ldiskfs"])
def test_an_arm_that_is_the_base_has_nothing_to_export(tmp_path: Path, form: str):
    with pytest.raises(
        BadInput, match="search-locked has no patch to export: this arm is the unmodified base"
    ):
        export(read_series("inode-claim", "search-locked"), form, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", ["quilt", "ldiskfs"])
def test_a_name_that_a_series_file_cannot_list_is_refused(made, tmp_path: Path, form: str):
    series, _ = made
    series.patches[0].rename(series.folder / "0001 x.patch")
    (series.folder / "series").write_text("0001 x.patch\n")
    with pytest.raises(BadInput, match="a name with a space"):
        export(read_series("s", "arm"), form, tmp_path / "out")


def test_the_command_says_what_it_wrote(inside: Path, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["patches", "export", "inode-claim/steal-retry", "--format", "ldiskfs", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["path"] == "inode-claim-steal-retry-ldiskfs"
    assert sorted(said["files"]) == sorted(files(inside / said["path"]))
    with pytest.raises(SystemExit, match="2"):
        main(["patches", "export", "inode-claim/search-locked", "--format", "mbox"])
    assert capsys.readouterr().err.count("\n") == 1


def test_a_letter_for_another_base_says_where_its_figures_are_from(tmp_path: Path):
    for line, said in (
        ("6.12", "Base: Linux 6.12.y"),
        ("7.3", "Base: Linux 7.3.y; figures are of Linux 6.12"),
    ):
        series = read_series("goal-fold", "multi-goal-fold", line=line)
        folder = export(series, "quilt", tmp_path / line).path
        assert f"- {said}" in (folder / "patches/README").read_text()
        assert f"for Linux {line}.y" in (folder / "patches/series").read_text()


SHIPPED = [series.name for series in all_series() if series.patches]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_series_is_a_mailbox_of_its_patches(name: str, tmp_path: Path):
    """git mailsplit, which is what git am reads a mailbox with."""
    series = read_series(*name.split("/"))
    out = export(series, "mbox", tmp_path / "out.mbox").path
    (tmp_path / "mails").mkdir()
    count = run(tmp_path, "git", "mailsplit", f"-o{tmp_path}/mails", str(out))
    assert int(count) == len(series.patches)
