# SPDX-License-Identifier: MIT
"""What the arms of a study are besides their patches: kernel-patches/<study>/arms.toml.

It holds each arm's own mkfs, mount and knobs, the load that all are checked under, and the counters
that must then differ.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pydantic

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.text import read_toml
from lockscale.yaml_text import NAME, spelt

Name = Annotated[str, spelt(*NAME)]
Count = Annotated[int, pydantic.Field(gt=0, strict=True)]
Source = Annotated[
    str,
    spelt(
        r"(trace|calls|acquisitions|contentions):\S.*",
        "write trace:, calls:, acquisitions: or contentions: before the name of what is counted",
    ),
]
TEST = re.compile(r'^\t\.name = "(\w+)",$', re.MULTILINE)  # in each test's own file of lib/fsload
RELATION = re.compile(r"\s+(>=|>|=)\s+")


def _of_fsload(test: str) -> str:
    """`test`, which must be one that fsload was built with; ValueError is pydantic's."""
    tests = sorted(name for path in paths.FSLOAD.glob("*.c") for name in TEST.findall(path.read_text()))
    if test not in tests:
        raise ValueError(f"fsload has no test {test!r}: use one of {', '.join(tests)}")
    return test


Test = Annotated[str, pydantic.AfterValidator(_of_fsload)]


@dataclass(frozen=True)
class Relation:
    """One link: `left` sign `right`, where `right` of "=" is the number 0."""

    left: str
    sign: str
    right: str

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


def relations(said: str, arms: Iterable[str]) -> list[Relation]:
    """The links of a chain; BadInput for an arm that is not there or a sign that is none."""
    names, signs = RELATION.split(said.strip())[::2], RELATION.split(said.strip())[1::2]
    known = set(arms)
    found = [Relation(a, sign, b) for a, sign, b in zip(names, signs, names[1:], strict=False)]
    for one in found:
        unknown = {one.left, one.right} - known - ({"0"} if one.sign == "=" else set())
        if unknown or (one.sign == "=" and one.right != "0"):
            raise BadInput(f"expect {said!r}: {one} is not `arm > arm`, `arm >= arm` or `arm = 0`")
    if not found:
        raise BadInput(f"expect {said!r} says nothing: write `arm > arm`, `arm >= arm` or `arm = 0`")
    return found


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Options(_Strict):
    """What belongs to an arm beside its kernel; `knobs` are files of its file system in sysfs.

    filesystem: as mount calls it; an arm's own options leave it to its study.
    """

    filesystem: str = ""
    mkfs: list[str] = []
    mkfs_asserts: list[str] = []
    mount: list[str] = []
    knobs: dict[Name, int] = {}

    def added_to(self, other: "Options") -> "Options":
        """Both together, `other` first."""
        return Options(
            filesystem=self.filesystem or other.filesystem,
            mkfs=[*other.mkfs, *self.mkfs],
            mkfs_asserts=[*other.mkfs_asserts, *self.mkfs_asserts],
            mount=_last_of_each([*other.mount, *self.mount]),
            knobs={**other.knobs, **self.knobs},
        )

    @property
    def line(self) -> str:
        """The part of an arm's identity that is not its build-id."""
        knobs = "".join(f"; {name}={value}" for name, value in sorted(self.knobs.items()))
        return f"mkfs.{self.filesystem} {' '.join(self.mkfs)}; mount -o {','.join(self.mount)}{knobs}"


class OwnOptions(Options):
    """An arm's own. `series`: the arm whose patches are this one's too; by default it has its own."""

    series: Name | None = None


class Load(_Strict):
    """How an arm is loaded to be checked. `variants`: mount options, each on a new file system."""

    testcase: Test
    filesystem: Name
    processes: Count
    items_per_process: Count
    cpus: Count
    mkfs: list[str] = []
    mkfs_asserts: list[str] = []
    mount: list[str] = []
    variants: dict[str, list[str]] = {"": []}


class Counter(_Strict):
    """A ratio of counts and what it must do: `expect` as in "wait-group > trylock >= multi-goal".

    Sources are summed. trace: hits of a trace point of the file system. calls: of a kernel function.
    acquisitions, contentions: of a lock class as /proc/lock_stat names it. `not_shown`: a relation that
    was looked for and did not show, with the reason; it is reported and does not fail the arm.
    """

    name: str
    count: Annotated[list[Source], pydantic.Field(min_length=1)]
    per: Annotated[list[Source], pydantic.Field(min_length=1)]
    unit: str
    expect: Annotated[list[str], pydantic.Field(min_length=1)]
    variants: list[str] = [""]
    not_shown: dict[str, str] = {}

    @property
    def arms(self) -> set[str]:
        """The arms that it compares."""
        return {name for said in self.expect for name in RELATION.split(said.strip())[::2]} - {"0"}

    @property
    def sources(self) -> list[str]:
        """Everything that it counts."""
        return [*self.count, *self.per]


class ArmsFile(_Strict):
    """One study's arms.toml."""

    load: Load
    arm: dict[Name, OwnOptions] = {}
    counter: list[Counter] = []

    def options(self, arm: str) -> OwnOptions:
        """What belongs to `arm` alone; an arm that the file does not name is its patches and no more."""
        return self.arm.get(arm, OwnOptions())

    def checked_with(self, arm: str, variant: str | None = None) -> Options:
        """The whole of what `arm` is checked with, in one of the load's variants or in none."""
        load = self.load
        common = Options(
            filesystem=load.filesystem, mkfs=load.mkfs, mkfs_asserts=load.mkfs_asserts, mount=load.mount
        )
        last = Options(mount=load.variants[variant] if variant is not None else [])
        return last.added_to(self.options(arm).added_to(common))


def _last_of_each(options: list[str]) -> list[str]:
    """Of options `name=value` of one name the last, as mount takes them."""
    return list({option.partition("=")[0]: option for option in options}.values())


def series_of(study: str, arm: str) -> str:
    """The arm whose patches `arm` has: itself, unless arms.toml names another."""
    path = paths.KERNEL_PATCHES / study / "arms.toml"
    if (path.parent / arm / "series").exists() or not path.is_file():
        return arm
    return read_toml(path, ArmsFile).options(arm).series or arm


def has_arms_file(study: str) -> bool:
    """Whether a study says anything of its arms besides their patches."""
    return (paths.KERNEL_PATCHES / study / "arms.toml").is_file()


def own_options(study: str, arm: str) -> Options:
    """What belongs to an arm alone; nothing where its study does not say."""
    return arms_file(study).options(arm) if has_arms_file(study) else Options()


def arms_file(study: str) -> ArmsFile:
    """The arms.toml of a study; what it does not know or lacks is refused in a sentence."""
    path = paths.KERNEL_PATCHES / study / "arms.toml"
    if not path.is_file():
        raise BadInput(f"{path} is not there: say in it what each arm of {study} is besides its patches")
    found = read_toml(path, ArmsFile)
    _refuse_missing(path, found)
    return found


def _refuse_missing(path: Path, found: ArmsFile) -> None:
    there = {listing.parent.name for listing in path.parent.glob("*/series")}
    for arm, own in sorted(found.arm.items()):
        if (own.series or arm) not in there:
            raise BadInput(f"{path}: [arm.{arm}] has no {own.series or arm}/series beside it")
    for counter in found.counter:
        for variant in sorted(set(counter.variants) - set(found.load.variants)):
            raise BadInput(f"{path}: counter {counter.name!r} names variant {variant!r}, which load lacks")
        try:
            known = {str(one) for said in counter.expect for one in relations(said, found.arm)}
        except BadInput as error:
            raise BadInput(f"{path}: counter {counter.name!r}: {error}") from None
        for said in sorted(set(counter.not_shown) - known):
            raise BadInput(
                f"{path}: counter {counter.name!r}: not_shown {said!r} is none of its relations "
                f"({', '.join(sorted(known))}): write it as one of them"
            )
