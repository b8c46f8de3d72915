# SPDX-License-Identifier: MIT
"""Text for a commit message: 75 columns of ASCII that git am takes unchanged, the rest below a line `---`."""

import re
import textwrap
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from lockscale.errors import RunFailed
from lockscale.kernels.mail import COLUMNS

CUT = ("---", "diff ", "Index:", "From ", "-- >8", "-- 8<", ">8", "8<")
"""Starts of lines at which git mailsplit or mailinfo takes the message to end, or a mail to begin."""
HUNK = "@@ -"
"""git apply takes such a line between `---` and the first diff for a patch without a head."""
HEADER = re.compile(r">?From |\[?(From|Date|Subject):", re.IGNORECASE)
"""The first line of a body, where mailinfo takes it for a header of the mail."""
END = "---\n"
"""git am drops what stands between this line and the first diff."""
PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u2018\u2019", "'"),
        **dict.fromkeys("\u201c\u201d", '"'),
        "\u00d7": "x",
        "\u00b5": "u",
        "\u03bc": "u",
        "\u00df": "ss",
        "\u2026": "...",
    }
)


class Paragraph(NamedTuple):
    """A paragraph of the text; one that is `fixed` keeps its columns and lines wherever it stands."""

    text: str
    fixed: bool = False


class Letter(NamedTuple):
    """What a commit message keeps, and `below` what a reader of the mail can look up."""

    message: list[Paragraph]
    below: list[Paragraph]


def as_text(letter: Letter) -> str:
    """Both parts with `---` between them, as they are pasted below the subject of a commit."""
    return message_of(letter) + END + below_of(letter)


def message_of(letter: Letter) -> str:
    return held(joined(letter.message))


def below_of(letter: Letter) -> str:
    return held(joined(letter.below))


def joined(blocks: Iterable[Paragraph]) -> str:
    """One below the other, an empty line between them."""
    parts = [one.text if one.fixed else "\n".join(wrapped(one.text)) for one in blocks]
    return "\n\n".join(parts) + "\n"


def held(text: str) -> str:
    """The same text, refused if a mail or git am would not carry it unchanged.

    git strips blanks at the end of lines and of the text, and all blank lines but one (git stripspace).
    Raises RunFailed with the number of the line.
    """
    lines = text.splitlines()
    if not text.endswith("\n") or not lines or not lines[0] or not lines[-1]:
        raise RunFailed("the changelog would not pass git am unchanged: it begins or ends in a blank line")
    for number, line in enumerate(lines, start=1):
        bad = len(line) > COLUMNS or not line.isascii() or not line.isprintable() or line != line.rstrip()
        twice = not line and not lines[number - 2]
        if bad or twice or line.startswith((*CUT, HUNK)) or (number == 1 and HEADER.match(line)):
            raise RunFailed(f"changelog line {number} would not pass git am unchanged: {line!r}")
    return text


def wrapped(text: str) -> list[str]:
    """`text` as lines of ASCII that `held` lets pass: one that a mail would cut at begins with a blank."""
    lines = textwrap.wrap(plain(text), COLUMNS - 1, break_on_hyphens=False)
    cut = [line.startswith((*CUT, HUNK)) or bool(HEADER.match(line)) for line in lines]
    return [f" {line}" if bad else line for line, bad in zip(lines, cut, strict=True)]


def plain(text: str) -> str:
    """ASCII that reads like `text`: dashes, quotes and accents become plain ones, the rest `?`."""
    decomposed = unicodedata.normalize("NFKD", text.translate(PLAIN))
    bare = "".join(one for one in decomposed if not unicodedata.combining(one))
    readable = "".join(one if one.isprintable() or one in "\t\n\r" else "?" for one in bare)
    return readable.encode("ascii", "replace").decode()


def begun(words: str) -> str:
    """As a sentence begins; the name of a function keeps its letters."""
    return words if "()" in words else words[:1].upper() + words[1:]


SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`_(])")


def cut_to(text: str, lines: int) -> tuple[str, str]:
    """As many whole sentences of `text` as fit into `lines`, and the rest; a first one too long is cut."""
    sentences = SENTENCE_END.split(text.strip())
    for kept in range(len(sentences), 0, -1):
        if len(wrapped(" ".join(sentences[:kept]))) <= lines:
            return " ".join(sentences[:kept]), " ".join(sentences[kept:])
    room = (COLUMNS - 1) * max(lines - 1, 1)  # ragged lines take less than their columns
    return textwrap.shorten(plain(sentences[0]), room, placeholder=" ..."), " ".join(sentences)
