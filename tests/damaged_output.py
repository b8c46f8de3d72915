# SPDX-License-Identifier: MIT
"""What every reader of a tool's output must survive: lines lost, repeated or of another output, and a cut.

Damaged text gives the same numbers, fewer with a warning, or one sentence. A digit that changed in a text
without a seal is no such damage: nothing is claimed of it. Under a seal any change shows.
"""

import functools
import math
import re

from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools.registry import parse
from lockscale.tools.seal import UNSEALED, seal


def read(text, tool=None):
    """Rows and warnings; None where the reader refuses the text with one sentence."""
    try:
        return parse(text, tool)
    except BadInput as error:
        assert str(error) and "\n" not in str(error)
        return None


def cuts(text, step):
    """Where a text is cut: at every byte, or at every so many and at the end of each line."""
    return sorted({*range(0, len(text), step), *(found.end() for found in re.finditer("\n", text[:-1]))})


def _key(row):
    return (row.test, row.threads, row.iteration, row.metric, row.unit, row.statistic, row.arm)


class Output:
    """One output of a load generator, or a published table; its rows are right in `others` too.

    others: the same output without its command line or its prose, which says less.
    tool: whose it is, where the damage is not to be recognised again each time.
    """

    def __init__(self, text, *others, tool=None):
        self.text, self.tool = text, tool
        self.count = len(parse(text, tool).rows)
        self.values = {}
        self.allow(text, *others)

    def allow(self, *texts):
        """Rows of these texts are right too."""
        for row in (row for text in texts for row in parse(text, self.tool).rows):
            self.values.setdefault(_key(row), []).append(row.value)

    def check_mixed(self, damaged):
        """Among lines of another output a row may say less, and each number is one of its arm and unit."""
        parsed = read(damaged)
        if parsed is None:
            return
        for row in parsed.rows:
            assert any(
                row.value in values and (row.arm, row.unit) in ((arm, unit), (arm, "not stated"))
                for (*_, unit, _, arm), values in self.values.items()
            ), row
        assert len(parsed.rows) >= self.count or parsed.warnings

    def check(self, damaged):
        parsed = read(damaged, self.tool)
        if parsed is None:
            return
        for row in parsed.rows:
            assert any(
                math.isclose(row.value, value, rel_tol=1e-9, abs_tol=2e-3)
                for value in self.values.get(_key(row), ())
            ), row
        assert len(parsed.rows) >= self.count or parsed.warnings

    def truncated_everywhere(self, step=1):
        for end in cuts(self.text, step):
            self.check(self.text[:end])


class Profile:
    """One output of a profiler. sums: rows are sums over its lines, so a line less is another number."""

    def __init__(self, text, *, sums=False):
        self.text, self.sums = text, sums
        self.rows = set(parse(text).rows)
        self.numbers = {(row.metric, row.unit, row.statistic, row.value) for row in self.rows}

    def allow(self, *texts):
        """Numbers of these texts are right too."""
        for row in (row for text in texts for row in parse(text).rows):
            self.numbers.add((row.metric, row.unit, row.statistic, row.value))

    def check(self, damaged):
        """Without a seal: always a warning, and no number that the whole output has not."""
        parsed = read(damaged)
        if parsed is None:
            return
        assert parsed.warnings
        if not self.sums:
            assert {(row.metric, row.unit, row.statistic, row.value) for row in parsed.rows} <= self.numbers

    check_mixed = check

    def check_sealed(self, damaged):
        """With its seal: the same rows, or a warning that there is none, or one sentence."""
        parsed = read(damaged)
        assert parsed is None or set(parsed.rows) == self.rows or UNSEALED in parsed.warnings

    @functools.cached_property
    def sealed(self):
        return seal(self.text)

    def truncated_everywhere(self, step=1):
        for end in cuts(self.text, step):
            self.check(self.text[:end])
        for end in range(len(self.sealed) - 90, len(self.sealed)):
            self.check_sealed(self.sealed[:end])


@st.composite
def lost_or_repeated(draw, text):
    """`text` with some lines that follow each other lost, or there twice."""
    lines = text.split("\n")
    at = draw(st.integers(0, max(0, len(lines) - 2)))
    end = at + draw(st.integers(1, 3))
    kept = draw(st.sampled_from([[], lines[at:end] * 2]))
    return "\n".join([*lines[:at], *kept, *lines[end:]])


@st.composite
def interleaved(draw, text, other):
    """The lines of two outputs in one text, each in its order, as two programs write to one file."""
    own, theirs = iter(text.split("\n")), iter(other.split("\n"))
    count = text.count("\n") + other.count("\n") + 2
    turns = draw(st.lists(st.booleans(), max_size=count))
    mixed = [next(own if turn else theirs, None) for turn in turns]
    return "\n".join(line for line in [*mixed, *own, *theirs] if line is not None)


@st.composite
def changed(draw, text):
    """`text` with one character another one."""
    at = draw(st.integers(0, len(text) - 1))
    return text[:at] + draw(st.sampled_from("0123456789.- \nx")) + text[at + 1 :]
