# SPDX-License-Identifier: MIT
"""The two ways a command can end badly; the message is always one sentence for a person.

Text that others wrote is cut and made printable before it stands in such a sentence.
"""

import difflib
import re
from collections.abc import Iterable

MOST_PRINTABLE = 80
_RARE = re.compile(r"[^\n\t -~]")


class _Sentence(Exception):
    def _render_traceback_(self) -> list[str]:
        """What IPython shows below a notebook's cell: the sentence, as the command line does."""
        return [str(self)]


class BadInput(_Sentence):
    """A file, flag, name, series or tool output that cannot be used: exit status 2.

    The message says what is wrong, where, and what to do.
    """


class FullDisk(BadInput):
    """A disk took no more; with room again what was begun can go on."""


class InUse(BadInput):
    """Somebody else holds the lock on it; once that is free, what was begun can go on."""


class RunFailed(_Sentence):
    """The work was done as asked and found a failure (a guest panicked, a check is red): exit 1."""


class Interrupted(RunFailed):
    """Somebody ended it; the message says how it goes on: exit 130, as a shell reports SIGINT."""


class BootHung(RunFailed):
    """A guest did not come up in time, and its console says nothing of a panic."""


def printable(text: object, most: int = MOST_PRINTABLE) -> str:
    """At most `most` characters, all of them printable."""
    start = str(text)[: most + 1]
    shown = "".join(one if one.isprintable() else "?" for one in start)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def printable_lines(text: str) -> str:
    """The whole text, in which nothing but the ends of its lines and tabs steers what shows it."""
    return _RARE.sub(lambda found: found[0] if found[0].isprintable() else "?", text)


def near(name: str, known: Iterable[str]) -> str:
    """The known name that was meant, or all of them, as the end of a sentence."""
    names = sorted(known)
    found = difflib.get_close_matches(name, names, n=1)
    return f": did you mean {found[0]}?" if found else f" (known: {', '.join(names) or 'none'})"
