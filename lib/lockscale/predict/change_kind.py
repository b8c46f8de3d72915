# SPDX-License-Identifier: MIT
"""What a patch does about a lock, as kinds that published patches fall into, and the kind of a text.

What is left of the waiting decides how much of a promise can arrive: with another algorithm the lock stays
as long as it was, with fewer or shorter holds it stays shorter, and split or lockless it is gone, which
leaves whatever is next.
"""

import re
from dataclasses import dataclass

KEPT, LESS, GONE = "kept", "less", "gone"
LEFT = (KEPT, LESS, GONE)
"""What is left of the lock."""


@dataclass(frozen=True)
class ChangeKind:
    """One kind: its word, what is left of the lock, what it means, and by what words a text says it."""

    name: str
    left: str
    meaning: str
    words: str


# In this order a text is asked; what it says before a parenthesis or a dash comes first.
KINDS = (
    ChangeKind(
        "algorithm",
        KEPT,
        "the same lock with another algorithm for waiting or handing over",
        r"algorithm|different lock\b|\bnuma|back-?off|spinning|\bcna\b|\bmcs\b|\bosq\b|q?spinlock ->|"
        r"-> (\S+ )?\S*(rwsem|rwlock|mutex|spin ?lock|qspinlock)|\bs?rcu( [a-z]+)? -> |\bfair|"
        r"hand-?(off|over)|adaptive|instead of spin|sleeps? instead|"
        r"(convert|turn|change)(s|ed)? .*\b(in)?to (an? )?(\w+ )?"
        r"(rwsem|rw_semaphore|rwlock|mutex|spin ?lock)\b",
    ),
    ChangeKind(
        "split",
        GONE,
        "several locks instead, each with a share of the objects",
        r"\bsplit|per[- ](cpu|task|thread|inode|bucket|vma|node|zone|group|device)[- ]lock|shard|"
        r"fine[r]?[- ]grained|larger hash|hashed|stripe|range lock|lock for each|lock per|one per",
    ),
    ChangeKind(
        "layout",
        LESS,
        "a cache line is no longer shared",
        r"layout|cache ?line|false sharing|padding|\balign",
    ),
    ChangeKind(
        "shrink",
        LESS,
        "the lock is held for a shorter time",
        r"shrink|shorter|hold time|critical section|out of the lock|outside (of )?the lock|"
        r"less (work )?under (the|a)\b|\b(hash|tree|xarray|bitmap) instead of (the |a )?(list|linear|walk)",
    ),
    ChangeKind(
        "fewer",
        LESS,
        "an operation takes the lock fewer times",
        r"fewer|once instead|larger folio|large folio|instead of (two|twice)|merge",
    ),
    ChangeKind(
        "batch",
        LESS,
        "one acquisition serves several operations, or sums are kept per CPU",
        r"batch|bulk|coalesc|per-?cpu(?![- ]rw)|deferr?|lazy|lazily",
    ),
    ChangeKind(
        "trylock",
        GONE,
        "do not wait for a held lock: go on with another object",
        r"try-?lock|go(es)? on|skip(s|ped)? busy|another (group|object)",
    ),
    ChangeKind(
        "lockless",
        GONE,
        "readers or writers take no lock",
        r"lock-?less|lock-?free|\bs?rcu|seq(count|lock)|sequence c|(lock|mutex) removed|"
        r"remove[sd]? the (\w+ )*lock|per-?cpu[- ]rw|elision|"
        r"read_once|cmpxchg|atomic|speculativ|"
        r"no lock|-> none|without (the|a) lock|hazard",
    ),
    ChangeKind(
        "avoid",
        LESS,
        "part of the operations no longer reach the lock",
        r"avoid|skip|without|unlocked check|does not take|not taken|no longer take|only when|fast path",
    ),
)
BY_NAME = {kind.name: kind for kind in KINDS}
_ASIDE = re.compile(r"\(| -- |: ")


def kind_of(text: str) -> str | None:
    """The kind's name that a description of a patch says; None where no word of it does."""
    for part in (_ASIDE.split(text, maxsplit=1)[0], text):
        if (first := _first(part)) is not None:
            return first
    return None


def _first(text: str) -> str | None:
    """Of the kinds that the text speaks of: a word at its start decides, then the order of KINDS."""
    found = {kind.name: at for kind in KINDS if (at := re.search(kind.words, text, re.IGNORECASE))}
    at_start = [name for name, at in found.items() if at.start() == 0]
    return next(iter(at_start or found), None)
