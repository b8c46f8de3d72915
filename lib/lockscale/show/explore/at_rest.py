# SPDX-License-Identifier: MIT
"""Work that is done once the hand rests, beside what goes on, and given up when the hand moves."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

REST_S = 0.4
Work = Callable[[Callable[[], bool]], Any]
"""Asks now and then whether it is still wanted; None if it is not."""


class AtRest:
    """`ask` for work: what was asked before is given up. Without an event loop (a script, in which no hand
    moves anything) nothing is done."""

    def __init__(self) -> None:
        self._asked = 0
        self._tasks: set[asyncio.Task[None]] = set()
        """An event loop keeps no task alive."""

    def ask(self, work: Work, then: Callable[[Any], None]) -> None:
        """After REST_S work in a thread, then hand over what it found, in the loop's own thread."""
        self._asked += 1
        mine = self._asked
        rest = self._rest(lambda: self._asked == mine, work, then)
        self._begin(rest)

    def _begin(self, rest: Coroutine[Any, Any, None]) -> None:
        try:
            task = asyncio.get_running_loop().create_task(rest)
        except RuntimeError:  # there is no loop
            rest.close()
            return
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _rest(self, wanted: Callable[[], bool], work: Work, then: Callable[[Any], None]) -> None:
        await asyncio.sleep(REST_S)
        if not wanted():
            return
        found = await asyncio.to_thread(work, wanted)
        if wanted() and found is not None:
            then(found)
