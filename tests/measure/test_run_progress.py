# SPDX-License-Identifier: MIT
"""A step of an hour is not silent: lines say where it is, how long is left, and that its guests starve."""

import threading

import pytest

from lockscale.measure import run_progress
from lockscale.measure.run_progress import CpuStarvation, Live, RunProgress


class Clock:
    """time.monotonic() as a test says it."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(run_progress, "time", made)
    monkeypatch.setattr(run_progress, "tell", lambda _: None)
    return made


class Lines:
    """A Progress that keeps what it was told."""

    def __init__(self) -> None:
        self.said: list[tuple[float, str]] = []
        self.twice = threading.Event()

    def update(self, done: float, note: str = "") -> None:
        self.said.append((done, note))
        if len(self.said) > 1:
            self.twice.set()


def test_a_note_is_told_again_while_nothing_happens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_progress, "TELL_EVERY_S", 0.01)
    lines = Lines()
    with RunProgress(lines, 1, lambda done: f", {done} behind", dict, "s") as told:
        told.tell("004", 0.5, "48 processes")
        assert lines.twice.wait(60)
    assert set(lines.said) == {(1.5, "004 48 processes, 1.5 behind")}


def test_the_time_left_counts_down_within_a_step(clock: Clock):
    live = Live([600.0, 600.0], 3)
    assert live.now_left(0.2) == ", about 30 min left"
    clock.now_s += 300
    assert live.now_left(0.5) == ", about 25 min left"
    clock.now_s += 3000  # this one is slower: the two after it are left in any case
    assert live.now_left(0.9) == ", about 20 min left"
    live.done([], 3300.0, 1)
    clock.now_s += 99999
    assert live.now_left(2.9) == ", longer than any step before"
    live.done([], 600.0, 0)
    assert live.now_left(3) == ""


def test_the_first_step_of_all_tells_from_its_own_parts(clock: Clock):
    live = Live([], 4)
    assert live.now_left(0.5) == ""
    clock.now_s += 600
    assert live.now_left(0.5) == ""  # the first part goes on: nothing is known yet
    assert live.now_left(1) == ", perhaps 30 min left"
    clock.now_s += 600
    assert live.now_left(1) == ", perhaps 30 min left"


def test_a_starved_guest_is_told_once_in_a_while_with_what_to_do(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    said: list[str] = []
    monkeypatch.setattr(run_progress, "tell", said.append)
    times = {7: (0, 0)}
    starving = CpuStarvation(lambda: dict(times), "inode-claim")

    def minute(ran_s: int, waited_s: int) -> None:
        ran_ns, waited_ns = times[7]
        times[7] = (ran_ns + ran_s * 10**9, waited_ns + waited_s * 10**9)
        clock.now_s += 60
        starving.look()

    minute(40, 20)
    assert said == []
    minute(15, 45)
    assert len(said) == 1 and "75% of the time" in said[0] and "4.0 times as long" in said[0]
    assert "lockscale study run inode-claim --short" in said[0]
    minute(15, 45)
    assert len(said) == 1
    clock.now_s += run_progress.TELL_AGAIN_S
    minute(15, 45)
    assert len(said) == 2
