# SPDX-License-Identifier: MIT
"""Every path the project knows. Nothing else builds a path from the repository's layout."""

import os
import tempfile
from pathlib import Path

ROOT = Path(os.environ.get("LOCKSCALE_ROOT") or Path(__file__).resolve().parents[2])

NOTEBOOKS = ROOT / "notebooks"
NOTEBOOK_SOURCES = NOTEBOOKS / "src"
STUDIES = NOTEBOOKS / "studies"
TARGETS = NOTEBOOKS / "targets"
KERNEL_PATCHES = ROOT / "kernel-patches"
SYSTEM_PACKAGES = ROOT / "setup" / "packages.toml"
FSLOAD = ROOT / "lib" / "fsload"
FSYNCED = ROOT / "lib" / "fsynced"
MANYCORE = ROOT / "lib" / "manycore"
DATA = ROOT / "data"
PUBLISHED = DATA / "published"
MEASURED = DATA / "measured"
CASEBOOK = DATA / "casebook" / "open.yaml"
FIGURES = ROOT / "figures"

CACHE = Path(os.environ.get("LOCKSCALE_CACHE") or ROOT / ".cache").absolute()
RUNS = Path(os.environ.get("LOCKSCALE_RUNS") or ROOT / "runs").absolute()
# One for the machine, whichever checkout or user measures on it; tests have one each.
MACHINE_LOCK = Path(
    os.environ.get("LOCKSCALE_MACHINE_LOCK")
    or (Path("/run/lock") if os.access("/run/lock", os.W_OK) else Path(tempfile.gettempdir()))
    / "lockscale-this-machine.lock"
)
KERNEL_CACHE = CACHE / "kernels"
PACKAGE_CACHE = CACHE / "packages"
BUILD_CACHE = CACHE / "build"
