# SPDX-License-Identifier: MIT
"""What a file says, cut to what a sentence can carry."""

MOST = 80


def printable(text: object) -> str:
    """At most MOST characters, all of them printable."""
    start = str(text)[: MOST + 1]
    shown = "".join(one if one.isprintable() else "?" for one in start)
    return shown if len(shown) <= MOST else f"{shown[: MOST - 3]}..."
