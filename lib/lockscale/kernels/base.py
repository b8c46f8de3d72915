# SPDX-License-Identifier: MIT
"""The bases that arms are built from, as kernel-patches/base.toml names them."""

import functools
import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import pydantic

from lockscale import paths
from lockscale.errors import BadInput, near
from lockscale.kernels.mail import read_text, read_toml
from lockscale.yaml_text import OneOrMore, Strict

RATE = "rate"
VARIABLE = "LOCKSCALE_KERNEL_BASE"
OWN_CONFIG = "kernel.config"


@dataclass(frozen=True)
class Kind:
    """What a build is for. Only `rate` builds give rates.

    configs: fragments on top of allnoconfig, of which the later ones win. on_top: the folder in
    kernel-patches of a series that goes on top of each arm's, so that all are counted alike. own: what tells
    a study's own configuration from others; empty where it has none. guest_configs: those of `configs` that
    only a guest's kernel gets. without: options of the fragments that the base's kernel has not.
    """

    name: str
    configs: tuple[Path, ...]
    on_top: str | None = None
    own: str = ""
    guest_configs: tuple[Path, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        """What tells its kernels and objects from those of `rate` builds of the same series."""
        return "".join(f"-{part}" for part in ("" if self.name == RATE else self.name, self.own) if part)

    @property
    def fragment(self) -> str:
        whole = "\n".join(read_text(path) for path in self.configs)
        gone = tuple(f"{option}=" for option in self.without)
        return "\n".join(line for line in whole.split("\n") if not line.startswith(gone)) if gone else whole

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.fragment.encode()).hexdigest()


class _KindEntry(Strict):
    configs: OneOrMore[str]
    on_top: str | None = None


class Base(Strict):
    """A line of the kernel, and the package and tarball it comes in.

    suite: of the distribution, from which the package is fetched where the tarball is not there.
    guest_configs: fragments on top of those of each kind of build, in guests. without: options that this
    kernel has not.
    """

    line: Annotated[str, pydantic.Field(pattern=r"^\d+\.\d+$")]
    package: str
    tarball: Path
    suite: str | None = None
    tested: list[str]
    guest_configs: list[str] = []
    without: list[str] = []


class _Bases(Strict):
    base: OneOrMore[Base]
    kinds: dict[str, _KindEntry]

    def kind(self, name: str) -> Kind:
        """The kind of build that is called `name`."""
        if name not in self.kinds:
            raise BadInput(f"there is no kind of build {name!r}{near(name, self.kinds)}")
        said = self.kinds[name]
        return Kind(name, tuple(paths.KERNEL_PATCHES / config for config in said.configs), said.on_top)


def kind_for(study: str, name: str, line: str = "") -> Kind:
    """A kind of build for the arms of `study` on a base, with its own kernel.config on top if it has one."""
    kind, config = build_kind(name, line), paths.KERNEL_PATCHES / study / OWN_CONFIG
    if not config.is_file():
        return kind
    own = hashlib.sha256(read_text(config).encode()).hexdigest()[:4]
    return replace(kind, configs=(*kind.configs, config), own=own)


def base(line: str = "") -> Base:
    """The base of a line, else of LOCKSCALE_KERNEL_BASE, else the first one.

    BadInput for one that is not there, and for the first key that kernel-patches/base.toml lacks or has too
    many.
    """
    known = bases()
    wanted = chosen_line(line) or known[0].line
    if found := next((one for one in known if one.line == wanted), None):
        return found
    whose = "" if line else f"{VARIABLE}: "
    there = ", ".join(one.line for one in known)
    where = f"in kernel-patches/base.toml (known: {there})"
    raise BadInput(f"{whose}there is no base {wanted[:20]!a} {where}")


def chosen_line(line: str = "") -> str:
    """`line`, else that of LOCKSCALE_KERNEL_BASE; empty for the first base."""
    return line or os.environ.get(VARIABLE, "")


def bases() -> list[Base]:
    """All of them, in the order of kernel-patches/base.toml."""
    return _read(paths.KERNEL_PATCHES).base


def build_kind(name: str, line: str = "") -> Kind:
    """The kind of build that is called `name`, with what a base's kernel has otherwise."""
    kind, of = _read(paths.KERNEL_PATCHES).kind(name), base(line)
    own = tuple(paths.KERNEL_PATCHES / config for config in of.guest_configs)
    return replace(kind, configs=(*kind.configs, *own), guest_configs=own, without=tuple(of.without))


def build_kinds() -> list[str]:
    """The names of all kinds of build."""
    return list(_read(paths.KERNEL_PATCHES).kinds)


@functools.cache
def _read(folder: Path) -> _Bases:
    return read_toml(folder / "base.toml", _Bases)
