# SPDX-License-Identifier: MIT
"""Steps of a plan carried out one after another, or several at once where none disturbs another."""

import concurrent.futures
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from lockscale.measure.plan import Step
from lockscale.progress import Progress

T = TypeVar("T")


def carried_out(steps: Sequence[Step], work: Callable[[Step], T], at_once: int) -> Iterator[tuple[Step, T]]:
    """Each step with what `work` gave of it, as soon as it is done; at most `at_once` run.

    The first error ends it: no further step begins, and whoever holds the place ends those that run.
    """
    if at_once == 1:
        yield from ((step, work(step)) for step in steps)
        return
    ended = threading.Event()

    def begin(step: Step) -> list[T]:
        """What work gives; nothing where another step failed: its thread would take this one at once."""
        if ended.is_set():
            return []
        try:
            return [work(step)]
        except BaseException:
            ended.set()
            raise

    pool = concurrent.futures.ThreadPoolExecutor(at_once)
    try:
        begun = {pool.submit(begin, step): step for step in steps}
        for one in concurrent.futures.as_completed(begun):
            yield from ((begun[one], given) for given in one.result())
    finally:
        ended.set()
        pool.shutdown(wait=False, cancel_futures=True)


class Shares:
    """The progress of a plan as the sum of what is done of each step, which may run side by side."""

    def __init__(self, outer: Progress, done: int) -> None:
        self.outer, self.done, self.running = outer, float(done), dict[str, float]()
        self.changing = threading.Lock()

    def of(self, step: Step) -> Progress:
        """What is told of one step while it runs."""
        return _Share(self, step)

    def tell(self, step: Step, share: float, note: str) -> None:
        """So much of `step` is done; with all of it, it runs no more."""
        with self.changing:
            self.running[step.name] = share
            if share == 1:
                self.done += self.running.pop(step.name)
            self.outer.update(self.done + sum(self.running.values()), f"{step.name} {note}".strip())


class _Share:
    """Progress inside one step of the plan, as a fraction of it: its boot and each of its points."""

    def __init__(self, whole: Shares, step: Step) -> None:
        self.whole, self.step = whole, step

    def update(self, done: float, note: str = "") -> None:
        self.whole.tell(self.step, (done + 1) / (len(self.step.processes) + 2), note)
