# SPDX-License-Identifier: MIT
"""What a study's arms are checked by: the load, and the counters that must then differ."""

import re
from collections import Counter as Tally
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import pydantic

from lockscale.yaml_text import OneOrMore, Strict, spelt

# No control character of it reaches a terminal.
Text = Annotated[str, spelt(r"[^\x00-\x1f\x7f-\x9f]*", "write one line without control characters", 65536)]
Source = Annotated[
    str,
    spelt(
        r"(trace|calls|acquisitions|contentions):[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*",
        "write trace:, calls:, acquisitions: or contentions: before the name of what is counted",
    ),
]
# X-mount.subdir=.. of mount(8) mounts a folder of the machine's own.
MountOption = Annotated[
    str, spelt(r"(?![Xx]-)[A-Za-z0-9_][A-Za-z0-9_=.:-]*", "write one option of the kernel, such as noatime")
]
_SIGN = re.compile(r"(?<=\s)(>=|>|=)(?=\s)")


@dataclass(frozen=True)
class Relation:
    """One link: `left` sign `right`, where `right` of "=" is the number 0."""

    left: str
    sign: str
    right: str

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


def _names(chain: str) -> list[str]:
    return [name.strip() for name in _SIGN.split(chain)[::2]]


def relations(chain: str, arms: Iterable[str]) -> list[Relation]:
    """The links of a chain; ValueError for an arm that is not there or a sign that is none."""
    names, signs = _names(chain), _SIGN.split(chain)[1::2]
    known = set(arms)
    found = [Relation(a, sign, b) for a, sign, b in zip(names, signs, names[1:], strict=False)]
    for one in found:
        if (one.sign == "=") is not (one.right == "0") or one.left == "0":
            raise ValueError(f"expect {chain!r}: {one} is not `arm > arm`, `arm >= arm` or `arm = 0`")
        if one.left == one.right:
            raise ValueError(f"expect {chain!r}: {one} compares an arm with itself: name two")
        for arm in {one.left, one.right} - known - {"0"}:
            raise ValueError(f"expect {chain!r}: there is no arm {arm!r}, only {', '.join(arms)}")
    if not found:
        raise ValueError(f"expect {chain!r} is not a relation: write `arm > arm`, `arm >= arm` or `arm = 0`")
    return found


class CheckLoad(Strict):
    """How the study's workload is run on an arm to check it.

    `containers`: each process in one of its own, as at the points that ask for it. `variants`: mount options,
    each on a new file system.
    """

    processes: Annotated[int, pydantic.Field(gt=0, le=4096, strict=True)] = 8  # what fsload takes
    items_per_process: Annotated[int, pydantic.Field(gt=0, le=100_000_000, strict=True)] = 300
    cpus: Annotated[int, pydantic.Field(gt=0, le=64, strict=True)] = 4  # of a guest
    containers: pydantic.StrictBool = False
    variants: Annotated[dict[Text, list[MountOption]], pydantic.Field(min_length=1)] = {"": []}


class Counter(Strict):
    """A ratio of counts and what it must do: `expect` as in "unpatched > patched >= floor".

    Sources are summed. trace: hits of a trace point of the file system. calls: of a kernel function.
    acquisitions, contentions: of a lock class as /proc/lock_stat names it. `not_shown`: a relation that
    was looked for and did not show, with the reason; it is reported and does not fail the arm, unless the
    contrary shows.
    """

    name: Text
    count: OneOrMore[Source]
    per: OneOrMore[Source]
    unit: Text
    expect: OneOrMore[Text]
    variants: list[str] = [""]
    not_shown: dict[str, Text] = {}

    @property
    def arms(self) -> list[str]:
        """The arms that it compares, each once, in the order in which `expect` names them."""
        named = [name for chain in self.expect for name in _names(chain)]
        return [name for name in dict.fromkeys(named) if name != "0"]

    @property
    def sources(self) -> list[str]:
        """Everything that it counts."""
        return [*self.count, *self.per]


def refuse_unknown(counters: Iterable[Counter], check: CheckLoad, arms: Iterable[str]) -> None:
    """ValueError for a counter that names an arm, a variant or a relation that there is not."""
    known_arms, counters = list(arms), list(counters)
    if twice := [name for name, times in Tally(one.name for one in counters).items() if times > 1]:
        raise ValueError(f"two counters are called {twice[0]!r}: give each a different name")
    for counter in counters:
        for variant in sorted(set(counter.variants) - set(check.variants)):
            raise ValueError(f"counter {counter.name!r} names variant {variant!r}, which check lacks")
        try:
            known = {str(one) for chain in counter.expect for one in relations(chain, known_arms)}
        except ValueError as error:
            raise ValueError(f"counter {counter.name!r}: {error}") from None
        for one in sorted(set(counter.not_shown) - known):
            raise ValueError(
                f"counter {counter.name!r}: not_shown {one!r} is not one of its relations "
                f"({', '.join(sorted(known))}): write it like one of them"
            )
