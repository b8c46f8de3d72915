# SPDX-License-Identifier: MIT
"""The explorer in JupyterLab: controls that make a setting, and the figure of its view. No more."""

import html
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ipywidgets as w  # type: ignore[import-untyped]
import numpy as np
import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.show.explore.at_rest import AtRest
from lockscale.show.explore.figure import Data, explorer_figure, layout, traces
from lockscale.show.explore.keep import keep_parameters_said, keep_study_said
from lockscale.show.explore.keys import EXPLORER, Keys
from lockscale.show.explore.scenes import LOCK_KINDS, TIMES, scenes
from lockscale.show.explore.setting import MAX_SKEW_US, MAX_THREADS, Setting, changed, default
from lockscale.show.explore.time_slider import TimeSlider
from lockscale.show.explore.view import View, view, view_while
from lockscale.show.explore.words import numbers, removes, runs

WIDE = {"description_width": "140px"}
LEFT_PX, RIGHT_PX = 540, 440
NOTHING = np.array([])


def lock_explorer(setting: Setting | None = None) -> "Explorer":
    """The explorer, at this setting; show it as a cell's last line."""
    return Explorer(setting or Setting())


class Explorer(w.VBox):  # type: ignore[misc]
    """Controls, figure and words. `setting`: where the controls stand; `recompute_ms`: what the last took."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.recompute_ms = 0.0
        self._moving = False
        self._rest = AtRest()
        self.controls = _controls()
        first = view(setting)
        self.figure = go.FigureWidget(explorer_figure(first))
        self._drawn, self._laid = traces(first), layout(first)
        self.words, self.kept = w.HTML(), w.HTML()
        buttons = [
            self._button("Write model parameters", keep_parameters_said),
            self._button("Write study file", keep_study_said),
        ]
        self._follow()
        for name, control in self.controls.items():
            control.observe(self._observer(name), "value")
        rows = [*self.controls.values()]
        half = (len(rows) + 1) // 2
        columns = w.HBox([w.VBox(rows[:half]), w.VBox(rows[half:])])
        super().__init__([Keys(), columns, self.figure, self.words, w.HBox([*buttons, self.kept])])
        self.add_class(EXPLORER)
        self._say(first)
        self._at_rest()

    def move(self, **changes: Any) -> None:
        """Move controls; the last value given is the one that is shown. A quick look: `refine` says more."""
        self.setting = replace(changed(self.setting, **changes), fine=False)
        self.kept.value = ""  # what was written is not what is set any more
        self._follow()
        self._draw()
        self._at_rest()

    def refine(self) -> None:
        """Draw the same with as many operations as a study takes; in JupyterLab it comes by itself."""
        self.setting = replace(self.setting, fine=True)
        self._draw()

    def _at_rest(self) -> None:
        if self.setting.fine:
            return
        fine = replace(self.setting, fine=True)

        def work(wanted: Callable[[], bool]) -> View | BadInput | None:
            try:
                return view_while(fine, wanted)
            except BadInput as error:
                return error

        def then(_: View | BadInput) -> None:
            self._tell()
            self.refine()  # what was found is remembered

        self._rest.ask(work, then)

    def _tell(self) -> None:
        """Where the controls stand, once more: if the hand moved two at once, the browser may have heard of
        the one while it was asking for the other."""
        for control in self.controls.values():
            control.send_state("index" if hasattr(control, "index") else "value")

    def _observer(self, name: str) -> Callable[[Any], None]:
        def observe(change: Any) -> None:
            if not self._moving:
                self.move(**{name: change["new"]})

        return observe

    def _draw(self) -> None:
        started_s = time.perf_counter()
        try:
            found = view(self.setting)
        except BadInput as error:  # a path that cannot go on: no figure, rather than that of before
            self._apply([{"x": NOTHING, "y": NOTHING}] * len(self.figure.data), {})
            self.words.value = f"<p role='alert'>{html.escape(str(error))}</p>"
            return
        self.recompute_ms = 1000 * (time.perf_counter() - started_s)
        self._apply(traces(found), layout(found))
        self._say(found)

    def _apply(self, data: list[Data], laid: Data) -> None:
        """Send what differs from what is drawn, in one message: nothing half new is seen."""
        with self.figure.batch_update():
            for trace, new, old in zip(self.figure.data, data, self._drawn, strict=True):
                trace.update(_differing(new, old))
            self.figure.update_layout(_differing(laid, self._laid))
        self._drawn = [{**old, **new} for new, old in zip(data, self._drawn, strict=True)]
        self._laid = {**self._laid, **laid}

    def _follow(self) -> None:
        """Set the controls to the setting, without hearing of it again."""
        self._moving = True
        try:
            known = self.setting.of
            if self.controls["arm"].options != tuple(known.arms):
                with self.controls["arm"].hold_sync():  # names and choice in one message
                    self.controls["arm"].options = tuple(known.arms)
                    self.controls["arm"].value = self.setting.arm
            for name, control in self.controls.items():
                value = getattr(self.setting, name)
                if name in TIMES:
                    control.stand(default(known, TIMES[name]), value)
                else:
                    control.value = value
            for name in ("kind", "skew_us", "cpus"):
                self.controls[name].disabled = not known.any_kind
        finally:
            self._moving = False

    def _say(self, found: Any) -> None:
        lines = [html.escape(line) for line in (*numbers(found), removes(found), runs(found)) if line]
        self.words.value = (
            f"<p aria-live='polite'>{'<br>'.join(lines)}</p><pre>{html.escape(self.setting.command())}</pre>"
        )

    def _button(self, text: str, keep: Callable[[Setting], str]) -> Any:
        button = w.Button(description=text, layout={"width": "auto"})

        def write(_: Any) -> None:
            try:
                said = keep(self.setting)
            except BadInput as error:
                said = str(error)
            self.kept.value = f"<span role='status'>{html.escape(said)}</span>"

        button.on_click(write)
        return button


def _differing(new: Data, old: Data) -> Data:
    return {name: value for name, value in new.items() if not _same(value, old.get(name))}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    return bool(one == other)


def _controls() -> dict[str, Any]:
    """By the names of Setting's fields, in the order in which Tab goes through them."""
    titles = [(one.title, one.name) for one in scenes()]
    left, right = ({"style": WIDE, "layout": {"width": f"{px}px"}} for px in (LEFT_PX, RIGHT_PX))
    hold, elsewhere = (f"{name} ({TIMES[name].rpartition('_')[2]})" for name in ("hold", "elsewhere"))
    return {
        "scene": w.Dropdown(options=titles, description="contention", **left),
        "arm": w.Dropdown(options=tuple(scenes()[0].arms), description="arm", **left),
        "threads": w.IntSlider(min=1, max=MAX_THREADS, description="threads", **left),
        "compare": w.Checkbox(description="what does this patch remove?", indent=True, **left),
        "hold": TimeSlider(description=hold, **left),
        "elsewhere": TimeSlider(description=elsewhere, **right),
        "kind": w.Dropdown(options=list(LOCK_KINDS), description="lock kind", **right),
        "skew_us": w.FloatSlider(max=MAX_SKEW_US, step=50, description="start skew (us)", **right),
        "cpus": w.IntSlider(max=MAX_THREADS, description="CPUs (0: one each)", **right),
    }
