# SPDX-License-Identifier: MIT
"""Rates by threads as a person types or pastes them: `1:35k,4:140k`, or lines of `threads,value`."""

import re

from lockscale.errors import BadInput, printable

LEAST, MOST = 1e-12, 1e15
"""Operations per second, as of a table's."""
_MULTIPLE = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_VALUE = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)([kmg]?)"
_SHORT = re.compile(rf"\s*(\d{{1,7}})\s*:\s*{_VALUE}(?:/s)?\s*", re.IGNORECASE | re.ASCII)
_LINE = re.compile(rf"\s*(\d{{1,7}})\s*[,;\t ]\s*{_VALUE}\s*", re.IGNORECASE | re.ASCII)
_HEAD = re.compile(r'\s*"?[A-Za-z][^,;\t:]*[,;\t]\s*"?[A-Za-z][^,;\t:]*')


def rates_of(text: str) -> dict[int, float]:
    """{threads: rate}, in the order of the text, with k, M, G or an exponent; BadInput names what is neither.

    Of a CSV the first line may be a head, and empty lines and lines that begin with `#` are passed over.
    """
    short = ":" in text
    if short:
        parts = [(f"{part.strip()!r}", part) for part in re.split(r"[,;\n]", text) if part.strip()]
    else:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        lines = [(number, line) for number, line in lines if not line.lstrip().startswith("#")]
        lines = lines[1:] if lines and _HEAD.fullmatch(lines[0][1]) else lines
        parts = [(f"line {number}, {line.strip()!r},", line) for number, line in lines]
    rates: dict[int, float] = {}
    for where, part in parts:
        found = (_SHORT if short else _LINE).fullmatch(part)
        form = "threads:rate, such as 4:140k" if short else "threads,rate, such as 4,140000"
        if found is None and short and re.fullmatch(r"\s*\d{3}\s*", part):
            raise BadInput(f"rates: {printable(where)} has no threads: write 140000 or 140k, not 140,000")
        if found is None:
            raise BadInput(f"rates: {printable(where)} is not of the form {form}")
        threads, rate = int(found[1]), float(found[2]) * _MULTIPLE[found[3].lower()]
        if threads in rates:
            raise BadInput(
                f"rates: the thread count {threads} appears twice: give one rate, or a table of repeats"
            )
        if not (threads and rate > 0):
            raise BadInput(f"rates: {printable(where)} needs threads and a rate above zero")
        if not LEAST <= rate <= MOST:
            raise BadInput(f"rates: {printable(where)} is no rate: give one from {LEAST:g} to {MOST:g}")
        rates[threads] = rate
    if not rates:
        raise BadInput("no rate given: write threads:rate,..., such as 1:35k,4:140k")
    return rates
