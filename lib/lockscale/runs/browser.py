# SPDX-License-Identifier: MIT
"""The runs in JupyterLab: filters above the table, two runs to compare below it, all by keyboard."""

import ipywidgets as w  # type: ignore[import-untyped]

from lockscale.runs.comparison import latest_two, side_by_side
from lockscale.runs.listed import runs_table

FILTERS = ("study", "target", "origin")
ANY = "any"


def browse_runs() -> "Browser":
    """The browser; show it as a cell's last line."""
    return Browser()


class Browser(w.VBox):  # type: ignore[misc]
    """Filters, the runs that are left, and two of them compared."""

    def __init__(self) -> None:
        frame = runs_table().frame
        self.filters = {
            name: w.Dropdown(options=[ANY, *sorted(frame[name].dropna().unique())], description=name)
            for name in FILTERS
        }
        self.text = w.Text(description="contains")
        self.table, self.found = w.HTML(), w.HTML()
        measured = [ANY, *frame.run[frame.rows.fillna(0) > 0]]
        self.two = [w.Dropdown(options=measured, description=name) for name in ("first", "second")]
        for control, name in zip(self.two, latest_two() or (), strict=False):
            control.value = name
        for control in (*self.filters.values(), self.text):
            control.observe(lambda _: self._show_table(), "value")
        for control in self.two:
            control.observe(lambda _: self._show_two(), "value")
        super().__init__(
            [w.HBox([*self.filters.values(), self.text]), self.table, w.HBox(self.two), self.found]
        )
        self._show_table()
        self._show_two()

    def _show_table(self) -> None:
        chosen = {name: control.value for name, control in self.filters.items() if control.value != ANY}
        self.table.value = runs_table(**chosen, text=self.text.value)._repr_html_()

    def _show_two(self) -> None:
        names = [control.value for control in self.two]
        if ANY in names:
            self.found.value = "<p>Choose two measured runs of one study and origin to compare.</p>"
            return
        self.found.value = side_by_side(*names)._repr_html_()
