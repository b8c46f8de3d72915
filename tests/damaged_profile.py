# SPDX-License-Identifier: MIT
"""What every reader of a profile must survive: under a seal any damage shows, else it is warned of."""

import functools
import re
from dataclasses import dataclass

from hypothesis import strategies as st

from damaged_output import WRONG_NUMBERS, with_line_changed
from lockscale.errors import BadInput
from lockscale.tools.parsing import parse
from lockscale.tools.seal import UNSEALED, seal

WRONG = [*WRONG_NUMBERS, "9" * 15, "9" * 15 + ".000000", "0x10", "1_0", "٣", "NaN", "Infinity", "1e3"]
# a number that stands alone: digits in the name of a function or of a thread are none
CELL = re.compile(r"(?:(?<![\w.+#:^/])|(?<=\w:))\d+(?:\.\d+)?(?![\w.:/^])")


def _values(rows):
    found = {}
    for row in rows:
        found.setdefault((row.threads, row.iteration, row.metric, row.unit, row.statistic), set()).add(
            row.value
        )
    return found


@dataclass
class Sample:
    """One output. `sums`: rows are sums over its lines, so a line less is another number."""

    text: str
    sums: bool = False

    def __post_init__(self):
        self.rows = set(parse(self.text).rows)
        self.values = _values(self.rows)

    def check(self, damaged):
        """Without a seal: a warning, and no number that the whole output has not; or one sentence."""
        parsed = self.read(damaged)
        if parsed is None:
            return
        assert parsed.warnings
        if not self.sums:
            for key, values in _values(parsed.rows).items():
                assert values <= self.values.get(key, set())

    def check_sealed(self, damaged):
        """With its seal: the same rows, or a warning that there is none, or one sentence."""
        parsed = self.read(damaged)
        assert parsed is None or set(parsed.rows) == self.rows or UNSEALED in parsed.warnings

    @staticmethod
    def read(damaged):
        try:
            return parse(damaged)
        except BadInput as error:
            assert str(error) and "\n" not in str(error)
            return None

    @functools.cached_property
    def sealed(self):
        return seal(self.text)


@functools.cache
def _cells(text):
    return [cell.span() for cell in CELL.finditer(text)]


# which change, where, and what a number becomes
DAMAGE = st.tuples(
    st.sampled_from(["drop", "repeat", "swap", "number", "number", "number"]),
    st.integers(0, 10**6),
    st.sampled_from(WRONG),
)


def damaged(text, damage):
    """`text` with a line dropped, repeated or swapped with the next, or a number changed."""
    change, at, wrong = damage
    if change == "number":
        cells = _cells(text)
        start, end = cells[at % len(cells)]
        return text[:start] + wrong + text[end:]
    return with_line_changed(text, at, change)
