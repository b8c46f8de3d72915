# SPDX-License-Identifier: MIT
"""A patch in a few words: `split s_md_lock 4`, `shrink i_lock 50%`, `avoid __percpu_counter_sum 80%`.

The words are those of change_kind.KINDS and a few for what people say: what is asked of a lock, its name or
the function that takes it, and how much. Two that are written with ` + ` between them are one candidate.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lockscale.errors import BadInput, printable
from lockscale.predict.change_kind import BY_NAME, GONE, KEPT, LESS

SMALLEST_PCT = 0.1
MOST = 100_000


@dataclass(frozen=True)
class Word:
    """What a patch may begin with: its kind, and what its number is: `parts`, `percent`, `each` or none.

    usual: what is taken where a patch does not say the number.
    """

    kind: str
    number: str = ""
    usual: str = ""
    example: str = ""


WORDS: Mapping[str, Word] = {
    "split": Word("split", "parts", "4", "split LOCK 4"),
    "percpu": Word("split", example="percpu LOCK"),
    "shrink": Word("shrink", "percent", "50%", "shrink LOCK 50%"),
    "lockless": Word("lockless", example="lockless LOCK"),
    "rcu": Word("lockless", example="rcu LOCK"),
    "trylock": Word("trylock", "parts", "4", "trylock LOCK 4"),
    "batch": Word("batch", "each", "8", "batch LOCK 8"),
    "fewer": Word("fewer", "percent", "50%", "fewer LOCK 50%"),
    "avoid": Word("avoid", "percent", "100%", "avoid FUNCTION 80%"),
    "algorithm": Word("algorithm", example="algorithm LOCK"),
    "unshare": Word("layout", example="unshare FUNCTION"),
}
ALIASES = {"per-cpu": "percpu", "per_cpu": "percpu", "lock-less": "lockless"}
OF_KINDS = {word.kind: f"{name} FUNCTION" for name, word in WORDS.items() if word.kind not in WORDS}
"""What the casebook calls otherwise."""
ACT_TOGETHER = ("split", "trylock", "shrink", "batch", "fewer")
"""Of one lock, each leaves a part of what the other leaves."""
EXAMPLES = ", ".join(word.example for word in WORDS.values())


@dataclass(frozen=True)
class Change:
    """One thing that a patch does to one lock or function.

    visits: acquisitions left of 1 an operation. hold: what is left of 1 of the time it is held. parts:
    locks in its place; pooled: a thread takes any of them that is free.
    """

    word: str
    lock: str
    visits: float = 1.0
    hold: float = 1.0
    parts: int = 1
    pooled: bool = False

    @property
    def kind(self) -> str:
        return WORDS[self.word].kind

    @property
    def left(self) -> str:
        return BY_NAME[self.kind].left

    @property
    def saved(self) -> float:
        """Of the time for which an operation holds the lock, in all its visits, what it no longer does."""
        return 1 - self.visits * self.hold if self.left == LESS and not self.of_work else 0.0

    @property
    def left_of_lock(self) -> float:
        """Of the time for which one lock is held an operation; 0 where the patch does not say how much."""
        return self.visits * self.hold / self.parts if not self.of_work and self.left != KEPT else 0.0

    @property
    def of_work(self) -> bool:
        """Whether it is of all that a function does, not of waiting for a lock."""
        return self.word in ("avoid", "unshare")

    def and_then(self, other: "Change") -> "Change":
        """Both, of one lock; the word is that which leaves less of it."""
        first = self if self.left == GONE else other
        return replace(
            first,
            parts=self.parts * other.parts,
            hold=self.hold * other.hold,
            visits=self.visits * other.visits,
            pooled=self.pooled or other.pooled,
        )


@dataclass(frozen=True)
class Patch:
    """One candidate, as it was written, with the numbers that were left out, and its changes."""

    text: str
    changes: tuple[Change, ...]

    @property
    def left(self) -> str:
        """Of several changes the one that leaves least of its lock."""
        return min((change.left for change in self.changes), key=(GONE, LESS, KEPT).index)

    @property
    def of_work(self) -> bool:
        """Whether nothing in it is of waiting for a lock."""
        return all(change.of_work for change in self.changes)

    def of_each_lock(self) -> tuple[Change, ...]:
        """With those that make one lock shorter, rarer or several put together: they act on what is left."""
        merged: dict[str, Change] = {}
        others = []
        for one in self.changes:
            if one.word not in ACT_TOGETHER:
                others.append(one)
                continue
            before = merged.get(one.lock)
            merged[one.lock] = one if before is None else before.and_then(one)
        return (*merged.values(), *others)


def read_patch(text: str) -> Patch:
    """Raises BadInput with what may be written."""
    said = [part.strip() for part in re.split(r"\s\+\s", text.strip())]
    parts = [_with_number(part) for part in said]
    changes = tuple(_change(part, one) for part, one in zip(parts, said, strict=True))
    for part, one in zip(parts, changes, strict=True):
        if not one.visits and any(other.lock == one.lock and other.visits for other in changes):
            raise BadInput(
                f"patch {printable(text)}: after {printable(part)} nothing is left of {printable(one.lock)}: "
                f"give the others in a --patch of their own"
            )
    return Patch(" + ".join(parts), changes)


def _with_number(text: str) -> str:
    """The same with the number that is taken where it says none."""
    first, rest = _first_word(text)
    word = WORDS.get(first)
    if not word or not word.usual or not rest.strip() or _lock_and_number(rest.strip(), word)[1] is not None:
        return text
    return f"{text} {word.usual}"


def _first_word(text: str) -> tuple[str, str]:
    """What a patch begins with, as WORDS has it, and the rest."""
    first, _, rest = text.partition(" ")
    return ALIASES.get(first.lower(), first.lower()), rest


def _change(text: str, said: str) -> Change:
    """said: as it was written, without the usual number."""
    first, rest = _first_word(text)
    word = WORDS.get(first)
    if word is None:
        meant = OF_KINDS.get(first)
        cure = f"write {meant}" if meant else f"write {EXAMPLES}"
        raise BadInput(f"patch {printable(said)} does not begin with a known word: {cure}")
    lock, number = _lock_and_number(rest.strip(), word)
    if number is not None and (word.number == "percent") != text.rstrip().endswith("%"):
        raise BadInput(f"patch {printable(text)}: is {number:g} percent or a number? Write {word.example}")
    if quoted := re.fullmatch(r"\"([^\"]+)\"|'([^']+)'", lock):  # of C++, which has blanks in its names
        lock = quoted[1] or quoted[2]
    elif not re.fullmatch(r"\S+( < \S+)*", lock):
        plus = ", with a space on both sides of a +" if "+" in said else ""
        plus += ", and a name with blanks in quotes" if "::" in said else ""
        raise BadInput(
            f"patch {printable(said)} does not name one lock or function: write {word.example}{plus}"
        )
    if number is None:
        return Change(first, lock, visits=0.0 if word.kind in ("lockless", "split") else 1.0)
    if word.number == "parts":
        parts = int(_between(_whole(number, said, word), 2, MOST, text, word))
        return Change(first, lock, parts=parts, pooled=word.kind == "trylock")
    if word.number == "each":
        return Change(first, lock, visits=1 / _between(_whole(number, said, word), 2, MOST, text, word))
    left = 1 - _between(number, SMALLEST_PCT, 100, text, word) / 100
    if not left and first != "avoid":
        raise BadInput(
            f"patch {printable(text)} leaves nothing of the lock: write lockless {printable(lock)}"
        )
    return Change(first, lock, hold=left) if first == "shrink" else Change(first, lock, visits=left)


def _lock_and_number(rest: str, word: Word) -> tuple[str, float | None]:
    """The number is the last word, if this kind takes one and it is one."""
    lock, _, last = rest.rpartition(" ")
    number = re.fullmatch(r"(?:by )?(\d+(?:\.\d+)?) *%?", last) if word.number else None
    if number and lock:
        return re.sub(r" by$", "", lock.strip()), float(number[1])
    return rest, None


def _whole(number: float, said: str, word: Word) -> float:
    if number != int(number):
        raise BadInput(f"patch {printable(said)}: {number:g} is not a whole number: write {word.example}")
    return number


def _between(number: float, low: float, high: float, text: str, word: Word) -> float:
    if not low <= number <= high:
        raise BadInput(
            f"patch {printable(text)}: {number:g} is not between {low:g} and {high:g}: write {word.example}"
        )
    return number
