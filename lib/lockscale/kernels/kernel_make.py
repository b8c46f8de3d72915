# SPDX-License-Identifier: MIT
"""The kernel's own make. With ccache an object is compiled once for all configurations that give it the
same text: kernels for rates, for counts and for a server differ in few of theirs.
"""

import os
from pathlib import Path

from lockscale import paths
from lockscale.tools import find, need

# An object's text, its options and the compiler decide it; the folder it is compiled in does not.
CCACHE = {"CCACHE_MAXSIZE": "3G", "CCACHE_NOHASHDIR": "1", "CCACHE_COMPILERCHECK": "content"}


def kernel_make(tree: Path, objects: Path, *words: str) -> list[str]:
    """argv of make for `tree` with its objects in `objects`, on every processor."""
    cached = ["CC=ccache gcc", "HOSTCC=ccache gcc"] if find("ccache") else []
    return [need("make"), f"--directory={tree}", f"O={objects}", f"-j{os.cpu_count()}", *cached, *words]


def compiler_cache() -> dict[str, str]:
    """Where ccache keeps what was compiled, and how; users' own settings do not count."""
    return {"CCACHE_DIR": str(paths.CACHE / "ccache"), "CCACHE_CONFIGPATH": os.devnull, **CCACHE}
