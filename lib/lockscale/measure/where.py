# SPDX-License-Identifier: MIT
"""In words where rows were measured, and whether their rates are a benchmark there."""

from typing import Any

import pandas as pd

from lockscale.errors import BadInput, printable

WORDS = {
    "qemu": "in QEMU",
    "virtual": "in virtual time",
    "vm": "in a virtual machine",
    "hardware": "on hardware",
}
ORIGINS = {
    "published": "published",
    "simulated": "simulated",
    **{origin: f"measured {words}" for origin, words in WORDS.items()},
}


def in_words(origin: str) -> str:
    """A table's `origin`, also one that only its author knows."""
    return "origin not stated" if origin in ("", "not stated") else ORIGINS.get(origin, printable(origin))


def where(provenance: dict[str, Any]) -> str:
    """For instance "in QEMU (tcg)": what stands after "measured"."""
    accel = provenance.get("accel")
    return WORDS[provenance["origin"]] + (f" ({accel})" if accel else "")


def is_benchmark(origin: str) -> bool:
    """Rates are one on hardware, and in virtual time, where no host stops a CPU in a queue of waiters."""
    return origin in ("hardware", "virtual")


def origin_of(rows: pd.DataFrame) -> str:
    """The one origin of `rows`. Raises BadInput where there are several: they are never compared."""
    found = sorted(rows.origin.unique())
    if len(found) != 1:
        raise BadInput(f"the rows are of origin {' and '.join(found) or 'none'}: compare those of one alone")
    return str(found[0])
