# SPDX-License-Identifier: MIT
"""Lines of a mail: without the marks of quoting, and with what the transport wrote in its place put back.

Of what a terminal showed, without its colours: perf report has them in its larger percentages alone.

Every line keeps the number it has in the text, so that a message can name it.
"""

import quopri
import re
from functools import lru_cache
from typing import NamedTuple

from lockscale.tools.seal import unsealed

_QUOTE = re.compile(r"(?:[ \t]?>)+ ?")
_BEGINS_QUOTED = re.compile(r"\s*>")
_QUOTED_PRINTABLE = re.compile(r"^Content-Transfer-Encoding: *quoted-printable", re.IGNORECASE | re.MULTILINE)
_COLOUR = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\(B)")
_INTERRUPT = "^C"  # the key that ended the tool, as a terminal shows it before what is printed then
_SPACES = str.maketrans({"\xa0": " ", "\u2007": " ", "\u202f": " ", "\r": ""})


class TextLine(NamedTuple):
    """number: in the text, from 1. text: without quoting; tabs are spaces."""

    number: int
    text: str


def lines_of(text: str, *, strip: bool = True) -> list[TextLine]:
    """The lines of a mail, or of anything else; of `> > 1.5%` it is `1.5%` that is read.

    strip: without the spaces at their ends.
    """
    return list(_lines_of(text, strip))


@lru_cache(maxsize=2)  # each tool looks at a text to recognise it, and then its body is read
def _lines_of(text: str, strip: bool) -> tuple[TextLine, ...]:
    if _QUOTED_PRINTABLE.search(text):
        text = quopri.decodestring(text.encode(errors="replace")).decode(errors="replace")
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        plain = line.translate(_SPACES)
        plain = _QUOTE.sub("", plain, count=1) if _QUOTE.match(plain) else plain.removeprefix(_INTERRUPT)
        found.append(TextLine(number, plain.expandtabs().rstrip() if strip else plain.expandtabs()))
    return tuple(found)


def unquoted(text: str) -> str:
    """A text without colours, and one all of which is quoted without the marks; some readers take each
    character for the tool's."""
    text = _COLOUR.sub("", text) if "\x1b" in text else text
    if not _BEGINS_QUOTED.match(text):  # texts may be large
        return text
    lines = text.split("\n")
    if not all(_QUOTE.match(line) for line in lines if line.strip()):
        return text
    return "\n".join(_QUOTE.sub("", line, count=1) for line in lines)


def whole_lines(text: str) -> tuple[list[TextLine], list[str]]:
    """The lines that end, and warnings: of a last one that does not, and where no seal says that it is whole.

    A name or number in a line without its end may be cut. BadInput where the seal is another text's.
    """
    body, warnings = unsealed(text)
    lines = lines_of(body)
    last = lines.pop()
    cut = f"line {last.number} is left out: it is the last one and has no newline, so it may be cut off"
    return lines or [TextLine(1, "")], [cut, *warnings] if last.text else warnings
