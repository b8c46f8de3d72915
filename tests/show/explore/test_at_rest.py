# SPDX-License-Identifier: MIT
"""What is done once the hand rests: the last that was asked wins, and what was before is given up."""

import asyncio

import pytest

from lockscale.show.explore import widget
from lockscale.show.explore.widget import AtRest


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(widget, "REST_S", 0.01)


def test_of_many_moves_the_last_is_worked_out():
    shown = []

    async def move():
        rest = AtRest()
        for n in range(5):
            rest.ask(lambda wanted, n=n: n, shown.append)
        await rest.task

    asyncio.run(move())
    assert shown == [4]


def test_work_under_way_is_given_up_when_the_hand_moves():
    shown, saw = [], []

    async def move():
        rest, begun = AtRest(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow(wanted):
            loop.call_soon_threadsafe(begun.set)
            while wanted():
                pass
            saw.append("given up")
            return "stale"

        rest.ask(slow, shown.append)
        await begun.wait()
        rest.ask(lambda wanted: "new", shown.append)
        await rest.task

    asyncio.run(move())
    assert shown == ["new"] and saw == ["given up"]


def test_the_hand_may_move_next_in_another_thread():
    """Where ipykernel hands the next message to a subshell."""
    shown, rest = [], AtRest()

    async def asked(what: str) -> None:
        rest.ask(lambda wanted: what, shown.append)
        await rest.task

    async def move():
        rest.ask(lambda wanted: "stale", shown.append)
        first = rest.task
        await asyncio.to_thread(asyncio.run, asked("new"))
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(move())
    assert shown == ["new"]


def test_without_an_event_loop_nothing_is_done():
    shown = []
    AtRest().ask(lambda wanted: 1, shown.append)
    assert shown == []
