# SPDX-License-Identifier: MIT
"""Reading a small file of the kernel by the format string that the kernel prints it with.

Such a file has a handful of lines, each always there: it matches as a whole, or it was cut, changed, or
is of another kernel.
"""

import re
from dataclasses import dataclass
from functools import cached_property

_FIELD = re.compile(r"\\\{(\w+):(u|d|lu|llu|ld|lld)(?:\\ (\w+))?(?:\\ (mean|max))?\\\}")
# No machine counts so far in its life; a printed number beyond it was damaged.
_MOST = 10**14
_BITS = {"u": 32, "d": 31, "lu": 64, "llu": 64, "ld": 63, "lld": 63}


@dataclass(frozen=True)
class Value:
    """One number: `total` since the file system was mounted, a `mean` or a `max` over that time."""

    name: str
    value: int
    unit: str
    statistic: str


@dataclass(frozen=True)
class Format:
    """The kernel's format, its conversions as {name:lu unit statistic}; `[[` and `]]` hold what may lack.

    The unit is `count` and the statistic `total` where none is said; {_...} is a number that counts nothing.
    """

    text: str

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pattern = _FIELD.sub(r"(?P<\1>\\d{1,20})", re.escape(self.text))
        return re.compile(pattern.replace(r"\[\[", "(?:").replace(r"\]\]", ")?"), re.ASCII)

    def read(self, text: str) -> list[Value] | None:
        """The numbers in the order of the format; None where the text is not of it."""
        found = self._pattern.fullmatch(text)
        if found is None:
            return None
        values = []
        for name, kind, unit, statistic in _FIELD.findall(re.escape(self.text)):
            printed = found[name]
            if printed is not None and int(printed) >= min(2 ** _BITS[kind], _MOST):
                return None
            if printed is not None and not name.startswith("_"):
                values.append(Value(name, int(printed), unit or "count", statistic or "total"))
        return values
