# SPDX-License-Identifier: MIT
"""What of the explorer is in the browser: sliders, selectors, the keys that move them, and a figure.

The figure is drawn again in place: what it shows is a model of its own, plot.js the view. It is not plotly's
FigureWidget: that one opens without its data and sends them after, and anywidget throws them away where the
library took over two seconds to load: on a busy machine its axes stay empty.
"""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w  # type: ignore[import-untyped]
import numpy as np
import plotly
import plotly.graph_objects as go
from plotly.io.json import to_json_plotly
from traitlets import Dict, Unicode

from lockscale.show.explore.figure import Data
from lockscale.show.explore.setting import LOCK_KINDS, MAX_SKEW_US, MAX_THREADS, TIMES, rounded, scenes
from lockscale.show.figures.template import BUTTONS

EXPLORER, TIME = "lockscale-explorer", "lockscale-time"
"""CSS classes: of all of it, and of the sliders whose number is shown but cannot be typed."""
_SCRIPT = """
function render({ el }) {
  const isOurs = target => el.closest(".EXPLORER")?.contains(target);
  const onKey = event => {
    const forUs = !(event.ctrlKey || event.altKey || event.metaKey);
    if (!isOurs(event.target)) return;
    event.target.toggleAttribute("data-lm-suppress-shortcuts", forUs);
    const readouts = el.closest(".EXPLORER").querySelectorAll(".TIME .widget-readout");
    readouts.forEach(readout => { readout.tabIndex = -1; });
  };
  const onFocus = event => {
    const isReadout = event.target.matches?.(".TIME .widget-readout");
    if (isReadout && isOurs(event.target)) event.target.contentEditable = "false";
  };
  window.addEventListener("keydown", onKey, true);
  window.addEventListener("focusin", onFocus, true);
  return () => {
    window.removeEventListener("keydown", onKey, true);
    window.removeEventListener("focusin", onFocus, true);
  };
}
export default { render };
"""


class Keys(anywidget.AnyWidget):
    """Keys that are pressed in the explorer stay there; it has to be a child of the class EXPLORER.

    JupyterLab's command mode takes arrow keys (another cell) and letters (m: the cell becomes text, and what
    it shows is gone) from whatever is no text box. It leaves alone an element with the attribute
    data-lm-suppress-shortcuts (Lumino, CommandRegistry), which has to be the focused one: on one around it
    it comes too late for the shortcuts of `:focus`. Keys with Ctrl, Alt or Meta stay JupyterLab's.
    """

    _esm = _SCRIPT.replace("EXPLORER", EXPLORER).replace("TIME", TIME)


STEPS_A_DECADE, REACH = 50, 75
"""REACH steps lie on each side: a decade and a half."""
Positions = list[tuple[str, float]]


class TimeSlider(w.SelectionSlider):  # type: ignore[misc]
    """A slider over a time on a logarithmic scale, with the model's own time in its middle.

    `value`: a time to as many digits as are simulated, so that what is read is what is run. Its positions
    are whole numbers and stay what they are; another scene changes what they are called. A slider over the
    times themselves does not do: the browser rounds whatever it is told to its own steps and sends that
    back, so that a model's own time became one beside it.
    """

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


WIDE = {"description_width": "150px"}
LEFT_PX, RIGHT_PX = 490, 430


def controls() -> dict[str, Any]:
    """By the names of Setting's fields, in the order in which Tab goes through them."""
    titles = [(one.title, one.name) for one in scenes()]
    left, right = (
        {"style": WIDE, "layout": {"width": f"{px}px", "max_width": "100%"}} for px in (LEFT_PX, RIGHT_PX)
    )
    return {
        "scene": w.Dropdown(options=titles, description="contention", **left),
        "arm": w.Dropdown(options=tuple(scenes()[0].arms), description="arm", **left),
        "threads": w.IntSlider(min=1, max=MAX_THREADS, description="threads", **left),
        "compare": w.Checkbox(description="what does this patch remove?", indent=True, **left),
        "hold": TimeSlider(description=TIMES["hold"], **left),
        "elsewhere": TimeSlider(description=TIMES["elsewhere"], **right),
        "kind": w.Dropdown(options=list(LOCK_KINDS), description="lock kind", **right),
        "skew_us": w.FloatSlider(max=MAX_SKEW_US, step=50, description="start skew (us)", **right),
        "cpus": w.IntSlider(max=MAX_THREADS, description="host CPUs (0: enough)", **right),
    }


LIBRARY = Path(plotly.__file__).parent / "package_data/plotly.min.js"


class FigureState(w.Widget):  # type: ignore[misc]
    """What is drawn, whole from its first message on. A model of ipywidgets: it has no module to wait for.

    `source`: of plotly. `figure`: as JSON.
    """

    source = Unicode().tag(sync=True)
    figure = Unicode().tag(sync=True)
    config = Dict().tag(sync=True)


class Plot(anywidget.AnyWidget):
    """The view of a FigureState."""

    _esm = Path(__file__).with_name("plot.js")
    of = Unicode().tag(sync=True)

    def __init__(self, figure: go.Figure, stem: str) -> None:
        """`stem`: of the picture that its button saves."""
        config = {**BUTTONS, "toImageButtonOptions": {"filename": stem, "format": "svg"}}
        self.drawn: Data = figure.to_plotly_json()
        self.state = FigureState(source=LIBRARY.read_text(), figure=_sent(self.drawn), config=config)
        super().__init__(of=self.state.model_id)

    def show(self, data: Sequence[Data], layout: Data) -> None:
        """Change this of each trace and this of the layout, and draw it; one message: nothing half new
        is seen. Nothing is checked again: that takes plotly longer than a simulation."""
        for trace, new in zip(self.drawn["data"], data, strict=True):
            trace.update(new)
        _merge(self.drawn["layout"], layout)
        self.state.figure = _sent(self.drawn)

    def stand(self, values: dict[w.Widget, dict[str, Any]]) -> None:
        """Say where the controls stand, to a browser that has not moved them since."""
        self.state.send({"stand": {control.model_id: state for control, state in values.items()}})


def _merge(old: Data, new: Data) -> None:
    for name, value in new.items():
        if isinstance(value, dict):
            _merge(old.setdefault(name, {}), value)
        else:
            old[name] = value


def _sent(drawn: Data) -> str:
    """As JSON; arrays as the browser's library takes them, which is neither slow nor long."""
    traces = [{name: _packed(value) for name, value in trace.items()} for trace in drawn["data"]]
    return str(to_json_plotly({**drawn, "data": traces}))


def _packed(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return {"dtype": "f8", "bdata": base64.b64encode(value.astype("<f8").tobytes()).decode()}
