# SPDX-License-Identifier: MIT
"""What every parser of a tool's output must survive."""

import math
import re

from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools.parsing import parse

WRONG_NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "*",
    "-",
    "",
    "-1",
    "9" * 15 + ".000",
    "9" * 400,
    "1e999",
    "1.234,567",
    "12,5",
]
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _key(row):
    return (row.test, row.threads, row.iteration, row.metric, row.unit, row.statistic, row.arm)


class Survives:
    """Damaged text gives the same rows, fewer rows with a warning, or BadInput: nothing else.

    `unsaid`: the same output without its command line or its prose. Its rows say less and are right too.
    `tool`: whose output it is, where the damage is not to be recognised again each time.
    """

    def __init__(self, text, *unsaid, tool=None):
        self.text = text
        self.tool = tool
        whole = parse(text, tool)
        self.count = len(whole.rows)
        self.alone = {warning for warning in whole.warnings if "confirms" in warning}
        self.rows = {_key(row): row.value for one in (*unsaid, text) for row in parse(one, tool).rows}

    def check(self, damaged):
        try:
            parsed = parse(damaged, self.tool)
        except BadInput as error:
            assert str(error) and "\n" not in str(error)
            return
        for row in parsed.rows:
            assert _key(row) in self.rows
            assert math.isclose(row.value, self.rows[_key(row)], rel_tol=1e-9, abs_tol=2e-3)
        assert len(parsed.rows) == self.count or set(parsed.warnings) - self.alone

    def truncated_everywhere(self):
        for end in range(len(self.text)):
            self.check(self.text[:end])


def with_line_changed(text, at, change):
    """`text` with its line `at` dropped, repeated, or swapped with the next; the last one is never `at`."""
    lines = text.split("\n")
    at %= len(lines) - 1
    if change == "drop":
        del lines[at]
    elif change == "repeat":
        lines.insert(at, lines[at])
    else:
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return "\n".join(lines)


@st.composite
def changed_lines(draw, text):
    """`text` with one line dropped, repeated, or swapped with the next."""
    at = draw(st.integers(0, text.count("\n") - 1))
    return with_line_changed(text, at, draw(st.sampled_from(["drop", "repeat", "swap"])))


@st.composite
def _changed_number(draw, text, names):
    spans = [found.span() for found in re.finditer(names, text, re.MULTILINE)] if names else []
    numbers = [n for n in NUMBER.finditer(text) if not any(a <= n.start() < b for a, b in spans)]
    match = draw(st.sampled_from(numbers))
    return text[: match.start()] + draw(st.sampled_from(WRONG_NUMBERS)) + text[match.end() :]


def damaged(text, names=""):
    """A hypothesis strategy of `text` with one line or one number changed.

    `names`: a pattern of what is a name and no number, as that of a processor: no output checks those.
    """
    return st.one_of(changed_lines(text), _changed_number(text, names))
