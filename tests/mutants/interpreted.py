# SPDX-License-Identifier: MIT
"""The simulator without a compiler, as a plugin of pytest: a mutant of its loop runs at once, and slowly."""

from typing import Any

import numba
import numpy as np


def pytest_configure() -> None:
    """Before anything of the simulator is imported: its functions stay Python's."""
    config: Any = numba.config
    config.DISABLE_JIT = True
    np.seterr(all="ignore")  # whole numbers of 64 bits wrap around, as compiled

    from lockscale.sim.program import Program

    compiled = Program.world

    def world(self: Program, **asked: Any) -> Any:
        """Its records as Python reaches them: by attribute."""
        made: Any = compiled(self, **asked)
        return made._replace(**{name: _by_attribute(array) for name, array in made._asdict().items()})

    Program.world = world  # type: ignore[method-assign]


class _Record(np.record):
    """Fields before numpy's own attributes: a step's `shape` is that of its distribution."""

    def __getattribute__(self, name: str) -> Any:
        names = np.record.__getattribute__(self, "dtype").names
        return self[name] if name in names else np.record.__getattribute__(self, name)


def _by_attribute(array: Any) -> Any:
    if not array.dtype.names:
        return array
    return array.view(np.dtype((_Record, array.dtype)))
