# SPDX-License-Identifier: MIT
"""The diffstat of a letter is the one that git prints of the trees, which no letter of ours has at hand."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockscale.kernels.base import bases
from lockscale.kernels.diffstat import diffstat
from lockscale.kernels.letter import cover_letter
from lockscale.kernels.mail import numbered, read_mail
from lockscale.kernels.series import all_series, read_series
from lockscale.scratch import scratch_folder

GIT = ["git", "-c", "user.name=A Author", "-c", "user.email=a@x", "-c", "commit.gpgsign=false"]
ENV = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
FILE = [f"line {n}" for n in range(60)]


def git(folder: Path, *argv: str) -> str:
    return subprocess.run(
        [*GIT, *argv], cwd=folder, env=ENV, capture_output=True, text=True, check=True
    ).stdout


def commit(folder: Path, files: dict[str, list[str] | None]) -> None:
    for name, lines in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if lines is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text("".join(f"{line}\n" for line in lines))
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", f"ext4: change {', '.join(files)}")


def both(folder: Path, *versions: dict[str, list[str] | None]) -> tuple[str, str]:
    """What is printed of the patches between the versions, and what git prints of the first and the last."""
    git(folder, "init", "-q")
    for one in versions:
        commit(folder, one)
    n = len(versions) - 1
    git(folder, "format-patch", "-q", "-o", "mails", f"HEAD~{n}")
    mails = [read_mail(path) for path in sorted((folder / "mails").glob("*"))]
    return diffstat(mails), git(folder, "diff", "--stat=72", "--summary", f"HEAD~{n}", "HEAD")


def changed(lines: list[str], at: int, gone: int, new: list[str]) -> list[str]:
    at = min(at, len(lines))
    return [*lines[:at], *new, *lines[at + gone :]]


edits = st.tuples(
    st.integers(0, 60), st.integers(0, 5), st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=5)
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(edits, min_size=1, max_size=3), min_size=2, max_size=4))
def test_any_series_has_the_diffstat_of_its_trees(patches: list[list[tuple[int, int, list[str]]]]):
    """Whatever a later patch takes back of an earlier one, or changes again."""
    with scratch_folder("test") as folder:
        versions: list[dict[str, list[str] | None]] = [{"fs/x.c": FILE, "keep": ["k"]}]
        for patch in patches:
            lines = versions[-1]["fs/x.c"] or []
            for edit in patch:
                lines = changed(lines, *edit)
            lines = [*lines, f"of version {len(versions)}"]  # git has no mail for a patch of nothing
            versions.append({"fs/x.c": lines})
        ours, gits = both(folder, *versions)
        assert ours == gits


def test_a_line_that_two_patches_change_counts_once(tmp_path: Path):
    ours, gits = both(
        tmp_path,
        {"a.c": FILE},
        {"a.c": changed(FILE, 20, 1, ["first"])},
        {"a.c": changed(FILE, 20, 1, ["second"])},
    )
    assert ours == gits
    assert "1 insertion(+), 1 deletion(-)" in ours


def test_a_line_that_a_later_patch_takes_out_again_does_not_count(tmp_path: Path):
    ours, gits = both(tmp_path, {"a.c": FILE, "b.c": FILE}, {"a.c": FILE[1:]}, {"a.c": FILE, "b.c": FILE[:9]})
    assert ours == gits and "a.c" not in ours and "51 deletions" in ours


def test_files_that_a_series_makes_or_removes_are_named(tmp_path: Path):
    ours, gits = both(
        tmp_path, {"old.c": FILE, "a.c": FILE}, {"new.c": FILE[:9]}, {"old.c": None, "new.c": FILE[:12]}
    )
    assert ours == gits
    assert " create mode 100644 new.c\n" in ours and " delete mode 100644 old.c\n" in ours


def test_modes_and_empty_files_are_told_as_git_tells_them(tmp_path: Path):
    """A selftest brings a script that can be run."""
    git(tmp_path, "init", "-q")
    commit(tmp_path, {"old.sh": FILE, "kept.sh": FILE})
    (tmp_path / "old.sh").chmod(0o755)
    (tmp_path / "run.sh").touch(mode=0o755)
    commit(tmp_path, {"run.sh": ["#!/bin/sh"], "empty.h": [], "a name.txt": ["x"]})
    commit(tmp_path, {"run.sh": ["#!/bin/sh", "true"], "kept.sh": FILE[1:]})
    git(tmp_path, "format-patch", "-q", "-o", "mails", "HEAD~2")
    said = diffstat([read_mail(path) for path in sorted((tmp_path / "mails").glob("*"))])
    assert said == git(tmp_path, "diff", "--stat=72", "--summary", "HEAD~2", "HEAD")
    assert " create mode 100755 run.sh\n" in said and " mode change 100644 => 100755 old.sh\n" in said


def test_patches_of_other_versions_are_added_up_and_the_letter_says_so(tmp_path: Path):
    """As git apply takes the second one with an offset: nothing says which lines both have."""
    first, second = changed(FILE, 20, 1, ["first"]), changed(FILE, 40, 1, ["x", "y"])
    git(tmp_path, "init", "-q")
    for lines in (FILE, first, FILE, second):
        commit(tmp_path, {"a.c": lines})
    git(tmp_path, "format-patch", "-q", "-o", "mails", "HEAD~3")
    one, _, other = (read_mail(path) for path in sorted((tmp_path / "mails").glob("*")))
    said = diffstat([one, other])
    assert "3 insertions(+), 2 deletions(-)" in said
    told = "In a.c the changes of the patches are added up, as these were not made one on top of the other."
    assert " ".join(said.partition("\n\n")[2].split()) == told
    without = re.sub(rb"(?m)^index .*\n", b"", one), re.sub(rb"(?m)^index .*\n", b"", other)
    assert diffstat(without) == said, "without index lines nobody knows, either"


def test_a_series_that_moves_a_file_says_that_its_lines_are_not_counted(tmp_path: Path):
    said, _ = both(tmp_path, {"a.c": FILE}, {"a.c": None, "b.c": FILE})
    assert said.startswith("No diffstat: ") and "renames" in said


def test_a_file_that_is_no_text_has_no_lines_to_count(tmp_path: Path):
    said, _ = both(tmp_path, {"a.c": FILE}, {"a.c": FILE[1:], "image": ["a\0b"]})
    assert said.startswith("No diffstat: ") and "is no text" in " ".join(said.split())


def test_no_patch_has_no_diffstat():
    assert diffstat([]) == ""


def test_the_letter_ends_in_what_git_writes_below_its_own(tmp_path: Path):
    """git's cover letter of the same commits, from its shortlog to its signature."""
    both(tmp_path, {"a.c": FILE}, {"a.c": FILE[1:]}, {"a.c": changed(FILE, 3, 2, ["new"]), "b.c": FILE})
    mails = [read_mail(path) for path in sorted((tmp_path / "mails").glob("*"))]
    git(tmp_path, "format-patch", "-q", "--cover-letter", "-o", "git", "HEAD~2")
    gits = (tmp_path / "git/0000-cover-letter.patch").read_text()
    gits = gits[gits.index("A Author (2):") : gits.rindex("\n-- \n")]
    assert cover_letter("ext4: change", "Text.\n", mails).decode().partition("\nText.\n\n")[2] == gits


def test_ten_mails_are_numbered_as_git_numbers_them(tmp_path: Path):
    both(tmp_path, *({"a.c": FILE[n:]} for n in range(11)))
    git(tmp_path, "format-patch", "-q", "--cover-letter", "-o", "git", "HEAD~10")
    gits = [re.findall(r"\d+/\d+", path.read_text())[0] for path in sorted((tmp_path / "git").glob("*"))]
    mails = [read_mail(path) for path in sorted((tmp_path / "mails").glob("*"))]
    ours = [cover_letter("t", "Text.\n", mails), *numbered(mails)]
    assert [re.findall(rb"(?m)^Subject: \[PATCH (\S+)\]", one)[0].decode() for one in ours] == gits
    assert gits[0] == "00/10"


def test_each_author_is_listed_with_his_own_patches(tmp_path: Path):
    both(tmp_path, {"a.c": FILE}, {"a.c": FILE[1:]}, {"a.c": FILE[2:]})
    first, second = (read_mail(path) for path in sorted((tmp_path / "mails").glob("*")))
    second = second.replace(b"From: A Author", "From: Zoë".encode(), 1)
    said = cover_letter("t", "Text.\n", [first, second]).decode()
    assert "\nA Author (1):\n  ext4: change a.c\n\nZoë (1):\n  ext4: change a.c\n\n a.c | " in said


@pytest.mark.parametrize("line", [one.line for one in bases()])
def test_every_shipped_series_has_one_on_every_base(line: str):
    for series in all_series():
        patches = read_series(series.study, series.arm, line=line).patches
        said = diffstat([read_mail(patch) for patch in patches])
        assert bool(patches) == bool(re.search(r"^ \d+ files? changed, ", said, re.MULTILINE)), series.name


def test_the_shipped_series_of_the_first_base_were_made_one_on_top_of_the_other():
    for series in all_series():
        assert "added up" not in diffstat([read_mail(patch) for patch in series.patches]), series.name
