# SPDX-License-Identifier: MIT
"""What a file says, cut to what a sentence can carry."""

MOST = 80


def printable(text: object, most: int = MOST) -> str:
    """At most `most` characters, all of them printable."""
    start = str(text)[: most + 1]
    shown = "".join(one if one.isprintable() else "?" for one in start)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."
