# SPDX-License-Identifier: MIT
"""numba with a disk cache that cannot be stale.

numba's cache looks at the file of the compiled function only, not at the modules it uses. So the
cache's folder is named by a hash of all sources in this one, which are all that is compiled. A
user's NUMBA_CACHE_DIR is respected: the folder is then made inside it. What is kept carries its hash, as a
flipped bit of machine code ends the process at best: what is damaged is compiled again.
"""

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching

from lockscale.paths import CACHE

_CacheFile: Any = caching.IndexDataCacheFile
Function = TypeVar("Function", bound=Callable[..., object])


class _HashedCacheFile(_CacheFile):  # type: ignore[misc]
    """Each file ends with the hash of the rest of it, and its index of what numba writes after its version.

    Pickles end by themselves, so what numba reads stays as it was.
    """

    def _dump(self, obj: Any) -> Any:
        data: bytes = super()._dump(obj)
        return data + hashlib.sha256(data).digest()

    def _load_index(self) -> Any:
        path, version = Path(self._index_path), pickle.dumps(self._version, protocol=-1)
        content = path.read_bytes() if path.exists() else None
        if content is None:
            return {}
        if content.startswith(version) and _is_whole(content[len(version) :]):
            return super()._load_index()
        self._say(self._index_name)
        return {}

    def _load_data(self, name: str) -> Any:
        if not _is_whole(Path(self._data_path(name)).read_bytes()):
            self._say(name)
            raise OSError(f"{name} is damaged")  # numba's load() then finds nothing
        return super()._load_data(name)

    def _say(self, name: str) -> None:
        where = f"{name} in {self._cache_path}, a compiled part of the simulator,"
        sys.stderr.write(f"{where} is damaged or of another numba: it is compiled again\n")


def _is_whole(content: bytes) -> bool:
    return hashlib.sha256(content[:-32]).digest() == content[-32:]


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
    """As ``compiled``, for what runs a few times only: it stays a function, off its caller's registers.

    That has to be said: a function of which nothing is said is put into its caller if that is ``compiled``.
    """
    return _njit(function, forceinline=False)


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
        result: Any = njit(cache=os.access(folder, os.W_OK), **options)(function)
        if file := getattr(getattr(result, "_cache", None), "_cache_file", None):
            file.__class__ = _HashedCacheFile
    except OSError:
        result = njit(**options)(function)
    finally:
        config.CACHE_DIR = before
    made: Function = result
    return made
