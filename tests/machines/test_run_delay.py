# SPDX-License-Identifier: MIT
"""A guest that has no processor is told from one that has, by what the kernel counts of its threads."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockscale.errors import RunFailed
from lockscale.machines.channel import Channel
from lockscale.machines.run_delay import OthersOnCpus, RunDelay, share_waited, times_of

LOOP = "trap '' HUP; while :; do :; done"
WANTED_NS = 200_000_000  # enough to have been asked for, however busy the machine is


@pytest.fixture
def two_on_one_processor() -> Iterator[tuple[int, int]]:
    """Two process groups, each with a loop that wants the one processor that both may use."""
    one = min(os.sched_getaffinity(0))
    argv = ["taskset", "--cpu-list", str(one), "sh", "-c", LOOP]
    loops = [subprocess.Popen(argv, start_new_session=True) for _ in range(2)]
    yield loops[0].pid, loops[1].pid
    for loop in loops:
        os.killpg(loop.pid, signal.SIGKILL)
        loop.wait()


def wanted_ns(group: int) -> int:
    return sum(ran + waited for ran, waited in times_of([group]).values())


def test_who_shares_a_processor_waits_half_of_the_time_or_more(two_on_one_processor: tuple[int, int]):
    before = [times_of([group]) for group in two_on_one_processor]
    while any(wanted_ns(group) < WANTED_NS for group in two_on_one_processor):
        time.sleep(0.02)
    after = [times_of([group]) for group in two_on_one_processor]
    shares = [share_waited(*pair) for pair in zip(before, after, strict=True)]
    # equal weights: neither has more than half, but for the slice in which the count was read
    assert all(share > 0.2 for share in shares) and sum(shares) > 0.8


def test_the_work_of_a_guest_is_not_that_of_others_and_what_shares_its_processor_is(
    two_on_one_processor: tuple[int, int],
):
    guest, _ = two_on_one_processor
    everybody, others = OthersOnCpus(0), OthersOnCpus(guest)
    before, since_s = times_of([guest]), time.monotonic()
    while wanted_ns(guest) < 10 * WANTED_NS:
        time.sleep(0.05)
    all_cpus, other_cpus, took_s = everybody.cpus(), others.cpus(), time.monotonic() - since_s
    ran_s = (sum(ran for ran, _ in times_of([guest]).values()) - sum(ran for ran, _ in before.values())) / 1e9
    assert all_cpus - other_cpus == pytest.approx(ran_s / took_s, abs=0.1)  # schedstat; /proc/stat has ticks
    assert other_cpus > 0.2  # the loop beside it


def test_who_sleeps_does_not_starve():
    sleeper = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        before = times_of([sleeper.pid])
        assert list(before) == [sleeper.pid]
        assert share_waited(before, before) == 0.0
        assert times_of([]) == {}
    finally:
        sleeper.kill()
        sleeper.wait()


def test_threads_that_came_or_went_count_for_nothing():
    assert share_waited({1: (10, 10), 2: (0, 500)}, {1: (20, 40), 3: (0, 900)}) == 0.75


class Kept(RunDelay):
    """A guest that has been kept from a processor for so many seconds when it is asked."""

    def __init__(self, *seconds: float) -> None:
        self.asked = iter(seconds)

    def seconds(self) -> float:
        return next(self.asked)


def test_the_time_without_a_processor_is_not_held_against_a_guest(tmp_path: Path):
    channel = Channel(tmp_path)

    class Late(Kept):
        def seconds(self) -> float:
            (tmp_path / "ready").touch()  # it boots after its time, and had lost more
            return super().seconds()

    channel.wait_ready(lambda: None, 0.0, Late(600.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost_s", "said"),
    [
        ((0.0,), "`boot` did not end within 0 s"),
        ((0.2, 1.2, 1.2), "`boot` did not end within 0 s, plus 1 s without a CPU"),
    ],
)
def test_the_rest_of_the_time_is(lost_s: tuple[float, ...], said: str, tmp_path: Path):
    with pytest.raises(TimeoutError) as late:
        Channel(tmp_path).wait_ready(lambda: None, 0.0, Kept(*lost_s))
    assert str(late.value) == said


KILLED = ["kill -9 $PPID", "rm -f job.1.0.*", ": > job.1.0.status; kill -9 $PPID"]
LEADS_ELSEWHERE = ["ln -sf agent.sh job.1.0.out", "ln -sf agent.sh job.1.0.err"]


@pytest.mark.parametrize("ends", [*KILLED, *LEADS_ELSEWHERE])
def test_a_command_that_left_no_status_is_told_as_killed(ends: str, tmp_path: Path):
    """Its shell was killed for want of memory, the disk that both sides share took no more, or the guest put
    links there, which the host does not follow."""
    channel = Channel(tmp_path)
    agent = subprocess.Popen(["sh", "-c", channel.guest_command], stdin=subprocess.PIPE)
    assert agent.stdin
    with pytest.raises(RunFailed, match=r"left no status: it was killed in the guest .* is full"):
        channel.run_all([["sh", "-c", ends]], agent.stdin, lambda: None, 60, RunDelay(agent.pid))
    agent.stdin.close()
    agent.wait()


def test_run_delay_is_what_was_waited_since_it_was_made(two_on_one_processor: tuple[int, int]):
    kept = RunDelay(two_on_one_processor[0])
    first = kept.seconds()
    while kept.seconds() < first + 0.1:
        time.sleep(0.02)
    assert RunDelay(two_on_one_processor[0]).seconds() < kept.seconds()
