# SPDX-License-Identifier: MIT
"""S3: what fallocate2's base column allows once containers do not meet at one group."""

from collections.abc import Mapping

from lockscale.whatif import left
from lockscale.whatif.answer import Answer, Idea, Predicted
from lockscale.whatif.base import Base, Curve

BEFORE = "wait-group"
TABLE, METRIC = "s3_fallocate2", "fallocate_rate"
LOCKS = ("ext4_lock_group", "s_md_lock")
FREE_OF_BOTH = ("inode-goal-scan0", "multi-goal", "goal-spread")
FREE_OF_ONE = ("trylock", "inode-goal-scan1")  # s_md_lock stays; the lists of groups come
GIVEN = left.GIVEN

NAIVE = (
    "it deletes all waiting: each container as fast as one alone. The next queue is not in the base's rates, "
    "and it is where the waiters then meet"
)


def answer(given: Mapping[str, float]) -> Answer:
    """Per container, from the base to one that never waits; closed by the share of the queue left."""
    base = Base(BEFORE)
    each = base.curve(TABLE, METRIC)
    together = Curve(each.threads, [n * v for n, v in zip(each.threads, each.values, strict=True)])
    wide = left.between(together)
    free = left.behind(together, given) if given else wide
    some = left.Band([(a * b) ** 0.5 for a, b in zip(wide.low, free.high, strict=True)], wide.low, free.high)
    return Answer(
        study="group-trylock",
        used=base.used,
        parameters=left.estimates(together, given),
        waits=left.waits(together, "fallocate", LOCKS),
        predictions=[
            *(row for arm in FREE_OF_BOTH for row in _rows(arm, each, free)),
            *(row for arm in FREE_OF_ONE for row in _rows(arm, each, some)),
        ],
        open=left.open_share(given, LOCKS),
        ideas=_ideas(each, free, bool(given)),
        naive_reason=NAIVE,
    )


def _rows(arm: str, each: Curve, band: left.Band) -> list[Predicted]:
    alone = each.values[0]
    return [
        Predicted(arm, n, METRIC, "ops/s per container", value / n, low / n, high / n, alone)
        for n, value, low, high in zip(each.threads, *band, strict=True)
    ]


def _ideas(each: Curve, free: left.Band, given: bool) -> list[Idea]:
    n, base = each.threads[-1], each.values[-1]
    low, high = free.low[-1] / n / base, free.high[-1] / n / base
    gain = f"at {n} containers {low:.1f} to {high:.1f} times the base"
    if given:
        worth = "yes" if low > 1 else "no" if high <= 1 else "not known"
    else:
        gain, worth = f"{gain}: {n} containers work as {n * base / each.values[0]:.1f} do alone", "yes"
    reasons = dict.fromkeys(FREE_OF_BOTH, (worth, gain))
    reasons["trylock"] = ("not known", "all still take s_md_lock twice for an allocation")
    reasons["inode-goal-scan1"] = ("not known", "its shared lists of groups are not in the base")
    return [Idea(arm, *why) for arm, why in reasons.items()]
