# SPDX-License-Identifier: MIT
"""Every path the project knows. Nothing else builds a path from the repository's layout.

A clone holds what is read, kept and written. An installed package holds what is read alone, in `share`: its
runs and figures go into the working folder, its cache to where the user's caches are.
"""

import os
import stat
import tempfile
from pathlib import Path


def _working_folder() -> Path:
    """Where the process works; one that is gone by its name, so that a command can still say so."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.environ.get("PWD") or "/nowhere")


def for_all_users(*folders: str) -> Path:
    """The first of `folders` that every user writes to: TMPDIR is one user's, /run/lock may be root's."""
    for folder in map(Path, folders):
        if os.access(folder, os.W_OK) and folder.stat().st_mode & stat.S_IWOTH:
            return folder
    return Path(tempfile.gettempdir())  # which fails where the disk is full


SHARE = Path(__file__).resolve().with_name("share")
IS_CLONE = bool(os.environ.get("LOCKSCALE_ROOT")) or not SHARE.is_dir()
ROOT = Path(os.environ.get("LOCKSCALE_ROOT") or (Path(__file__).resolve().parents[2] if IS_CLONE else SHARE))
WRITTEN = ROOT if IS_CLONE else _working_folder()
# os.path: pathlib raises where a user has no home
CACHES = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111

NOTEBOOKS = ROOT / "notebooks"
NOTEBOOK_SOURCES = NOTEBOOKS / "src"
STUDIES = NOTEBOOKS / "studies"
TARGETS = NOTEBOOKS / "targets"
KERNEL_PATCHES = ROOT / "kernel-patches"
SYSTEM_PACKAGES = ROOT / "setup" / "packages.toml"
FSLOAD = ROOT / "lib" / "fsload"
FSYNCED = ROOT / "lib" / "fsynced"
GUEST = ROOT / "lib" / "guest"
MANYCORE = ROOT / "lib" / "manycore"
DATA = ROOT / "data"
PUBLISHED = DATA / "published"
MEASURED = DATA / "measured"
COUNTED = DATA / "counted"
CASEBOOK = DATA / "casebook" / "open.yaml"
FIGURES = WRITTEN / "figures"

_CACHE = ROOT / ".cache" if IS_CLONE else CACHES / "lockscale"
CACHE = Path(os.environ.get("LOCKSCALE_CACHE") or _CACHE).absolute()
RUNS = Path(os.environ.get("LOCKSCALE_RUNS") or WRITTEN / "runs").absolute()
# One for the machine, whichever checkout or user measures on it; tests have one each.
MACHINE_LOCK = Path(
    os.environ.get("LOCKSCALE_MACHINE_LOCK")
    or for_all_users("/run/lock", "/tmp", "/var/tmp") / "lockscale-this-machine.lock"
)
KERNEL_CACHE = CACHE / "kernels"
PACKAGE_CACHE = CACHE / "packages"
BUILD_CACHE = CACHE / "build"
