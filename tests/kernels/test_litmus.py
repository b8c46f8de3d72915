# SPDX-License-Identifier: MIT
"""Memory ordering of a patch: litmus tests of the kernel's memory model, and what herd7 said of them."""

import hashlib
import re
from pathlib import Path

import pytest

from lockscale import paths

FOLDERS = sorted({path.parent for path in paths.KERNEL_PATCHES.glob("*/*/litmus/*.litmus")})
TESTS = [path for folder in FOLDERS for path in sorted(folder.glob("*.litmus"))]
RESULT = re.compile(r"^ \* Result: (Never|Sometimes)$", re.MULTILINE)
SAID = re.compile(
    r"^([0-9a-f]{64})  (\S+)\.litmus\nTest \2 Allowed\n(?:.+\n)+?Observation \2 (\w+) \d+ \d+\n", re.MULTILINE
)
BARRIER = re.compile(r"smp_mb\(\);\s*(?://|/\*) (\[[A-Z]\])")


def said(folder: Path) -> dict[str, tuple[str, str, str]]:
    """By test: its sha256, what herd7 observed, and all it printed."""
    text = (folder / "herd7.txt").read_text()
    return {found[2]: (found[1], found[3], found[0]) for found in SAID.finditer(text)}


def barriers(text: str) -> set[str]:
    return set(BARRIER.findall(text))


def test_there_are_some():
    assert TESTS


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_herd7_said_of_these_very_bytes_what_the_test_claims(path: Path):
    sha256, observed, printed = said(path.parent)[path.stem]
    assert sha256 == hashlib.sha256(path.read_bytes()).hexdigest(), "run herd7 again"
    assert RESULT.findall(path.read_text()) == [observed]
    if observed == "Never":
        assert "Flag data-race" not in printed


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
def test_each_barrier_of_the_patch_is_needed(folder: Path):
    """One test has it and never fails; the same test fails without it."""
    patches = [path.read_text() for path in sorted(folder.parent.rglob("*.patch"))]  # one for each base
    named, *others = (barriers("\n".join(re.findall(r"^\+(.*)", text, re.MULTILINE))) for text in patches)
    assert len(named) >= 4 and others == [named]
    tests = {path.stem: path.read_text() for path in folder.glob("*.litmus")}
    for name in named:
        letter = name.strip("[]")
        needed = [stem for stem in tests if f"{stem}-without-{letter}" in tests]
        assert needed, name
        for stem in needed:
            assert name in barriers(tests[stem])
            assert name not in barriers(tests[f"{stem}-without-{letter}"])
            assert [RESULT.findall(tests[one]) for one in (stem, f"{stem}-without-{letter}")] == [
                ["Never"],
                ["Sometimes"],
            ]


@pytest.mark.parametrize(
    "path", [path for path in TESTS if "-without-" in path.stem], ids=lambda path: path.stem
)
def test_a_test_without_a_barrier_differs_in_nothing_else(path: Path):
    """But in what it says of itself, and in a store that was a release."""
    whole = path.with_name(f"{path.stem.partition('-without-')[0]}.litmus")
    code = [one.read_text().partition("*)")[2] for one in (whole, path)]
    kept, without = (
        [
            line.replace("smp_store_release(", "WRITE_ONCE(*")
            for line in text.splitlines()
            if "exists" not in line
        ]
        for text in code
    )
    left_out = [line for line in kept if line not in without]
    assert [line for line in kept if line not in left_out] == without
    assert all("smp_mb();" in line for line in left_out)
