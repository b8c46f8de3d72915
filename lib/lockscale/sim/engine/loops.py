# SPDX-License-Identifier: MIT
"""Which loop runs a program: the general one at once, one written for its op table when that is worth it.

Both give the same bits. To write and compile a loop takes seconds; it is done when a process has run, or is
about to run, ``WORTH`` steps of one structure, or by ``prepare``. The machine code is kept, as that of the
general loop, so the next process has it from its first run on.
"""

import hashlib
import importlib.util
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.registry import cpu_target

from lockscale.sim.engine import run_ops
from lockscale.sim.engine.compiled import cache_folder
from lockscale.sim.engine.specialise import Structure, Writer

Loop = Callable[..., tuple[Any, Any, Any, Any]]
WORTH = 500_000_000
"""Steps of one process, some 4 s of the general loop, after which a loop of its own is written."""

_steps: Counter[Structure] = Counter()
_loops: dict[Structure, Loop | None] = {}
_making, _loading = threading.Lock(), threading.Lock()


def run(of: Structure, w: Any, *arguments: Any) -> tuple[Any, Any, Any, Any]:
    """As ``run_ops.run``, by the fastest loop at hand; ``of``: the structure of the world ``w``."""
    loop: Any = run_ops.run
    if len(w.events) == 0:  # a traced run is short
        *_, warm_up, operations = arguments
        _steps[of] += (warm_up + operations) * len(w.ops)
        loop = kept(of) or (prepare(of, w, *arguments) if _steps[of] >= WORTH else None) or loop
    found: tuple[Any, Any, Any, Any] = loop(w, *arguments)
    return found


def kept(of: Structure) -> Loop | None:
    """The loop that was written and compiled before, by this process or another."""
    with _loading:  # replications are run in several threads
        if of not in _loops:
            name = _name(of)
            _loops[of] = _load(name) if _ready(name).exists() else None
        return _loops[of]


def prepare(of: Structure, w: Any, *arguments: Any) -> Loop | None:
    """Write and compile it for such arguments; None where it cannot be kept, or another thread is at it."""
    if not os.access(cache_folder(), os.W_OK) or not _making.acquire(blocking=False):
        return None
    try:
        loop: Any = _write(of)
        typeof: Any = numba.typeof
        loop.compile(tuple(typeof(argument) for argument in (w, *arguments)))
        _ready(_name(of)).touch()
        with _loading:
            _loops[of] = loop
        return _loops[of]
    finally:
        _making.release()


def _name(of: Structure) -> str:
    """Of its module: what it is written from, and the processor that it is compiled for."""
    processor = cpu_target.target_context.codegen().magic_tuple()  # by which numba keeps its code too
    return "loop_" + hashlib.sha256(repr((of, processor)).encode()).hexdigest()[:16]


def _file(name: str) -> Path:
    return cache_folder() / "loops" / f"{name}.py"


def _ready(name: str) -> Path:
    """An empty file that says that the loop is compiled."""
    return _file(name).with_suffix(".ready")


def _write(of: Structure) -> Loop:
    file = _file(_name(of))
    if not file.exists():  # a newer file would make the kept code stale
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}")
        with unfinished.open("w") as stream:
            stream.write(Writer(of).text())
            stream.flush()
            os.fsync(stream.fileno())  # it is trusted by its name, also after a power cut
        unfinished.replace(file)
    return _load(file.stem)


def _load(name: str) -> Loop:
    """Its module, under a name that the kept code finds again."""
    full = f"{__package__}.{name}"
    if full not in sys.modules:
        spec: Any = importlib.util.spec_from_file_location(full, _file(name))
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        spec.loader.exec_module(module)
    loop: Loop = sys.modules[full].run
    return loop
