# SPDX-License-Identifier: MIT
"""The system's tools: which package gives each one and why it is needed (setup/packages.toml)."""

import functools
import os
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput

ADMIN_FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Package:
    """A Debian package, the command or file by which it is recognised, and why it is needed."""

    name: str
    why: str
    tool: str = ""
    file: str = ""

    def found(self) -> str | None:
        """Where the package's command or file is on this machine, or None."""
        if self.tool:
            return find(self.tool)
        hits = sorted(Path("/").glob(self.file.lstrip("/")))
        return str(hits[0]) if hits else None


@functools.cache
def packages() -> tuple[Package, ...]:
    """The packages this project needs, in the order of setup/packages.toml."""
    listed = tomllib.loads(paths.SYSTEM_PACKAGES.read_text())["package"]
    return tuple(Package(**entry) for entry in listed)


def find(tool: str) -> str | None:
    """The path of a command; the administrator's folders are searched last, as su may drop them."""
    return shutil.which(tool, path=f"{os.environ.get('PATH') or os.defpath}:{ADMIN_FOLDERS}")


def need(tool: str) -> str:
    """The path of a command, or one sentence on what is missing and how to get it."""
    where = find(tool)
    if where:
        return where
    package = next((p for p in packages() if p.tool == tool), None)
    reason = f" ({package.why})" if package else ""
    fix = f"apt-get install {package.name}" if package else "install it"
    raise BadInput(f"{tool} is missing on this machine{reason}: {fix}, or run `make env` as root")
