# SPDX-License-Identifier: MIT
"""A plan that takes hours is never silent: where it is, its rates so far, how long the rest takes, whether it
starves.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import pandas as pd

from lockscale.machines.run_delay import Times, share_waited
from lockscale.measure.plan import WARM_UP
from lockscale.measure.rows import STATISTICS, operation_of
from lockscale.progress import Progress, tell, updated_table

TELL_EVERY_S = 10.0
LOOK_EVERY_S = 60.0
STARVED = 0.5
"""Of the time that the guests want a processor: so much of it without one doubles how long a point takes."""
TELL_AGAIN_S = 1800.0


class RunProgress:
    """The sum of what is done of each step of a plan, some side by side, told again while nothing happens.

    done: how many are. left: what a line says of the time left, given how much is done. threads: of what is
    measured, now.
    """

    def __init__(
        self,
        outer: Progress,
        done: int,
        left: Callable[[float], str],
        threads: Callable[[], Times],
        study: str,
    ) -> None:
        self.outer, self.left = outer, left
        self.done, self.running, self.changing = float(done), dict[str, float](), threading.Lock()
        self.starving = CpuStarvation(threads, study)
        self.last: tuple[float, str] | None = None
        self.ended = threading.Event()
        self.teller = threading.Thread(target=self._go_on, daemon=True)

    def tell(self, step: str, share: float, note: str = "") -> None:
        """So much of `step` is done; with all of it, it runs no more."""
        with self.changing:
            self.running[step] = share
            if share == 1:
                self.done += self.running.pop(step)
            self._update(self.done + sum(self.running.values()), f"{step} {note}".strip())

    def _update(self, done: float, note: str) -> None:
        """The note is kept for the lines that follow."""
        self.last = (done, note)
        self.outer.update(done, f"{note}{self.left(done)}")

    def _go_on(self) -> None:
        while not self.ended.wait(TELL_EVERY_S):
            if self.last:
                self._update(*self.last)
            self.starving.look()

    def __enter__(self) -> Self:
        self.teller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.teller.join()


class CpuStarvation:
    """Says that other work has the processors that the guests want, and what a person can do."""

    def __init__(self, threads: Callable[[], Times], study: str) -> None:
        self.threads, self.study = threads, study
        self.before, self.looked_s, self.told_s = threads(), time.monotonic(), -TELL_AGAIN_S

    def look(self) -> None:
        """Once LOOK_EVERY_S has gone by; told at most every TELL_AGAIN_S."""
        now_s = time.monotonic()
        if now_s - self.looked_s < LOOK_EVERY_S:
            return
        after = self.threads()
        share, took_s = share_waited(self.before, after), now_s - self.looked_s
        self.before, self.looked_s = after, now_s
        if share >= STARVED and now_s - self.told_s >= TELL_AGAIN_S:
            self.told_s = now_s
            slower = 1 / (1 - min(share, 0.99))
            tell(
                f"starved: in {took_s:.0f} s the guests waited for a CPU {100 * share:.0f}% of the time they "
                f"were runnable, so a point takes {slower:.1f} times as long (rates do not change): stop "
                f"other work here, or start a run of fewer points (lockscale study run {self.study} --short, "
                "or -p guests=...)"
            )


AA = " (A/A)"
OWN_STEPS = 3
"""So many steps of this run are enough to say how long the others take; earlier runs no longer count."""


def so_far(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rates by cpus and threads (index) and arm (columns): mean, standard deviation (repeats).

    Of the operation that the rows say. Text for a person; empty before the first rate. Of each load the
    rate of all its processes. The A/A pair has a column of its own: it is in no arm's mean.
    """
    frame = pd.DataFrame(list(rows))
    measured = frame[(frame.metric == "rate") & (frame.pair != WARM_UP)] if len(frame) else frame
    if measured.empty:
        return pd.DataFrame()
    rates = measured[measured.test == operation_of(frame)]
    named = next((name for name in STATISTICS if (rates.statistic == name).any()), "")
    rates = rates[rates.statistic == named]
    if rates.empty:
        return pd.DataFrame()
    rates = rates.assign(arm=rates.arm.where(rates.pair == "ab", rates.arm + AA))
    grouped = rates.groupby(["cpus", "threads", "arm"]).value.agg(["mean", "std", "count"])
    said = [_cell(*row) for row in grouped.itertuples(index=False)]
    return pd.Series(said, index=grouped.index).unstack("arm", fill_value="")


def _cell(mean: float, sd: float, count: int) -> str:
    spread = f", sd {100 * sd / mean:.1f}%" if count > 1 and mean else ""
    return f"{mean:,.0f}/s{spread} ({count})"


def time_text(seconds: float) -> str:
    """A duration as a person says it: 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


SURE_AFTER_S = 10.0
"""A part of the first step that took less tells nothing of the rest."""


class Live:
    """The table of one run, shown anew after each step; in a notebook in its place."""

    def __init__(self, steps_s: Sequence[float], left: int, at_once: int = 1) -> None:
        self.earlier_s, self.at_once = list(steps_s), at_once
        self.own_s: list[float] = []
        self.left, self.begun_s, self.since_s = left, time.monotonic(), time.monotonic()
        self.parts, self.parts_s = 0.0, 0.0
        self.show = updated_table()
        if left and self.earlier_s:
            sure = f"from {len(self.earlier_s)} earlier ones"
            tell(f"{left} steps to do, about {time_text(self.left_s(left))} {sure}")
        elif left:
            tell(f"{left} steps to do; their time is known after the first")

    def left_s(self, left: int) -> float:
        """Seconds for `left` steps: from this run's own once there are OWN_STEPS, else from all known."""
        known_s = self.own_s if len(self.own_s) >= OWN_STEPS else [*self.earlier_s, *self.own_s]
        return math.ceil(left / self.at_once) * sum(known_s) / len(known_s)

    def now_left(self, begun: float) -> str:
        """The end of a line amid a step; begun: how many steps this run has behind it, with parts of them.

        Before any step is known, as much again as the parts took that are over.
        """
        now_s = time.monotonic()
        if self.left and (self.own_s or self.earlier_s):
            later_s = self.left_s(self.left - 1)
            left_s = max(later_s, self.left_s(self.left) - (now_s - self.since_s))
            return f", about {time_text(left_s)} left" if left_s else ", longer than any step before"
        if begun != self.parts:
            self.parts, self.parts_s = begun, now_s - self.begun_s
        if self.left and begun > 0 and self.parts_s > SURE_AFTER_S:
            return f", perhaps {time_text(self.parts_s * (self.left - begun) / begun)} left"
        return ""

    def done(self, rows: Sequence[Mapping[str, Any]], wall_s: float, left: int) -> None:
        """One more step, which took `wall_s`; rows of all steps so far."""
        self.own_s.append(wall_s)
        self.left, self.since_s = left, time.monotonic()
        steps = "1 step" if left == 1 else f"{left} steps"
        ending = f"{steps} left, about {time_text(self.left_s(left))}" if left else "all steps are done"
        self.show(so_far(rows), ending)
