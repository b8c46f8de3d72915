# SPDX-License-Identifier: MIT
"""A figure in JupyterLab that is drawn again in place: what it shows is a model of its own, plot.js the view.

Not plotly's FigureWidget: that one opens without its data and sends them after, and anywidget throws them
away where the library took over two seconds to load: on a busy machine its axes stay empty.
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
from lockscale.show.figures.template import BUTTONS

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

    _esm = Path(__file__).with_suffix(".js")
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
