# SPDX-License-Identifier: MIT
"""An arm's cover.md as the text of a mail: no markup but what reads as text, and lines that a list takes."""

import re
import textwrap
from collections.abc import Iterator

from lockscale.kernels.mail import COLUMNS

_COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)
_ELSEWHERE = re.compile(r"\s\((?:see|table in)\s+\.\./[^)]*\)")  # a file that no reader of a mail has
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_ITEM = re.compile(r"( *)(- |\d+\. )")
_RULE = re.compile(r"\|[-:| ]+\|")
_HELD_BACK = re.compile(r"^- Not to be sent yet: (.+(?:\n  .+)*)\n", re.MULTILINE)


def held_back(cover: str) -> tuple[str, str]:
    """Why the series is not for a list yet, as an item of the cover says it, and the cover without that item.

    The first is empty where no item does. A letter says it before all else.
    """
    found = _HELD_BACK.search(cover)
    why = " ".join(_LINK.sub(r"\1", found[1]).split()) if found else ""
    return why, _HELD_BACK.sub("", cover)


def as_mail(cover: str) -> str:
    """Paragraphs and list items wrapped at COLUMNS, tables with their columns aligned; links by their text.

    The first heading, which names the arm, and comments are left out.
    """
    text = _LINK.sub(r"\1", _ELSEWHERE.sub("", _COMMENT.sub("", cover))).replace("**", "")
    return "\n".join(line for block in _blocks(text) for line in _in_columns(block)).strip("\n") + "\n"


def _blocks(text: str) -> Iterator[list[str]]:
    """Runs of lines that belong together: a paragraph, one item of a list, a table, or an empty line."""
    block: list[str] = []
    lines = text.strip().splitlines()
    for line in lines[1:] if lines and lines[0].startswith("# ") else lines:
        if block and (not line.strip() or _ITEM.match(line) or _is_table(line) != _is_table(block[0])):
            yield block
            block = []
        if line.strip():
            block.append(line)
        else:
            yield [""]
    if block:
        yield block


def _is_table(line: str) -> bool:
    return line.lstrip().startswith("|")


def _in_columns(block: list[str]) -> list[str]:
    first = block[0]
    if not first:
        return [""]
    if _is_table(first):
        return _table(block)
    item = _ITEM.match(first)
    start = item[0] if item else ""
    words = " ".join(line.strip() for line in block).removeprefix(start.strip()).strip()
    if first.startswith("#"):
        words = words.lstrip("# ") + ":"
    return textwrap.wrap(
        words,
        COLUMNS,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table(block: list[str]) -> list[str]:
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in block
        if not _RULE.fullmatch(line.strip())
    ]
    columns = max(map(len, rows))
    filled = [row + [""] * (columns - len(row)) for row in rows]
    widths = [max(len(row[at]) for row in filled) for at in range(columns)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in filled
    ]
