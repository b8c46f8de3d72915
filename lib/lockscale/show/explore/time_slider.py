# SPDX-License-Identifier: MIT
"""A slider over a time on a logarithmic scale, with the model's own time in its middle.

Its positions are whole numbers and stay what they are; another scene changes what they are called. A
slider over the times themselves does not do: the browser rounds whatever it is told to its own steps
and sends that back, so that a model's own time became one beside it.
"""

from typing import Any

import ipywidgets as w  # type: ignore[import-untyped]

from lockscale.show.explore.keys import TIME
from lockscale.show.explore.setting import rounded

STEPS_A_DECADE, REACH = 50, 75
"""REACH steps lie on each side: a decade and a half."""
Positions = list[tuple[str, float]]


class TimeSlider(w.SelectionSlider):  # type: ignore[misc]
    """`value`: a time to as many digits as are simulated, so that what is read is what is run."""

    def __init__(self, **look: Any) -> None:
        self._middle = 1.0
        self._times = positions(1.0, 1.0)
        super().__init__(options=self._times, index=REACH, **look)
        self.add_class("jupyter-widgets").add_class(TIME)  # the first one its view forgets

    def stand(self, middle: float, value: float) -> None:
        """Stand at `value`, 0: at `middle`. Where that is so already nothing is sent: the browser would take
        it for news and go back to it, while the hand is elsewhere."""
        wanted = rounded(value) or middle
        if middle != self._middle or wanted not in dict(self._times).values():
            with self.hold_sync():  # names and place in one message
                self._middle, self._times = middle, positions(middle, wanted)
                self.options = self._times
                self.value = wanted
        elif wanted != self.value:
            self.value = wanted


def positions(middle: float, value: float) -> Positions:
    """(what is read, the time): equal ratios around `middle`; the nearest to `value` is `value`."""
    times = [rounded(middle * 10 ** (k / STEPS_A_DECADE)) for k in range(-REACH, REACH + 1)]
    times[REACH] = middle
    if value not in times:
        nearest = min(range(len(times)), key=lambda k: abs(times[k] / value - 1))
        times[nearest] = value
    return [(f"{time:.12g}", time) for time in times]
