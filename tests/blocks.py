# SPDX-License-Identifier: MIT
"""The code blocks of a markdown text, with the comment that may stand right before each."""

import re
from typing import NamedTuple

BLOCK = re.compile(r"(?m)^(?:<!-- (?P<mark>[^\n]*) -->\n)?```(?P<kind>\w*)\n(?P<text>(?s:.*?))^```$")


class Block(NamedTuple):
    """`kind`: the word after the fence. `mark`: the comment, else empty."""

    kind: str
    mark: str
    text: str

    @property
    def commands(self) -> list[str]:
        """One a line; a line that ends in a backslash goes on in the next."""
        return self.text.replace("\\\n", "").splitlines()


def blocks(text: str) -> list[Block]:
    """Every fenced block in order."""
    return [Block(found["kind"], found["mark"] or "", found["text"]) for found in BLOCK.finditer(text)]
