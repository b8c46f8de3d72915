# SPDX-License-Identifier: MIT
"""The base that every arm is built from, as kernel-patches/base.toml names it."""

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path

from lockscale import paths


@dataclass(frozen=True)
class Base:
    """The longterm line, the package and tarball it comes in, and the config fragment beside it."""

    line: str
    package: str
    tarball: Path
    config: Path
    tested: tuple[str, ...]


@functools.cache
def base() -> Base:
    """Read kernel-patches/base.toml."""
    said = tomllib.loads((paths.KERNEL_PATCHES / "base.toml").read_text())
    return Base(
        line=said["line"],
        package=said["package"],
        tarball=Path(said["tarball"]),
        config=paths.KERNEL_PATCHES / said["config"],
        tested=tuple(said["tested"]),
    )
