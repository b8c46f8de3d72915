# SPDX-License-Identifier: MIT
"""What a text is that no reader reads: several outputs in one file, or a form that was not asked for."""

import re
from collections.abc import Callable, Mapping

# Lines that may begin an output whose reader looks at the beginning of a text only.
_MAY_BEGIN = re.compile(
    r"^(?:lock_stat version |event \w|==> /|mballoc:|#group: |fc stats:|\d+ transactions \(|stats:|"
    r'[ \t]*\{"tool":| {2}Function +Hit|rank,items,|(?:.*/)?(?:lock|rwsem|pv)_[a-z_0-9]+:\d|'
    r" *\S.{0,60} \d+\.\d{6,9}: )",
    re.MULTILINE,
)
_LONGEST_HEAD = 400
_JSON = "use --output-format=json"
_FORMS = [
    (r"\A\s*\Z", "the text is empty: did the tool print to standard error (2>&1)?"),
    (r"\0", "the text has zero bytes, as in UTF-16: convert it with iconv -f UTF-16 -t UTF-8"),
    (r"^ Performance counter stats for ", "this is perf stat's table for people: count with -j"),
    (
        r'^(?:\{"interval" :| +\d+\.\d{9}[,; ])',
        "perf stat's counts of intervals are not read: count without -I",
    ),
    (
        r"^[\d.]+([^\s\w,.])[A-Za-z/%]*\1[A-Za-z][\w:/-]*\1\d+\1\d+\.\d\d",
        "these are perf stat's counts with another separator than a comma: count with -x, or -j",
    ),
    (r"^\d;fio-\d", f"this is fio's terse output: {_JSON}"),
    (r"^(?:fio-\d\.\d+\S*$|\S.*: \(g=\d+\): rw=)", f"this is fio's output for people: {_JSON}"),
]


def begun_within(text: str, recognisers: Mapping[str, Callable[[str], bool]]) -> set[str]:
    """The tools whose output begins at some line of `text`, where that line may begin one."""
    heads = (text[found.start() : found.start() + _LONGEST_HEAD] for found in _MAY_BEGIN.finditer(text))
    return {name for head in heads for name, recognises in recognisers.items() if recognises(head)}


def what_to_do(text: str) -> str | None:
    """One sentence for a form of a known tool's output that is not read; None where it is none."""
    return next((said for form, said in _FORMS if re.search(form, text, re.MULTILINE)), None)
