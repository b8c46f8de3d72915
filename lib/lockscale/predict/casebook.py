# SPDX-License-Identifier: MIT
"""The casebook: published patches with rates before and after, and each case's unpatched side by itself.

A file is YAML with `cases`; data/casebook/open.yaml is the one that the project learns from, and its format
is described in docs/any-lock.md. A prediction sees a case's `UnpatchedSide` and nothing else of it.
"""

import difflib
import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pydantic
from pydantic import Field

from lockscale.errors import BadInput, printable
from lockscale.paths import CASEBOOK
from lockscale.predict.change_kind import BY_NAME, kind_of
from lockscale.predict.published_gains import PublishedGain, most_gain, promise_of
from lockscale.study.mistakes import why_of
from lockscale.tools.lock_functions import IDLE
from lockscale.yaml_text import read_yaml


def _text(value: Any) -> Any:
    """A key that is there with nothing, or a number or a date that YAML took for one."""
    return "" if value is None else value if isinstance(value, str | list | dict) else str(value)


Text = Annotated[str, pydantic.BeforeValidator(_text), Field(max_length=1000)]
NEARLY = 0.8
_OF_TIME = re.compile(
    r"(?:[nmu]?s|[num]?secs?|(?:nano|micro|milli)?seconds?|min(?:ute)?s?|time)\b", re.IGNORECASE
)
Positive = Annotated[float, Field(gt=0, le=1e18)]


class _Part(pydantic.BaseModel):
    """Further keys are somebody's notes."""

    model_config = pydantic.ConfigDict(extra="ignore", frozen=True)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _no_slip_of_the_pen(cls, given: Any) -> Any:
        """A key that is nearly one that is lacking is no note; ValueError is pydantic's."""
        if isinstance(given, dict):
            lacking = [name for name in cls.model_fields if name not in given]
            for key in (str(one) for one in given if one not in cls.model_fields):
                if meant := difflib.get_close_matches(key, lacking, n=1, cutoff=NEARLY):
                    raise ValueError(f"there is no key {key!r}: did you mean {meant[0]}?")
        return given


class CasePoint(_Part):
    """One load before and after; what was not published is None."""

    threads: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    base: Positive | None = None
    patched: Positive | None = None
    label: Text = ""


class ProfileLine(_Part):
    """One line of the unpatched side's profile."""

    what: Text
    value: Annotated[float, Field(allow_inf_nan=False)] | None = None
    unit: Text = ""

    @property
    def idle_pct(self) -> float:
        """The value where it is percent of the time or samples in which CPUs had nothing to do; else 0."""
        first = re.match(r"\W*(\w+)", self.what)
        is_idle = first is not None and (first[1] == "idle" or IDLE.fullmatch(first[1]) is not None)
        return min(max(self.value or 0.0, 0.0), 100.0) if is_idle and "%" in self.unit else 0.0


class RemovedShare(_Part):
    """Percent of the unpatched side's profile that the change removes."""

    pct: Annotated[float, Field(ge=0, le=100)] | None = None


class PublishedCase(_Part):
    """One patch; `higher_is_better` is false of times."""

    id: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[ -~]+$")]
    family: Text = ""
    subsystem: Text = ""
    kind: Text = ""
    change: Text = ""
    locks: Annotated[list[Text], Field(max_length=50)] = []
    source: dict[str, Any] = {}
    machine: dict[str, Any] = {}
    workload: Text = ""
    unit: Text = ""
    higher_is_better: bool = True
    points: Annotated[list[CasePoint], Field(min_length=1, max_length=1000)]
    base_profile: Annotated[list[ProfileLine], Field(max_length=1000)] = []
    removed_share: RemovedShare | None = None

    @property
    def kind_name(self) -> str | None:
        """As the case says it, else as its description of the change does."""
        return self.kind or kind_of(self.change)

    def gain(self, point: CasePoint) -> float | None:
        """Of the patch there: above 1 is faster."""
        if point.patched is None or point.base is None:
            return None
        return point.patched / point.base if self.higher_is_better else point.base / point.patched

    def rate(self, point: CasePoint) -> float | None:
        """The unpatched side's, in units of its own: only its changes with the threads mean anything."""
        if point.base is None:
            return None
        return point.base if self.higher_is_better else 1 / point.base


class UnpatchedSide(NamedTuple):
    """What is known before the patch is written, of one load.

    rates: by threads, ascending, up to the most; idle: share of the samples.
    """

    kind: str | None
    threads: int | None
    rates: dict[int, float]
    share: float | None
    idle: float

    @property
    def left(self) -> str | None:
        return BY_NAME[self.kind].left if self.kind else None

    @property
    def promise(self) -> float | None:
        """Of deleting the waits; None without a share."""
        return None if self.share is None else promise_of(self.share, self.idle)

    @property
    def most(self) -> float:
        """What no patch exceeds, as threads do no more than so many times one, which does less work then.

        Nothing says by how much a published patch shortens its holds: they may be gone.
        """
        saved = float(self.kind in ("shrink", "fewer", "batch"))
        faster = self.promise if self.kind == "avoid" else None
        return most_gain(self.rates, self.threads or 1, saved) * (faster or 1.0)


class CaseLoad(NamedTuple):
    """One question of a case: its unpatched side at the most threads, and the gain published there."""

    case: PublishedCase
    label: str
    unpatched: UnpatchedSide
    published: float | None
    weight: float


def read_casebook(path: Path = CASEBOOK) -> list[PublishedCase]:
    """Every case of a file. Raises BadInput, which names the file, the case and the key."""
    if not path.is_file():
        raise BadInput(f"there is no casebook {path}: docs/any-lock.md says what such a file holds")
    data = read_yaml(path)
    entries = data.get("cases") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not entries:
        raise BadInput(f"{path} has no list of cases: write `cases:` and one entry per patch")
    cases = [read_case(entry, f"{path}: case {_name(entry, n)}") for n, entry in enumerate(entries, 1)]
    names = [case.id for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{path} has two cases {name}: give each a different id")
    return cases


def alike_points(case: PublishedCase) -> list[int]:
    """Numbers of threads of which a case has several points with the same label."""
    seen = Counter((point.threads, point.label) for point in case.points if point.threads)
    return sorted({threads for (threads, _), n in seen.items() if n > 1 and threads})


def _name(entry: Any, number: int) -> str:
    return str(entry.get("id", f"number {number}") if isinstance(entry, dict) else f"number {number}")[:60]


def read_case(entry: Any, where: str) -> PublishedCase:
    """One entry. Raises BadInput, which begins with `where`."""
    try:
        case = PublishedCase.model_validate(entry)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the entry"
        why = {"string_pattern_mismatch": "write it in ASCII", "model_type": "write keys and values"}
        said = why.get(first["type"], why_of(first))
        raise BadInput(f"{where}: {key}: {said}; docs/any-lock.md has the format") from None
    if case.kind and case.kind not in BY_NAME:
        raise BadInput(f"{where}: there is no kind {case.kind!r}: use one of {', '.join(BY_NAME)}")
    if "higher_is_better" not in case.model_fields_set and _OF_TIME.match(case.unit):
        raise BadInput(
            f"{where}: unit: less of {printable(case.unit)} is faster: write higher_is_better: false, "
            "or true if more of it is"
        )
    return case


def asked_of(case: PublishedCase) -> list[CaseLoad]:
    """At the case's largest number of threads, each of its loads there by itself."""
    most = max((point.threads or 0) for point in case.points)
    at_most = [point for point in case.points if (point.threads or 0) == most]
    ladders = {point.label for point in case.points if sum(p.label == point.label for p in case.points) > 1}
    return [
        CaseLoad(case, one.label, _base(case, one, ladders), case.gain(one), 1 / len(at_most))
        for one in at_most
    ]


def _base(case: PublishedCase, top: CasePoint, ladders: set[str]) -> UnpatchedSide:
    """Points of the same load: of its label where labels name loads, of any where each names a point."""
    if ladders:
        same = [p for p in case.points if p.label == top.label]
    elif sum(p.threads == top.threads for p in case.points) > 1:
        same = [top]
    else:
        same = list(case.points)
    known = ((p.threads, case.rate(p)) for p in sorted(same, key=lambda p: p.threads or 0))
    rates = {threads: rate for threads, rate in known if threads and rate}
    pct = case.removed_share.pct if case.removed_share else None
    share = None if pct is None else pct / 100
    # the largest: one idle function calls another, and their rows hold the same samples
    idle_pct = max((line.idle_pct for line in case.base_profile), default=0.0)
    return UnpatchedSide(case.kind_name, top.threads, rates, share, idle_pct / 100)


def past(cases: list[PublishedCase]) -> list[PublishedGain]:
    """What is learned from: every published gain at a case's most threads."""
    return [
        PublishedGain(
            asked.published,
            asked.unpatched.left,
            asked.unpatched.promise,
            case.family or case.id,
            asked.weight,
        )
        for case in cases
        for asked in asked_of(case)
        if asked.published is not None
    ]


def usual_most(cases: list[PublishedCase]) -> float:
    """N times one thread's rate over the rate of N, at the median of the cases that tell it."""
    known = [asked.unpatched.most for case in cases for asked in asked_of(case)]
    return float(np.median([most for most in known if np.isfinite(most)] or [np.inf]))
