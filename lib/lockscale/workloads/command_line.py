# SPDX-License-Identifier: MIT
"""The command line above a tool's output, for tools that do not say what they were asked to do."""

import re
import shlex
from collections.abc import Sequence

LOST_LINES = "nothing in the output says how many lines it should have: a lost one cannot be noticed"

_PROMPT = re.compile(r"(?:\[[^\]]*\] ?)?[#$] +(\S.*)")
_SHOW = r"""printf '%s\n' "$1"; shift; exec "$@" """.strip()


def shown(argv: Sequence[str]) -> list[str]:
    """The command that prints `$ argv`, as a shell would have shown it, and then becomes `argv`."""
    return ["sh", "-c", _SHOW, "sh", f"$ {shlex.join(argv)}", *argv]


def after_prompt(line: str) -> list[str] | None:
    """The words after a shell's prompt (`$`, `#`, `[root@mds ~]#`); None when there is no command."""
    found = _PROMPT.fullmatch(line.strip())
    if found is None:
        return None
    try:
        return shlex.split(found[1])
    except ValueError:
        return None


def whole(text: str | None, most: int = 10**9) -> int | None:
    """The non-negative number that `text` is, up to `most`; None for anything else."""
    if text is None or not re.fullmatch(r"[0-9]{1,10}", text) or int(text) > most:
        return None
    return int(text)
