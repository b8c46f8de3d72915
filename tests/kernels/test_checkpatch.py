# SPDX-License-Identifier: MIT
"""The kernel's style check is run on patches as patches, and only what it counted is told."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import RunFailed
from lockscale.kernels.checkpatch import Style, checkpatch, checkpatch_detail, read_style
from lockscale.kernels.series import Series

counts = st.integers(0, 10**6)


def terse(errors: int, warnings: int, checks: int) -> str:
    """As checkpatch.pl --terse prints it; a clean patch has no total."""
    lines = "".join(f"/x/p.patch:{n}: ERROR: number {n}\n" for n in range(1, min(errors, 3) + 1))
    total = f"total: {errors} errors, {warnings} warnings, {checks} checks, 17 lines checked\n"
    return lines + total if errors + warnings + checks else ""


@given(counts, counts, counts)
def test_what_was_counted_is_read_back(errors, warnings, checks):
    text = terse(errors, warnings, checks)
    first = "line 1: number 1" if errors else ""
    assert read_style("p.patch", text, "", int(bool(text))) == Style(
        "p.patch", errors, warnings, checks, first
    )


@given(st.integers(1, 9), counts, counts, st.data())
def test_output_that_was_cut_is_no_clean_patch(errors, warnings, checks, data):
    text = terse(errors, warnings, checks).rstrip("\n")
    with pytest.raises(RunFailed):
        read_style("p.patch", text[: data.draw(st.integers(0, len(text) - 1))], "", 1)


def test_a_check_that_did_not_run_is_told_by_its_first_words():
    with pytest.raises(RunFailed, match=r"^checkpatch of p failed: Can't open perl script$"):
        read_style("p", "", "Can't open perl script\nmore\n", 2)
    with pytest.raises(RunFailed, match=r"^checkpatch of p failed: no reason given$"):
        read_style("p", "", "", 255)
    with pytest.raises(RunFailed):  # a total that counts an error which is not shown
        read_style("p", "total: 1 errors, 0 warnings, 0 checks, 3 lines checked\n", "", 1)


@pytest.fixture
def toy(tmp_path: Path) -> tuple[Series, Path]:
    """Two patches, and a kernel whose checkpatch.pl finds fault with the second and tells where it ran."""
    tree, arm = tmp_path / "tree", tmp_path / "s/arm"
    (tree / "scripts").mkdir(parents=True)
    arm.mkdir(parents=True)
    (tree / "scripts/checkpatch.pl").write_text(
        "use Cwd; open(F, '>>', 'ran'); print F join(' ', cwd(), $ENV{HOME}, @ARGV), qq(\\n); close F;\n"
        "exit 0 if $ARGV[-1] =~ /0001/;\n"
        "print qq($ARGV[-1]:41: ERROR: trailing whitespace\\n$ARGV[-1]:42: ERROR: two\\n);\n"
        "print qq(total: 2 errors, 1 warnings, 3 checks, 9 lines checked\\n); exit 1;\n"
    )
    patches = tuple(arm / name for name in ("0001-a.patch", "0002-b.patch"))
    for patch in patches:
        patch.write_text("")
    return Series("s", "arm", arm, patches), tree


def test_only_an_error_is_not_ok_and_the_first_one_is_shown(toy):
    series, tree = toy
    assert checkpatch(series, tree) == [
        Style("0001-a.patch", 0, 0, 0),
        Style("0002-b.patch", 2, 1, 3, "line 41: trailing whitespace"),
    ]
    first = "first: 0002-b.patch line 41: trailing whitespace"
    assert checkpatch_detail(series, tree) == (False, f"2 errors, 1 warnings, 3 checks; {first}")
    clean = Series("s", "arm", series.folder, series.patches[:1])
    assert checkpatch_detail(clean, tree) == (True, "0 errors, 0 warnings, 0 checks")


def test_it_runs_in_the_kernel_tree_and_blind_to_the_users_settings(toy, monkeypatch):
    """At the top of a git repository checkpatch takes a tracked patch for a source file."""
    series, tree = toy
    monkeypatch.chdir(series.folder)
    checkpatch(series, tree)
    ran = (tree / "ran").read_text().splitlines()
    assert ran[0].startswith(f"{tree} {tree} --strict --terse") and ran[0].endswith(str(series.patches[0]))
