# SPDX-License-Identifier: MIT
"""The search with some coordinates held: residuals and slopes in the others, nothing computed twice."""

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.inference.descent import slopes

if TYPE_CHECKING:
    from lockscale.queueing.inference.search import Problem


class Loose:
    """Of a problem at x, shape (free,): the coordinates that are not held may move.

    An optimiser asks again for what another has just left, and for slopes where it has been: both are
    kept. `places` are the loose coordinates.
    """

    def __init__(
        self, problem: "Problem", x: FloatArray, held: Collection[int], miss: FloatArray | None = None
    ) -> None:
        """miss: the residuals at x, where they are known."""
        self.places = [k for k in range(len(x)) if k not in held]
        self._problem, self._x = problem, x.copy()
        self._high = problem.bounds[1][self.places]
        self._misses: dict[bytes, FloatArray] = {}
        self._slopes: dict[bytes, FloatArray] = {}
        if miss is not None:
            self._misses[x[self.places].tobytes()] = miss

    def residuals(self, part: FloatArray) -> FloatArray:
        """Shape (points,), at loose coordinates."""
        key = part.tobytes()
        if key not in self._misses:
            self._misses[key] = self._problem.residuals(self._all(part[None])[0])
        return self._misses[key]

    def slopes(self, part: FloatArray, _miss: FloatArray | None = None) -> FloatArray:
        """The Jacobian there, shape (points, loose)."""
        key = part.tobytes()
        if key not in self._slopes:
            miss = self.residuals(part)[None]
            self._slopes[key] = slopes(self._many, part[None], miss, self._high)[0]
        return self._slopes[key]

    def _many(self, parts: FloatArray) -> FloatArray:
        return self._problem.many_residuals(self._all(parts))

    def _all(self, parts: FloatArray) -> FloatArray:
        xs = np.repeat(self._x[None], len(parts), axis=0)
        xs[:, self.places] = parts
        return xs
