# SPDX-License-Identifier: MIT
"""A kernel source of two files."""

import os
import subprocess
from pathlib import Path


def tarball(folder: Path, version: str = "6.12.99", top: str = "linux-6.12") -> Path:
    """A kernel tarball of two files, with the Makefile's lines as kernel.org writes them."""
    tree = folder / "made" / top
    (tree / "fs").mkdir(parents=True)
    numbers = zip(("VERSION", "PATCHLEVEL", "SUBLEVEL"), version.split("."), strict=True)
    (tree / "Makefile").write_text("".join(f"{k} = {v}\n" for k, v in numbers) + "EXTRAVERSION =\n")
    (tree / "Kbuild").write_text("# top\n")
    (tree / "fs" / "a.c").write_bytes(b"pristine\n" + os.urandom(4000))
    path = folder / f"linux-{version}.tar.xz"
    subprocess.run(["tar", "-cJf", path, "-C", folder / "made", top], check=True)
    return path
