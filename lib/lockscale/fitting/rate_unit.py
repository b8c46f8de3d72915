# SPDX-License-Identifier: MIT
"""Units of rate that a table may state."""

import re

_PREFIX = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_TIME_S = {"s": 1.0, "sec": 1.0, "second": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_TIME_S |= {"min": 60.0, "h": 3600.0}
_RATE = re.compile(r"(?P<prefix>[kKMG]?)(?P<what>ops?|IOPS|iops)(/(?P<time>\w+))?|[^/]+/(?P<other>\w+)")
KNOWN = "ops/s, creates/s, kops/s or ops/min"


def per_s(unit: str) -> float:
    """Operations per second in one `unit`. Raises ValueError with what is wrong, as half a sentence."""
    found = _RATE.fullmatch(unit)
    time = (found["time"] or found["other"]) if found else None
    if found and found["what"] in ("IOPS", "iops") and time is None:
        return _PREFIX[found["prefix"]]
    if found and time in _TIME_S:
        return _PREFIX[found["prefix"] or ""] / _TIME_S[str(time)]
    if unit in _TIME_S:
        raise ValueError(f"'{unit}' is a time: divide the operations by it and write {KNOWN}")
    if unit == "%":
        raise ValueError(f"'%' is a share, not a rate: write rates in {KNOWN}")
    raise ValueError(f"'{unit}' is no rate that is known: write {KNOWN}")
