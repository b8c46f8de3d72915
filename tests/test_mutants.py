# SPDX-License-Identifier: MIT
"""The list of mutants is one of the code as it is, and a protection that goes is missed."""

from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from mutants.__main__ import against
from mutants.listed import Mutant, mutants, sample
from mutants.scratch import BROKEN, KILLED, SURVIVED, Scratch

KNOWN = mutants()
ASKED = {
    "disk_guard", "format", "server_boot", "journal", "significance", "fsload", "locks", "posterior",
    "virtual_time", "schedule", "lines",
}  # fmt: skip


def test_each_changes_one_place_of_the_code_as_it_is():
    texts = {one.file: (paths.ROOT / "lib/lockscale" / one.file).read_text() for one in KNOWN}
    for one in KNOWN:
        assert one.applied(texts[one.file]) != texts[one.file]


def test_each_names_tests_that_there_are():
    for name in {name.partition("::")[0] for one in KNOWN for name in one.tests}:
        assert (paths.ROOT / "tests" / name).is_file(), name


def test_there_are_enough_of_each_kind_and_few_that_no_test_can_tell():
    assert len(KNOWN) == len({(one.file, one.old, one.new) for one in KNOWN}) >= 150
    files = {Path(one.file).stem for one in KNOWN}
    assert files >= ASKED
    said = [one.equivalent or one.missed for one in KNOWN if one.equivalent or one.missed]
    assert len(said) <= 0.05 * len(KNOWN) and all(len(one) > 20 for one in said)


def test_a_days_sample_is_of_that_day_and_other_days_have_others():
    first = sample(KNOWN, 10, "2026-11-25")
    assert first == sample(KNOWN, 10, "2026-11-25") and len(set(first)) == 10
    assert {one for n in range(300) for one in sample(KNOWN, 10, str(n))} == {
        one for one in KNOWN if not (one.equivalent or one.missed)
    }


def one(old: str = "a", new: str = "b", equivalent: str = "") -> Mutant:
    return Mutant("files.py", old, new, ("test_files.py",), interpreted=False, equivalent=equivalent)


@pytest.mark.parametrize("text", ["", "a a"])
def test_one_whose_text_is_gone_or_there_twice_is_told(text: str):
    with pytest.raises(BadInput, match="not once"):
        one().applied(text)
    assert one().applied("xax") == "xbx"


def test_only_what_was_expected_is_good():
    assert not against(one(), KILLED, "") and not against(one(equivalent="x"), SURVIVED, "")
    assert "survived" in against(one(), SURVIVED, "")
    assert "argued to be equivalent" in against(one(equivalent="x"), KILLED, "")
    assert "broken" in against(one(), BROKEN, "no tests ran")


@pytest.mark.long  # `make test` has ten listed mutants killed; here one survives
def test_a_change_that_the_tests_miss_survives_and_one_that_they_see_is_killed(tmp_path: Path):
    """In a copy: the tree itself stays as it is."""
    file = paths.ROOT / "lib/lockscale/text_table.py"
    before, scratch = file.read_text(), Scratch(tmp_path / "scratch")
    tests = ("test_text_table.py",)
    first = before.index("def ")
    same = Mutant("text_table.py", before[:first], f"{before[:first]}# as before\n", tests, False, "")
    broken = Mutant("text_table.py", before[first:], "", tests, False, "")
    found = [scratch.verdict(one) for one in (same, broken)]
    assert [verdict for verdict, _ in found] == [SURVIVED, KILLED], found
    assert file.read_text() == before == (scratch.folder / "lib/lockscale/text_table.py").read_text()
    scratch.remove()
    assert not scratch.folder.exists()


FAILS_TWICE = """
def test_it(request):
    request.config.add_cleanup(lambda: 1 / 0)
    assert not {fails}
"""


@pytest.mark.parametrize(("fails", "verdict"), [(True, KILLED), (False, SURVIVED)])
def test_what_fails_after_the_tests_does_not_change_what_they_found(
    tmp_path: Path, fails: bool, verdict: str
):
    scratch = Scratch(tmp_path / "scratch")
    (scratch.folder / "tests/test_twice.py").write_text(FAILS_TWICE.format(fails=fails))
    assert scratch.tested(["test_twice.py"], interpreted=False)[0] == verdict
