# SPDX-License-Identifier: MIT
"""A plan that takes hours is never silent: where it is, how long the rest takes, whether it starves."""

import threading
import time
from collections.abc import Callable
from typing import Self

from lockscale.machines.run_delay import Times, share_waited
from lockscale.progress import Progress, tell

TELL_EVERY_S = 10.0
LOOK_EVERY_S = 60.0
STARVED = 0.5
"""Of the time that the guests want a processor: so much of it without one doubles how long a point takes."""
TELL_AGAIN_S = 1800.0


class RunProgress:
    """Progress that is told again while nothing happens.

    left: what a line says of the time left, given how much is done. threads: of what is measured, now.
    """

    def __init__(
        self, outer: Progress, left: Callable[[float], str], threads: Callable[[], Times], study: str
    ) -> None:
        self.outer, self.left = outer, left
        self.starving = CpuStarvation(threads, study)
        self.last: tuple[float, str] | None = None
        self.ended = threading.Event()
        self.teller = threading.Thread(target=self._go_on, daemon=True)

    def update(self, done: float, note: str = "") -> None:
        """As of Progress; the note is kept for the lines that follow."""
        self.last = (done, note)
        self.outer.update(done, f"{note}{self.left(done)}")

    def _go_on(self) -> None:
        while not self.ended.wait(TELL_EVERY_S):
            if self.last:
                self.update(*self.last)
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
            tell(starved_text(share, took_s, self.study))


def starved_text(share: float, took_s: float, study: str) -> str:
    """share: waited of the time that processors were wanted in the last took_s seconds."""
    slower = 1 / (1 - min(share, 0.99))
    return (
        f"starved: in {took_s:.0f} s the guests waited for a CPU {100 * share:.0f}% of the time they "
        f"were runnable, so a point takes {slower:.1f} times as long (rates do not change): stop other work "
        f"here, or start a run of fewer points (lockscale study run {study} --short, or -p guests=...)"
    )
