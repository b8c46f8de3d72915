# SPDX-License-Identifier: MIT
"""The retry storm: what it needs, and the rate it settles at.

Oracle: with Z the work outside the lock, s one attempt under it and W attempts a create, a
saturated FIFO lock gives X s W = 1, and everybody who is not elsewhere is in the loop: W = N - X Z.
"""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from lockscale.sim import simulate
from lockscale.sim.builder import Builder
from lockscale.sim.delays import PS_PER_S, exponential, ns, us
from lockscale.sim.replicate import Counts, replicate

THREADS, ELSEWHERE_US, ACCESS_NS, HOLD_NS = 48, 60.0, 250.0, 300.0


def creates(*, fair: bool = True, shared: bool = True, stale: bool = True) -> Counts:
    m = Builder(THREADS)
    make_lock = m.queued_lock if fair else m.unfair_lock
    group = make_lock("group lock", hold=ns(HOLD_NS))
    bitmap = m.bitmap("inode bitmap", shards=1 if shared else THREADS)
    own = m.place("own bitmap", shards=1 if shared else THREADS)
    create = m.path("create")
    create.spend(exponential(us(ELSEWHERE_US)))
    again = create.label("again")
    if stale:
        create.find_zero(bitmap, own)
    create.spend(ns(ACCESS_NS))
    create.lock(group)
    if not stale:
        create.find_zero(bitmap, own)
    create.claim(bitmap, own)
    create.unlock(group)
    create.retry_if_lost(again)
    return replicate(m.compile(), seed=7, replication=0, operations=20_000)


def attempts(counts: Counts) -> float:
    return 1 + counts.retries / counts.operations


def closed_form_rate_per_s(threads: int, elsewhere_us: float, hold_us: float) -> float:
    root = math.sqrt(threads**2 - 4 * elsewhere_us / hold_us)
    return (threads - root) / (2 * elsewhere_us) * 1e6


def threshold_us(threads: int, elsewhere_us: float) -> float:
    return 4 * elsewhere_us / threads**2


def test_storm_appears_with_fifo_shared_search_and_stale_snapshot() -> None:
    assert attempts(creates()) > 40


def test_storm_needs_fifo() -> None:
    assert attempts(creates(fair=False)) < 4


def test_storm_needs_shared_search() -> None:
    assert creates(shared=False).retries == 0


def test_storm_needs_a_stale_snapshot() -> None:
    assert creates(stale=False).retries == 0


def test_search_under_the_lock_cures_it_under_the_same_lock() -> None:
    base = simulate("inode_claim", 48)
    cured = simulate("inode_claim", 48, {"search_locked": True})
    assert base.attempts_per_op > 40
    assert cured.attempts_per_op == 1
    assert cured.rate_per_s > 9 * base.rate_per_s


@pytest.mark.parametrize(
    ("threads", "elsewhere_us", "hold_us"),
    [
        (48, 60.0, 0.3),
        (48, 60.0, 0.6),
        (48, 20.0, 0.3),
        (96, 60.0, 0.3),
        pytest.param(200, 100.0, 0.2, marks=pytest.mark.slow),
    ],
)
def test_rate_above_the_threshold_is_the_closed_form(
    threads: int, elsewhere_us: float, hold_us: float
) -> None:
    assert hold_us > threshold_us(threads, elsewhere_us)
    given = {"elsewhere_us": elsewhere_us, "hold_ns": hold_us * 1e3}
    run = simulate("inode_claim", threads, given, operations=10_000)
    expected = closed_form_rate_per_s(threads, elsewhere_us, hold_us)
    assert run.rate_per_s == pytest.approx(expected, rel=0.02)
    assert run.attempts_per_op == pytest.approx(threads - expected * elsewhere_us / 1e6, rel=0.02)


def run_begun_in_a_storm(threads: int, elsewhere_us: float, hold_us: float) -> Counts:
    """All threads begin in the search; what is left of it after 40 creates a thread is counted."""
    m = Builder(threads)
    group, bitmap = m.queued_lock("group lock", hold=us(hold_us)), m.bitmap("inode bitmap")
    create = m.path("create")
    again = create.label("again")
    create.find_zero(bitmap)
    create.lock(group)
    create.claim(bitmap)
    create.unlock(group)
    create.retry_if_lost(again)
    create.spend(exponential(us(elsewhere_us)))
    return replicate(m.compile(), seed=1, replication=0, warm_up=40 * threads, operations=20 * threads)


@pytest.mark.slow
@pytest.mark.parametrize(("threads", "elsewhere_us"), [(600, 10_000.0), (1000, 10_000.0), (1000, 100.0)])
def test_a_storm_lasts_5_percent_above_the_threshold_and_dies_5_percent_below(
    threads: int, elsewhere_us: float
) -> None:
    """With few threads chance blurs the threshold, so they are many (at 1.05 the barrier grows with N)."""
    above, below = (factor * threshold_us(threads, elsewhere_us) for factor in (1.05, 0.95))
    lasting = run_begun_in_a_storm(threads, elsewhere_us, above)
    expected = closed_form_rate_per_s(threads, elsewhere_us, above)
    assert lasting.operations / lasting.window_ps * PS_PER_S == pytest.approx(expected, rel=0.02)
    assert attempts(lasting) > threads / 2
    assert attempts(run_begun_in_a_storm(threads, elsewhere_us, below)) < 1.1


def test_no_storm_at_half_the_threshold() -> None:
    hold_ns = threshold_us(48, 60.0) / 2 * 1e3
    run = simulate("inode_claim", 48, {"elsewhere_us": 60.0, "hold_ns": hold_ns})
    assert run.attempts_per_op < 1.5


def test_one_thread_never_loses_a_claim() -> None:
    assert simulate("inode_claim", 1).attempts_per_op == 1


def fixed_creates(start_ps: NDArray[np.int64]) -> Counts:
    m = Builder(THREADS)
    group, bitmap = m.queued_lock("group lock", hold=ns(HOLD_NS)), m.bitmap("inode bitmap")
    create = m.path("create")
    create.spend(us(ELSEWHERE_US))
    again = create.label("again")
    create.find_zero(bitmap)
    create.spend(ns(ACCESS_NS))
    create.lock(group)
    create.claim(bitmap)
    create.unlock(group)
    create.retry_if_lost(again)
    return replicate(m.compile(), seed=1, replication=0, operations=20_000, start_ps=start_ps)


def test_synchronised_and_spread_starts_show_both_branches() -> None:
    """With fixed times the same parameters hold a storm for ever, or never have one."""
    cycle_ps = round((ELSEWHERE_US * 1e3 + ACCESS_NS + HOLD_NS) * 1e3)
    together = np.zeros(THREADS, np.int64)
    spread = np.arange(THREADS) * (cycle_ps // THREADS)
    assert attempts(fixed_creates(together)) > 40
    assert fixed_creates(spread).retries == 0
