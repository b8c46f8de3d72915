# SPDX-License-Identifier: MIT
"""A figure in JupyterLab that is drawn again in place: what it shows is a model of its own, plot.js the view.

Not plotly's FigureWidget: that one opens without its data and sends them after, and anywidget throws them
away where the library took over two seconds to load: on a busy machine its axes stay empty.
"""

from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w  # type: ignore[import-untyped]
import plotly
import plotly.graph_objects as go
from traitlets import Dict, Unicode

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
        self.state = FigureState(
            source=LIBRARY.read_text(), figure=figure.to_json(validate=False), config=config
        )
        super().__init__(of=self.state.model_id)

    def show(self, figure: go.Figure) -> None:
        """Draw this instead, in one message."""
        self.state.figure = figure.to_json(validate=False)

    def stand(self, values: dict[w.Widget, dict[str, Any]]) -> None:
        """Say where the controls stand, to a browser that has not moved them since."""
        self.state.send({"stand": {control.model_id: state for control, state in values.items()}})
