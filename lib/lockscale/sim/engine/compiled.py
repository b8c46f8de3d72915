# SPDX-License-Identifier: MIT
"""numba with a disk cache that cannot be stale.

numba's cache looks at the file of the compiled function only, not at the modules it uses. So the
cache's folder is named by a hash of all sources in this one, which are all that is compiled. A
user's NUMBA_CACHE_DIR is respected: the folder is then made inside it.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from lockscale.paths import CACHE

Function = TypeVar("Function", bound=Callable[..., object])


def source_hash(folder: Path) -> str:
    """Names and contents of the Python files of one folder, as 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Where this version of the engine keeps its machine code."""
    parent = os.environ.get("NUMBA_CACHE_DIR") or CACHE / "numba"
    return Path(parent) / source_hash(Path(__file__).parent)


def compiled(function: Function) -> Function:
    """Compile at the first call without the interpreter lock; keep the machine code on disk.

    Where the folder cannot be written the code is compiled anew in every process. Compiled functions
    allocate nothing, so they run without numba's counting of references (``_nrt``), and are put
    into their callers (``forceinline``): either alone makes the engine several times slower.
    """
    return _njit(function, forceinline=True)


def apart(function: Function) -> Function:
    """As ``compiled``, for what runs a few times only: it stays a function, off its caller's registers."""
    return _njit(function)


def inner(function: Function) -> Function:
    """As ``compiled``, for functions of a written loop: kept with it, and called from nowhere else."""
    njit: Any = numba.njit
    no_entries = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    result: Function = njit(nogil=True, _nrt=False, forceinline=True, **no_entries)(function)
    return result


def _njit(function: Function, **options: bool) -> Function:
    folder = cache_folder()
    config: Any = numba.config
    njit: Any = numba.njit
    options = {"nogil": True, "_nrt": False, **options}
    before = config.CACHE_DIR
    try:
        folder.mkdir(parents=True, exist_ok=True)
        config.CACHE_DIR = str(folder)
        result: Function = njit(cache=os.access(folder, os.W_OK), **options)(function)
    except OSError:
        result = njit(**options)(function)
    finally:
        config.CACHE_DIR = before
    return result
