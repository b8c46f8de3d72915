# SPDX-License-Identifier: MIT
"""Numbers as a person reads them."""


def short(number: float | None, digits: int = 4) -> str:
    """`digits` that count, without an exponent where there is room; `open` where there is no number."""
    if number is None:
        return "open"
    text = f"{number:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and number < 1e9 else text
