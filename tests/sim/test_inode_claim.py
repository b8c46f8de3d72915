# SPDX-License-Identifier: MIT
"""S1: one parameter set gives both arms' rates."""

import pandas as pd
import pytest

from lockscale import paths
from lockscale.sim import simulate

BASE_PER_S = (79_033 + 81_463 + 79_875) / 3
PATCHED_PER_S = (810_669 + 812_805 + 813_965) / 3


def test_both_arms_of_s1_from_one_parameter_set() -> None:
    base = simulate("inode_claim", 48)
    patched = simulate("inode_claim", 48, {"search_locked": True})
    assert base.rate_per_s == pytest.approx(BASE_PER_S, rel=0.03)
    assert patched.rate_per_s == pytest.approx(PATCHED_PER_S, rel=0.03)
    differ = {k for k in base.parameters if base.parameters[k] != patched.parameters[k]}
    assert differ == {"search_locked"}


def test_the_cover_of_claim_spread_has_the_kept_figures() -> None:
    """Of its two tables every cell, and what it says of spreading without the fix."""
    folder = paths.KERNEL_PATCHES / "inode-claim/claim-spread"
    kept, cover = pd.read_csv(folder / "simulated.csv"), (folder / "cover.md").read_text()
    kept = kept[(kept.search_ns == 20) & ~kept.random_start]
    kept = kept.assign(part=kept.part.str[0]).set_index(
        ["part", "threads", "start_regions", "lock_groups", "descriptor_ns"]
    )
    rate = kept.rate.to_dict()

    def more(patched: float, base: float) -> str:
        percent = 100 * (patched / base - 1)
        return f"{percent:+.{int(percent < 10)}f} %"

    for n in (48, 96, 128, 160, 192, 208, 255):
        locked, few, many = (rate["A", n, regions, 1, 0] for regions in (1, 16, 256))
        twice = f"{100 * kept.lost_or_calls['A', n, 1, 1, 0]:.0f} %"
        cells = (n, *(f"{one / 1000:.4g}" for one in (locked, few, many)), more(many, locked), twice)
        assert f"| {' | '.join(map(str, cells))} |" in cover
    for n in (48, 64, 96, 128, 192, 255):
        once = more(rate["D", n, 1, 16, 0], rate["A", n, 1, 1, 0])
        second = (
            more(rate["C", n, 1, 16, checksum], rate["C", n, 1, 1, checksum]) for checksum in (0, 100, 400)
        )
        assert f"| {n} | {once} | {' | '.join(second)} |" in cover
    few = [f"{rate['B', n, 16, 1, 0] / 1000:.0f}k at {n}" for n in (128, 160)]
    many = [f"{rate['B', n, 64, 1, 0] / 1000:.0f}k at {n}" for n in (192, 255)]
    assert f"(16 regions: {', '.join(few)}; 64 regions: {', '.join(many)})" in " ".join(cover.split())
