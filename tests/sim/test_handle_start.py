# SPDX-License-Identifier: MIT
"""A handle of jbd2 as visits of two lines: where it saturates, and what each patch takes away."""

import pytest

from lockscale.errors import BadInput
from lockscale.sim import load_model, simulate
from lockscale.sim.results import Result

LINE_NS = {p.name: p.default for p in load_model("handle_start").parameters}["line_ns"]
FULL = 64


def run(threads: int, *switches: str, **numbers: float) -> Result:
    given: dict[str, object] = {**dict.fromkeys(switches, True), **numbers}
    return simulate("handle_start", threads, given, operations=6000, replications=2)


@pytest.mark.parametrize(
    ("switches", "visits"),
    [
        ((), 6),  # credits, updates and count, then a look, credits and updates
        (("layout",), 5),
        (("handle_count",), 5),
        (("handle_count", "percpu_updates"), 3),
        (("handle_count", "percpu_updates", "layout"), 2),
        (("one_visit",), 3),  # one, a look, one
        (("one_visit", "layout"), 2),
        (("one_visit", "handle_count"), 3),
        (("one_visit", "handle_count", "percpu_updates"), 3),
    ],
)
def test_a_full_line_serves_one_visit_after_the_other(switches: tuple[str, ...], visits: int) -> None:
    """1 / (visits x time of one): all CPUs wait for the counters' line."""
    assert run(FULL, *switches).rate_per_s == pytest.approx(1e9 / (visits * LINE_NS), rel=0.02)


def test_alone_nothing_is_gained() -> None:
    alone = run(1).rate_per_s
    for switches in (("layout",), ("handle_count",), ("handle_count", "percpu_updates", "layout")):
        assert run(1, *switches).rate_per_s == pytest.approx(alone, rel=0.03)


def test_it_meets_the_ends_that_it_is_calibrated_to() -> None:
    """S3's linear: 286,328 of one container, 23,280 of each of 64."""
    assert run(1).rate_per_s == pytest.approx(286_328, rel=0.02)
    assert run(FULL).rate_per_s == pytest.approx(FULL * 23_280, rel=0.02)


def test_two_handles_are_twice_the_visits() -> None:
    assert run(FULL, operation_handles=2.0).rate_per_s == pytest.approx(run(FULL).rate_per_s / 2, rel=0.02)


def test_a_number_of_handles_that_cannot_be_is_refused() -> None:
    with pytest.raises(BadInput, match="operation_handles is 0: give 1 to 16 handles per operation"):
        run(2, operation_handles=0.0)
