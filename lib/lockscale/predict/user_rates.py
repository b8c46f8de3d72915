# SPDX-License-Identifier: MIT
"""A user's rates and profile of the unpatched side, as people have them.

Rates by threads are typed, `1:35k,4:140k`, or are in a CSV file of `threads,value`.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lockscale.errors import BadInput, printable
from lockscale.fitting.column import Column, looks_swapped
from lockscale.fitting.user_table import read_columns
from lockscale.queueing.model import LARGEST, FloatArray
from lockscale.queueing.points import SMALLEST
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.registry import file_name, profile_of, text_of

EXAMPLE = "-r 1:35k,4:140k"
MOST_APART = 1.5  # times, of repeats of one measurement; a quiet machine's are some per cent apart
_MULTIPLE = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_RATE = re.compile(
    r"\s*(\d{1,7})\s*:\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?)([kmg]?)(?:/s)?\s*", re.IGNORECASE | re.ASCII
)


def rates_of(text: str) -> dict[int, float]:
    """{threads: rate}, in the order of the text, with k, M, G or an exponent; BadInput names what is none."""
    rates: dict[int, float] = {}
    for part in filter(str.strip, re.split(r"[,;\n]", text)):
        found, shown = _RATE.fullmatch(part), printable(repr(part.strip()))
        if found is None and re.fullmatch(r"\s*\d{3}\s*", part):
            raise BadInput(f"rates: {shown} has no threads: write 140000 or 140k, not 140,000")
        if found is None:
            raise BadInput(f"rates: {shown} is not of the form threads:rate, such as 4:140k")
        threads, rate = int(found[1]), float(found[2]) * _MULTIPLE[found[3].lower()]
        if threads in rates:
            raise BadInput(
                f"rates: the thread count {threads} appears twice: give one rate, or a table of repeats"
            )
        if not (threads and rate > 0):
            raise BadInput(f"rates: {shown} needs threads and a rate above zero")
        if not SMALLEST <= rate <= LARGEST:
            raise BadInput(f"rates: {shown} is no rate: give one from {SMALLEST:g} to {LARGEST:g}")
        rates[threads] = rate
    if not rates:
        raise BadInput("no rate given: write threads:rate,..., such as 1:35k,4:140k")
    return rates


def read_rates(text: str) -> tuple[dict[int, float], str]:
    """Operations/s by threads, from `1:35k,4:140k` or a CSV file with threads,value.

    Of a file's repeats the geometric mean, each as often as its `runs` say, and whether some are too far
    apart. Raises BadInput.
    """
    if _is_typed(text):
        return rates_of(text), ""
    column = rate_curve(text)
    rows = {int(n): column.threads == n for n in sorted({*column.threads})}
    repeats = {n: column.rates_per_s[here] for n, here in rows.items()}
    runs = {n: None if column.runs is None else column.runs[here] for n, here in rows.items()}
    means = {n: float(np.exp(np.average(np.log(one), weights=runs[n]))) for n, one in repeats.items()}
    return means, _apart(repeats)


def _apart(repeats: Mapping[int, FloatArray]) -> str:
    """That repeats with as many threads are too far apart to be of one load; empty where none are."""
    apart = {n: (float(one.min()), float(one.max())) for n, one in repeats.items()}
    n, (low, high) = max(apart.items(), key=lambda one: one[1][1] / one[1][0])
    if high <= MOST_APART * low:
        return ""
    return (
        f"repeats with {n} threads are {high / low:.1f} times apart ({low:g} to {high:g}): their geometric "
        f"mean is used; are they of one load?"
    )


def rate_curve(text: str) -> Column:
    """The same with every repeat. Raises BadInput, also where a file has several curves."""
    if _is_typed(text):
        typed = rates_of(text)
        threads, rates_per_s = np.array([*typed], dtype=float), np.array([*typed.values()])
        return Column("command line", "rates", threads, rates_per_s, None, "", "not stated")
    if not _is_file(text):
        what = (
            "a folder, not a file"
            if _is_file(text, folder=True)
            else f"neither a file nor of the form {EXAMPLE}"
        )
        raise BadInput(f"rates {printable(text)}: {what}")
    found = read_columns(Path(text))
    if len(found) != 1:
        names = ", ".join(one.name for one in found)
        raise BadInput(f"{text} has {len(found)} curves ({names}): give only the unpatched kernel's")
    if odd := looks_swapped(found[0]):
        raise BadInput(odd)
    return found[0]


def _is_typed(text: str) -> bool:
    return ":" in text and not _is_file(text)


def _is_file(text: str, *, folder: bool = False) -> bool:
    """Or a folder. A list of many rates is longer than a file name may be."""
    try:
        return Path(text).is_dir() if folder else Path(text).is_file()
    except OSError:
        return False


def read_profile(path: Path, table: str | None = None, tool: str | None = None) -> LockProfile:
    """The profile in the file; of several that of `table`, a number from 1 or a title.

    tool: that printed it, where the file does not show this or holds output of others too.
    """
    try:
        return profile_of(text_of(path), table, tool)
    except BadInput as said:
        raise BadInput(f"{file_name(path)}: {said}") from None
