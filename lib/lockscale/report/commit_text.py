# SPDX-License-Identifier: MIT
"""Which text a mail, git am and checkpatch leave as it is inside a commit message."""

import re

from lockscale.errors import RunFailed

COLUMNS = 75
"""scripts/checkpatch.pl: "Prefer a maximum 75 chars per line"."""
CUT = ("---", "diff", "Index:", "From ", "-- >8", "-- 8<", ">8", "8<")
"""Starts of lines at which git mailsplit or mailinfo takes the message to end, or a mail to begin."""
HEADER = re.compile(r">?From |\[?(From|Date|Subject):", re.IGNORECASE)
"""The first line of a body, where mailinfo takes it for a header of the mail."""


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
        if bad or twice or line.startswith(CUT) or (number == 1 and HEADER.match(line)):
            raise RunFailed(f"changelog line {number} would not pass git am unchanged: {line!r}")
    return text
