# SPDX-License-Identifier: MIT
"""Units of rate that a table may state: a number, operations of some kind, and a time."""

import re
from dataclasses import dataclass

from lockscale.errors import printable

KNOWN = "ops/s, creates/s, kops/s, ops/min or MB/s"
_PREFIX = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_COUNT = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
TIME_S = {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
TIME_S |= {"ns": 1e-9, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}
_BYTES = {"B": 1.0, "byte": 1.0, "bytes": 1.0}
_BYTES |= {f"{k}{b}": factor for k, factor in _PREFIX.items() for b in ("B", "bytes")}
_BYTES |= {f"{k}iB": 1024.0**power for power, k in enumerate("KMG", start=1)}
_SAME = {"op": "ops", "operation": "ops", "operations": "ops", "io": "ops", "ios": "ops", "iops": "ops"}
_SAME |= {"req": "requests", "reqs": "requests", "tx": "transactions", "txn": "transactions"}
_SAME |= {"txns": "transactions", "query": "queries", "entry": "entries", "dir": "dirs"}
_WORDS = set(
    re.findall(
        r"\w+",
        """acquisitions adds allocations appends blocks calls changes closes commits creates creations deletes
    deletions dirs entries events faults files flushes frees fsyncs getattrs gets inodes insertions inserts
    items iterations jobs keys links locks lookups loops messages mkdirs mknods mounts moves msgs ops opens
    packets pages puts queries reads removals removes renames requests rmdirs searches setattrs stats
    symlinks syncs syscalls tasks threads transactions truncates unlinks unlocks updates utimes writes
    """,
    )
)
_NUMBER = r"1e\d{1,2}|10(?:\^|\*\*)\d{1,2}|10*"
_UNIT = re.compile(
    rf"(?:(?P<number>{_NUMBER})\s*)?(?:(?P<count>{'|'.join(_COUNT)})\b)?\s*(?P<what>[^\W\d][\w -]*?)?"
    r"\s*/\s*(?P<time>\w+)"
)
_MAYBE_PREFIX = "kKMGTPEmuµnp"


@dataclass(frozen=True)
class RateUnit:
    """`per_s`: how many of `name` are in one of the unit as written; kops/s are 1000 ops/s."""

    per_s: float
    name: str


def rate_unit(text: str) -> RateUnit:
    """What a unit means. Raises ValueError with what is wrong, as half a sentence."""
    if text in TIME_S:
        raise ValueError(f"'{text}' is a time: divide the operations by it and write {KNOWN}")
    if text == "%":
        raise ValueError(f"'%' is a share, not a rate: write rates in {KNOWN}")
    found = _UNIT.fullmatch(f"{text}/s" if text.casefold().endswith("iops") else text)
    if not found or found["time"] not in TIME_S:
        raise ValueError(f"'{printable(text)}' is not a known unit of a rate: write {KNOWN}")
    what = _operations(found["what"] or "")
    if what is None:
        raise ValueError(
            f"'{printable(text)}' could be a multiple of a rate or not a rate at all: write {KNOWN}"
        )
    many = _number(found["number"]) * _COUNT.get(found["count"], 1.0)
    return RateUnit(many * what.per_s / TIME_S[found["time"]], f"{what.name}/s")


def _number(text: str | None) -> float:
    """10^3, 10**3, 1e3 or 1000."""
    return float(re.sub(r"10(\^|\*\*)", "1e", text or "1"))


def _operations(text: str) -> RateUnit | None:
    """A known word, a prefix before one or alone, bytes, or another word that begins with no prefix."""
    if text in _BYTES:
        return RateUnit(_BYTES[text], "B")
    if (word := _word(text)) or not text:
        return RateUnit(1.0, word or "ops")
    rest = text[1:].strip(" -")
    if text[0] in _PREFIX and (not rest or _word(rest)):
        return RateUnit(_PREFIX[text[0]], _word(rest) or "ops")
    if text.startswith((*_MAYBE_PREFIX, *_COUNT)) or not text.isalpha() or text in TIME_S or len(text) > 40:
        return None
    return RateUnit(1.0, text.casefold())


def _word(text: str) -> str | None:
    """The plural of a known word, and `ops` for what is only another name of it."""
    word = text.casefold()
    word = _SAME.get(word, word)
    return next((known for known in (word, f"{word}s") if known in _WORDS), None)
