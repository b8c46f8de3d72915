# SPDX-License-Identifier: MIT
"""The base that every arm is built from, as kernel-patches/base.toml names it."""

import functools
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import pydantic

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.mail import read_text, read_toml

RATE = "rate"
OWN_CONFIG = "kernel.config"


@dataclass(frozen=True)
class Kind:
    """What a build is for. Only `rate` builds give rates.

    configs: fragments on top of allnoconfig, of which the later ones win. on_top: the folder in
    kernel-patches of a series that goes on top of each arm's, so that all are counted alike. own: what tells
    a study's own configuration from others; empty where it has none.
    """

    name: str
    configs: tuple[Path, ...]
    on_top: str | None = None
    own: str = ""

    @property
    def suffix(self) -> str:
        """What tells its kernels and objects from those of `rate` builds of the same series."""
        return "".join(f"-{part}" for part in ("" if self.name == RATE else self.name, self.own) if part)

    @property
    def fragment(self) -> str:
        return "\n".join(read_text(path) for path in self.configs)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.fragment.encode()).hexdigest()


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class _KindEntry(_Strict):
    configs: Annotated[list[str], pydantic.Field(min_length=1)]
    on_top: str | None = None


class Base(_Strict):
    """The longterm line, the package and tarball it comes in, and the kinds of build beside it."""

    line: str
    package: str
    tarball: Path
    tested: list[str]
    kinds: dict[str, _KindEntry]

    def kind(self, name: str) -> Kind:
        """The kind of build that is called `name`."""
        if name not in self.kinds:
            raise BadInput(f"there is no kind of build {name!r} (there are: {', '.join(self.kinds)})")
        said = self.kinds[name]
        return Kind(name, tuple(paths.KERNEL_PATCHES / config for config in said.configs), said.on_top)


def kind_for(study: str, name: str) -> Kind:
    """A kind of build for the arms of `study`, with its own kernel.config on top where it has one."""
    kind, config = base().kind(name), paths.KERNEL_PATCHES / study / OWN_CONFIG
    if not config.is_file():
        return kind
    own = hashlib.sha256(read_text(config).encode()).hexdigest()[:4]
    return replace(kind, configs=(*kind.configs, config), own=own)


def base() -> Base:
    """Read kernel-patches/base.toml; BadInput names the first key that it lacks or has too many."""
    return _read(paths.KERNEL_PATCHES)


@functools.cache
def _read(folder: Path) -> Base:
    return read_toml(folder / "base.toml", Base)
