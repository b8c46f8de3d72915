# SPDX-License-Identifier: MIT
"""What `held` lets through git am keeps as it is; what it refuses git really changes, or checkpatch names."""

import subprocess
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockscale.errors import RunFailed
from lockscale.show.commit_text import Letter, Paragraph, as_text, cut_to, held, wrapped

RoundTrip = Callable[[str], str]
SUBJECT = "ext4: search again under the group lock\n\n"


@pytest.fixture(scope="module")
def round_trip(tmp_path_factory: pytest.TempPathFactory) -> RoundTrip:
    """A text through git commit, git format-patch and git am: what the log then says below the subject."""
    room = tmp_path_factory.mktemp("repository")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]

    def git(*argv: str) -> str:
        done = subprocess.run(["git", *who, *argv], cwd=room, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else f"git failed: {done.stderr}"

    git("init", "-q", "-b", "main")
    (room / "file").write_text("one\n")
    git("add", "file")
    git("commit", "-q", "-m", "base")

    def through(text: str) -> str:
        (room / "file").write_text("two\n")
        (room / ".git" / "text").write_text(SUBJECT + text)
        git("commit", "-q", "-a", "--cleanup=verbatim", "-F", ".git/text")
        (room / ".git" / "mail").write_text(git("format-patch", "-1", "--stdout"))
        git("reset", "-q", "--hard", "HEAD~1")
        said = git("am", "-q", ".git/mail")
        found = git("log", "-1", "--format=%B")
        if said.startswith("git failed"):
            git("am", "--abort")
            return said
        git("reset", "-q", "--hard", "HEAD~1")
        return found.removeprefix(SUBJECT).removesuffix("\n")  # log ends each commit in a line of its own

    return through


@pytest.mark.parametrize(
    "text",
    [
        "a line\n---\nmore\n", "a line\ndiff --git a/x b/x\n", "a line\nIndex: x\n", "blanks at its end  \n",
        "one\n\n\ntwo\n", "ends in a blank line\n\n", "\nbegins with one\n",
        "From: a\n", "Subject: none of ours\n",
        "x\nFrom 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n",
    ],
)  # fmt: skip
def test_what_git_would_change_is_refused(text: str, round_trip: RoundTrip):
    with pytest.raises(RunFailed, match="git am"):
        held(text)
    assert round_trip(text) != text


LINE = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=75)
STARTS = st.sampled_from(
    ["", "", "--", "-- ", "diff", "+++ ", "@@ ", "#", "From", "From: a", ">From ", "Index", ">8"]
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(STARTS, LINE), min_size=1, max_size=8))
def test_what_is_held_comes_through_git_unchanged(round_trip: RoundTrip, lines: list[tuple[str, str]]):
    text = "".join(f"{start}{line}\n" for start, line in lines)
    try:
        held(text)
    except RunFailed:
        return
    assert round_trip(text) == text


@pytest.mark.parametrize("line", ["x" * 76, "a\tb", "\u00b5s", "bell \x07", "-- >8 --"])
def test_what_checkpatch_or_a_mail_would_not_have_is_refused(line: str):
    with pytest.raises(RunFailed, match="line 2"):
        held(f"fine\n{line}\n")


def test_75_columns_are_none_too_many():
    assert held("x" * 75 + "\n") == "x" * 75 + "\n"


def test_git_am_drops_what_stands_below_the_line(round_trip: RoundTrip):
    letter = Letter([Paragraph("One lock less.")], [Paragraph("   4   8  1.5", fixed=True), Paragraph("x")])
    assert round_trip(as_text(letter)) == "One lock less.\n"


@pytest.mark.parametrize("start", ["@@ -1 +1 @@", "diff --git a/x b/x", "--- a/x"])
def test_below_the_line_nothing_begins_as_a_patch_would(start: str):
    with pytest.raises(RunFailed, match="git am"):
        as_text(Letter([Paragraph("fine")], [Paragraph(start, fixed=True)]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(STARTS, st.text(max_size=90)), min_size=1).map(" ".join))
def test_any_prose_wraps_into_lines_that_a_mail_carries(text: str):
    assert held("\n".join(wrapped(f"{text} x")) + "\n").isascii()


def test_prose_in_other_letters_becomes_plain():
    assert wrapped("5 \u00b5s \u2013 \u201cnaïve\u201d") == ['5 us - "naive"']


def test_prose_is_cut_at_the_end_of_a_sentence():
    one, two = "First " + "word " * 14 + "ends.", "Second " + "word " * 14 + "ends."
    assert cut_to(f"{one} {two}", 2) == (one, two)
    assert cut_to(f"{one} {two}", 4) == (f"{one} {two}", "")
    kept, rest = cut_to("word " * 200, 3)
    assert len(wrapped(kept)) <= 3 and kept.endswith("...") and rest
