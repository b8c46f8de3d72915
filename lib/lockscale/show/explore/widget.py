# SPDX-License-Identifier: MIT
"""The explorer in JupyterLab: controls that make a setting, and the figure of its view. No more."""

import asyncio
import functools
import html
import operator
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import ipywidgets as w  # type: ignore[import-untyped]
import numpy as np
import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.show.explore.controls import EXPLORER, Keys, Plot, controls
from lockscale.show.explore.figure import explorer_figure, layout, traces
from lockscale.show.explore.setting import (
    OPERATIONS_FINE,
    TIMES,
    Setting,
    changed,
    default,
    has_study,
    keep_parameters,
    keep_study,
)
from lockscale.show.explore.view import View, depends, view, view_while
from lockscale.show.explore.words import calibration, numbers, removes, runs, sliders
from lockscale.show.readable import WRAPS

REST_S = 0.4
Work = Callable[[Callable[[], bool]], Any]
"""Asks now and then whether it is still wanted; None if it is not."""


class AtRest:
    """Work that is done once the hand rests, beside what goes on, and given up when the hand moves.

    Without an event loop (a script, in which no hand moves anything) nothing is done.
    """

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        """The last that was asked for; an event loop alone keeps no task alive."""

    def ask(self, work: Work, then: Callable[[Any], None]) -> bool:
        """After REST_S work in a thread, then hand over what it found, in the loop's own thread.

        False where there is no loop, so that nothing will be done. What was asked for before may be of
        another thread's loop.
        """
        if self.task and not self.task.done():
            self.task.get_loop().call_soon_threadsafe(self.task.cancel)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        self.task = loop.create_task(self._rest(work, then))
        return True

    async def _rest(self, work: Work, then: Callable[[Any], None]) -> None:
        mine = asyncio.current_task()
        await asyncio.sleep(REST_S)
        found = await asyncio.to_thread(work, lambda: self.task is mine)
        if found is not None and self.task is mine:
            then(found)


UNMEASURED = {"ticklabeloverflow": "allow"}
"""Of an axis that is drawn again and again: the browser lays out the page anew for each label it measures."""
NOTHING = np.array([])
OF_MODEL = operator.attrgetter("scene", "arm", "compare")


def lock_explorer(setting: Setting | None = None) -> "Explorer":
    """The explorer, at this setting; show it as a cell's last line."""
    return Explorer(setting or Setting())


class Explorer(w.VBox):  # type: ignore[misc]
    """Controls, figure and words. `setting`: where the controls stand.

    Two controls may be heard at once in two threads: JupyterLab has a subshell of the kernel for messages of
    widgets, but ipykernel hands a control's first one to the main thread. So moves take turns, and a
    move sets no other control than those that it changes.
    """

    def __init__(self, setting: Setting) -> None:
        # a quick look that would tell nothing is not taken, here either
        self.setting = setting = setting if setting.is_quick else replace(setting, fine=True)
        self._turn = threading.RLock()
        self._setting_in: int | None = None
        """The thread that sets controls now, which does not hear of it again."""
        self._rest = AtRest()
        self.controls = controls()
        first = view(setting)
        self._drawn: Setting | None = setting
        figure = explorer_figure(first).update_xaxes(**UNMEASURED).update_yaxes(**UNMEASURED)
        self.plot = Plot(figure, "lock-explorer")
        self.words, self.kept = w.HTML(), w.HTML()
        self._of_study = self._button("Write study file", keep_study, _left_out)
        reset = w.Button(description="Reset", tooltip="all controls but contention and threads")
        reset.on_click(lambda _: self.move(**_at_first(self.setting)))
        buttons = [reset, self._button("Write model parameters", keep_parameters), self._of_study]
        self._set_controls(self.controls)
        for name, control in self.controls.items():
            control.observe(functools.partial(self._follow_hand, name), "value")
        rows = [*self.controls.values()]
        half = (len(rows) + 1) // 2
        columns = w.HBox([w.VBox(rows[:half]), w.VBox(rows[half:])], layout=WRAPS)
        super().__init__(
            [Keys(), columns, self.plot, self.words, w.HBox([*buttons, self.kept], layout=WRAPS)]
        )
        self.add_class(EXPLORER)
        self._show_words(first)
        self._at_rest()

    @property
    def figure(self) -> go.Figure:
        return go.Figure(self.plot.drawn)

    def move(self, **changes: Any) -> None:
        """Move controls; the last value given is the one that is shown. A quick look: `refine` says more."""
        with self._turn:
            before, self.setting = self.setting, replace(changed(self.setting, **changes), fine=False)
            self.kept.value = ""  # what was written is not what is set any more
            self._set_controls(_moved(before, self.setting, changes))
            if self._at_rest() and not self.setting.is_quick:  # no curve rather than a wrong one
                self._clear(
                    f"Simulating {OPERATIONS_FINE:,} operations a run: threads that share host CPUs are "
                    "preempted so seldom that a quick look tells nothing."
                )
            else:
                self._draw()

    def refine(self) -> None:
        """Draw the same with as many operations as a study takes; in JupyterLab it comes by itself."""
        with self._turn:
            self.setting = replace(self.setting, fine=True)
            self._draw()

    def _at_rest(self) -> bool:
        """Whether a finer view follows: not if this is one, nor in a script."""
        if self.setting.fine:
            return False
        fine = replace(self.setting, fine=True)

        def work(wanted: Callable[[], bool]) -> View | BadInput | None:
            try:
                return view_while(fine, wanted)
            except BadInput as error:
                return error

        def then(_: View | BadInput) -> None:
            with self._turn:
                if replace(self.setting, fine=True) == fine:
                    self._send_again()
                    self.refine()  # what was found is remembered

        return self._rest.ask(work, then)

    def _send_again(self) -> None:
        """Where the controls stand, once more: if the hand moved two at once, the browser may have heard of
        the one while it was asking for the other."""
        names = {one: "index" if hasattr(one, "index") else "value" for one in self.controls.values()}
        self.plot.stand({one: {name: getattr(one, name)} for one, name in names.items()})

    def _follow_hand(self, name: str, change: Any) -> None:
        if self._setting_in != threading.get_ident():
            self.move(**{name: change["new"]})

    def _draw(self) -> None:
        drawn, wanted = self._drawn, self.setting
        # another model takes other code than what is drawn, which on a busy machine takes a while
        if drawn is None or OF_MODEL(drawn) != OF_MODEL(wanted):
            shown = "the figure is the one of before" if drawn else "no figure yet"
            self._say(f"Simulating {wanted.of.title}, {wanted.arm}: {shown}.")
        try:
            found = view(self.setting)
        except BadInput as error:  # a path that cannot go on: no figure, rather than that of before
            self._clear(str(error))
            return
        self.plot.show(traces(found), layout(found))
        self._drawn = self.setting
        self._show_words(found)

    def _say(self, text: str) -> None:
        self.words.value = f"<p role='alert'>{html.escape(text)}</p>"

    def _clear(self, says: str) -> None:
        self.plot.show(
            [{"x": NOTHING, "y": NOTHING}] * len(self.plot.drawn["data"]),
            {"title": {"text": self.setting.of.title}},
        )
        self._drawn = None
        self._say(says)

    def _set_controls(self, names: Iterable[str]) -> None:
        """Set these controls to the setting, without hearing of it again."""
        self._setting_in = threading.get_ident()
        try:
            known = self.setting.of
            if self.controls["arm"].options != tuple(known.arms):
                with self.controls["arm"].hold_sync():  # names and choice in one message
                    self.controls["arm"].options = tuple(known.arms)
                    self.controls["arm"].value = self.setting.arm
            for name in names:
                control, value = self.controls[name], getattr(self.setting, name)
                if name in TIMES:
                    control.stand(default(known, TIMES[name]), value)
                else:
                    control.value = value
            for name in ("kind", "skew_us", "cpus"):
                self.controls[name].disabled = not known.any_kind
                self.controls[name].layout.visibility = "visible" if known.any_kind else "hidden"
            self._of_study.disabled = not has_study(self.setting)
        finally:
            self._setting_in = None

    def _show_words(self, found: Any) -> None:
        for name, parameter in TIMES.items():
            self.controls[name].disabled = not depends(self.setting.scene, self.setting.arm, parameter)
        lines = [
            html.escape(line)
            for line in (
                *numbers(found),
                sliders(self.setting),
                removes(found),
                runs(found),
                calibration(found),
            )
            if line
        ]
        self.words.value = (
            f"<p aria-live='polite'>{'<br>'.join(lines)}</p><pre>{html.escape(self.setting.command())}</pre>"
        )

    def _button(
        self, text: str, keep: Callable[[Setting], Path], note: Callable[[Setting], str] = lambda _: ""
    ) -> Any:
        button = w.Button(description=text, layout={"width": "auto", "flex": "none"})

        def write(_: Any) -> None:
            try:
                outcome = f"wrote {keep(self.setting)}{note(self.setting)}"
            except BadInput as error:
                outcome = str(error)
            self.kept.value = f"<span role='status'>{html.escape(outcome)}</span>"

        button.on_click(write)
        return button


def _moved(before: Setting, after: Setting, asked: Collection[str]) -> list[str]:
    """The controls that this move sets: those asked for or changed with them, all for another scene."""
    names = [one.name for one in fields(Setting) if one.name != "fine"]
    if before.scene != after.scene:
        return names
    return [one for one in names if one in asked or getattr(before, one) != getattr(after, one)]


def _at_first(setting: Setting) -> dict[str, Any]:
    """Where the contention's controls stand before a hand has moved any."""
    own = Setting(setting.scene, threads=setting.threads)
    return {one.name: getattr(own, one.name) for one in fields(own) if one.name not in ("scene", "fine")}


def _left_out(setting: Setting) -> str:
    """What a study file has no place for."""
    most, asked = OPERATIONS_FINE, setting.operations
    note = f"; a study simulates {most:,} operations per run, this quick look {asked:,}"
    return "" if asked == most else note
