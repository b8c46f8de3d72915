# SPDX-License-Identifier: MIT
"""The network of one lock is that of the event simulator, which shares no line with it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from two_locks import two_locks

from lockscale.predict.one_lock import OneLock, from_rates, from_wait_share, off_by_pct
from lockscale.predict.patch_language import read_patch
from lockscale.sim import simulate

shares = st.floats(0.01, 0.95)
threads = st.integers(2, 256)


@given(share=shares, n=threads)
@settings(deadline=None, max_examples=40)
def test_the_base_has_the_wait_share_that_it_was_made_of(share: float, n: int) -> None:
    found = from_wait_share(share, n).wait_share(n)
    most = 1 - 1 / n - 0.02  # one thread of n holds the lock, the others wait
    assert found == pytest.approx(min(share, most), abs=0.03)


@given(outside=st.floats(1.0, 100.0), hold=st.floats(0.1, 20.0))
@settings(deadline=None, max_examples=20)
def test_rates_of_one_lock_give_its_times_back(outside: float, hold: float) -> None:
    base = OneLock(outside, hold)
    rates = {n: base.rate_per_s(n) for n in (1, 2, 4, 8, 16, 32)}
    assert off_by_pct(from_rates(rates), rates) < 1.0


@pytest.mark.parametrize("n", [1, 4, 16])
def test_the_calculated_rate_is_the_simulated_one(n: int) -> None:
    simulated = simulate(
        two_locks, n, {"outside_us": 10.0, "hold_us": 1.0}, operations=20_000, replications=3
    ).rate_per_s
    assert OneLock(10.0, 1.0).rate_per_s(n) == pytest.approx(simulated, rel=0.03)


def test_no_patch_of_a_lock_makes_it_slower_and_none_beats_its_absence() -> None:
    base, n = from_wait_share(0.6, 48), 48
    most = base.gain(n, read_patch("lockless L").changes[0])
    for text in ("split L 4", "trylock L 4", "batch L 8", "shrink L 50%", "fewer L 20%", "avoid L 80%"):
        gain = base.gain(n, read_patch(text).changes[0])
        assert 1 <= gain <= most * 1.001, text


def test_any_free_lock_is_better_than_a_certain_one() -> None:
    base = from_wait_share(0.5, 32)
    split, trylock = (base.gain(32, read_patch(f"{word} L 4").changes[0]) for word in ("split", "trylock"))
    assert trylock > split


def test_half_the_hold_doubles_the_rate_of_a_full_lock() -> None:
    assert from_wait_share(0.9, 64).gain(64, read_patch("shrink L 50%").changes[0]) == pytest.approx(
        2, rel=0.02
    )


@pytest.mark.parametrize("held", [0.05, 0.5, 2.0])
def test_who_waits_says_how_busy_the_lock_of_two_threads_is(held: float) -> None:
    """The machine repairman with two machines: states 0, 1, 2 at the lock weigh 1, 2 r, 2 r^2."""
    weight = 1 + 2 * held + 2 * held**2
    waiting, busy = 2 * held**2 / weight / 2, (2 * held + 2 * held**2) / weight
    assert from_wait_share(waiting, 2).busy(2) == pytest.approx(busy, rel=1e-3)


@pytest.mark.parametrize("busy", [0.1, 0.3, 0.5])
def test_of_many_threads_the_lock_is_an_open_queue(busy: float) -> None:
    """Lq of M/M/1 is U^2 / (1 - U)."""
    assert from_wait_share(busy**2 / (1 - busy) / 4000, 4000).busy(4000) == pytest.approx(busy, rel=0.01)


def test_the_lock_is_held_while_anybody_waits_for_it() -> None:
    """Of N threads N - 1 wait at most while it is held."""
    for threads, share in ((2, 0.45), (3, 0.633), (4, 0.725), (8, 0.86)):
        assert from_wait_share(share, threads).busy(threads) >= share * threads / (threads - 1)
