# SPDX-License-Identifier: MIT
"""The diffstat of a series as git prints it below a cover letter, from the patches alone.

git compares two trees, and no kernel source need be here. But the patches say all that differs: lines that
no hunk shows are the same before and after. So git gets two sparse trees, with the lines that hunks show in
their places. A line that one patch adds and a later one changes counts once, as in git's own letters. That
needs patches that were made one on top of the other; their `index` lines tell. Where a patch is of another
version of a file, as one that two bases share, its changes to it are added up, and the letter says so.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lockscale.errors import RunFailed
from lockscale.kernels.mail import COLUMNS
from lockscale.kernels.series import run_git
from lockscale.scratch import scratch_folder

WIDTH = 72  # MAIL_DEFAULT_WRAP of git, which format-patch gives its diffstat
NONE = (
    "No diffstat: the series renames or copies a file, or one of its files is no text or has a name that git "
    "quotes."
)
_SECTION = re.compile(r"^(?=diff --git )", re.MULTILINE)
_NAMES = re.compile(r"diff --git a/(.+) b/\1$", re.MULTILINE)
_INDEX = re.compile(r"^index ([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: (\d+))?$", re.MULTILINE)
_MODE = re.compile(r"^(new file|deleted file|old|new) mode (\d+)$", re.MULTILINE)
_NO_TEXT = re.compile(r"^(?:GIT binary patch|Binary files .* differ)$", re.MULTILINE)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


class _Hunk(NamedTuple):
    """start: how many lines of the file before are above it. lines: with blank, + or - before each."""

    start: int
    lines: list[str]

    @property
    def old(self) -> list[str]:
        return [line[1:] for line in self.lines if line[0] != "+"]


class _Change(NamedTuple):
    """What a patch does to a file: from which version of it to which one; empty where it does not say.

    modes: as git has them, empty where there is no file.
    """

    name: str
    blobs: tuple[str, str]
    modes: tuple[str, str]
    hunks: list[_Hunk]


@dataclass
class _Line:
    """One line of a file; None until a hunk shows it."""

    text: str | None = None


@dataclass
class _Stretch:
    """A file through patches that are one on top of the other."""

    before: list[_Line] = field(default_factory=list)
    after: list[_Line] = field(default_factory=list)
    blob: str | None = None

    def take(self, change: _Change) -> bool:
        """Whether the change is of this version of the file, and then it is made."""
        if self.blob is not None and not _is_same(self.blob, change.blobs[0]):
            return False
        reach = max((hunk.start + len(hunk.old) for hunk in change.hunks), default=0)
        unseen = [_Line() for _ in range(reach - len(self.after))]
        self.before += unseen
        self.after += unseen
        if not all(map(self._shows, change.hunks)):
            return False
        for hunk in reversed(change.hunks):  # so that the lines above keep their numbers
            self._make(hunk)
        self.blob = change.blobs[1]
        return True

    def _shows(self, hunk: _Hunk) -> bool:
        here = self.after[hunk.start : hunk.start + len(hunk.old)]
        return all(line.text in (None, said) for line, said in zip(here, hunk.old, strict=True))

    def _make(self, hunk: _Hunk) -> None:
        at, made = hunk.start, list[_Line]()
        for line in hunk.lines:
            if line[0] == "+":
                made.append(_Line(line[1:]))
                continue
            self.after[at].text = line[1:]
            made += [self.after[at]] if line[0] == " " else []
            at += 1
        self.after[hunk.start : at] = made


@dataclass
class _File:
    """was, will_be: the mode of what the series finds and of what it leaves; empty where there is no file."""

    was: str
    will_be: str = ""
    stretches: list[_Stretch] = field(default_factory=lambda: [_Stretch()])

    def take(self, change: _Change) -> None:
        if not self.stretches[-1].take(change):
            self.stretches.append(_Stretch())
            self.stretches[-1].take(change)
        self.will_be = change.modes[1]


def diffstat(mails: Sequence[bytes]) -> str:
    """Of all patches together, and what it does not know of them; empty where there is none."""
    files: dict[str, _File] = {}
    for mail in mails:
        for change in _changes(mail.decode(errors="surrogateescape")):
            if change is None:
                return "\n".join([*textwrap.wrap(NONE, COLUMNS), ""])
            files.setdefault(change.name, _File(was=change.modes[0])).take(change)
    if not files:
        return ""
    summed = [name for name, file in files.items() if len(file.stretches) > 1]
    note = (
        f"In {' and '.join(summed)} the changes of the patches are added up, as these were not made one on "
        "top of the other."
    )
    return _as_git_says(files) + ("\n".join(["", *textwrap.wrap(note, COLUMNS), ""]) if summed else "")


def _is_same(one: str, other: str) -> bool:
    """Whether two hashes, each cut somewhere, can be of one version; none is said where one is empty."""
    return bool(one and other) and (one.startswith(other) or other.startswith(one))


def _changes(mail: str) -> Iterator[_Change | None]:
    """What each file's part of the mail does; None for one without lines that can be counted."""
    for part in _SECTION.split(mail)[1:]:
        head, hunks = part.partition("\n@@ ")[0], _hunks(part)
        names, blobs = _NAMES.match(part), _INDEX.search(head)
        if not names or _NO_TEXT.search(head):
            yield None
            continue
        yield _Change(names[1], (blobs[1], blobs[2]) if blobs else ("", ""), _modes(head), hunks)


def _modes(head: str) -> tuple[str, str]:
    """Of the file before and after; a patch names one only where it makes, removes or changes it."""
    index = _INDEX.search(head)
    kept: str = (index[3] if index else None) or "100644"
    said: dict[str, str] = {"old": kept, "new": kept, **dict(_MODE.findall(head))}
    before = "" if "new file" in said else said.get("deleted file", said["old"])
    after = "" if "deleted file" in said else said.get("new file", said["new"])
    return before, after


def _hunks(part: str) -> list[_Hunk]:
    """By the counts in their heads, as the signature of a mail looks like a line that is taken out."""
    found, lines = list[_Hunk](), iter(part.split("\n"))
    for line in lines:
        if not (head := _HUNK.match(line)):
            continue
        old, new = (int(count or 1) for count in head.groups()[1:])
        found.append(_Hunk(int(head[1]) - bool(old), []))
        while (old > 0 or new > 0) and (row := next(lines, None)) is not None:
            if row.startswith("\\"):  # "\ No newline at end of file"
                continue
            row = row or " "  # an empty line of context, as some mailers leave it
            old -= row[0] != "+"
            new -= row[0] != "-"
            found[-1].lines.append(row)
    return found


def _as_git_says(files: dict[str, _File]) -> str:
    """git's own words, of two trees that have a number for each line: only which lines are alike counts."""
    numbers: dict[str, int] = {}

    def content(lines: list[_Line]) -> str:
        known = [
            id(line) if line.text is None else numbers.setdefault(line.text, len(numbers)) for line in lines
        ]
        return "".join(
            f"{'?' if line.text is None else '='}{n}\n" for n, line in zip(known, lines, strict=True)
        )

    trees = {
        "before": [(n, f.was, content(_all(f, "before"))) for n, f in files.items() if f.was],
        "after": [(n, f.will_be, content(_all(f, "after"))) for n, f in files.items() if f.will_be],
    }
    with scratch_folder("diffstat") as stage:
        run_git(["init", "-q", "--bare"], stage)
        done = run_git(["fast-import", "--quiet"], stage, "".join(_commit(*tree) for tree in trees.items()))
        if not done.returncode:
            done = run_git(["diff-tree", "-r", f"--stat={WIDTH}", "--summary", *trees], stage)
    if done.returncode:
        raise RunFailed(f"git cannot count the lines of the patches ({done.stderr.strip()[:200]})")
    return done.stdout


def _all(file: _File, side: str) -> list[_Line]:
    return [line for stretch in file.stretches for line in getattr(stretch, side)]


def _commit(branch: str, files: Sequence[tuple[str, str, str]]) -> str:
    said = f"commit refs/heads/{branch}\ncommitter lockscale <lockscale> 0 +0000\ndata 0\n"
    return said + "".join(f"M {mode} inline {name}\ndata {len(text)}\n{text}\n" for name, mode, text in files)
