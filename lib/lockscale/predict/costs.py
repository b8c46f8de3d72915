# SPDX-License-Identifier: MIT
"""Where the threads of a function-cost table are: time over the root's time, by Little's law."""

from collections.abc import Mapping

from lockscale.predict.answer import Waiting
from lockscale.tables.function_costs import Cost

REST = "the rest"

# Who calls whom in fs/ext4/namei.c, where the tables print both.
_WITHIN = {"ext4_add_entry": "ext4_add_nondir", "ext4_dx_add_entry": "ext4_add_entry"}


def waits(
    costs: Mapping[str, Cost], root: str, threads: float, waits_for: Mapping[str, str]
) -> list[Waiting]:
    """One row a function, the root first: `threads` threads are always within it.

    A function's time includes what it calls; of those within another only the known ones are nested,
    and what calls them may be counted twice: the rest of the root is then too small, at least 0.
    """
    one = costs[root]

    def row(place: str, within: str, total_us: float) -> Waiting:
        share = total_us / one.total_us
        return Waiting(place, within, threads * share, total_us / one.calls, waits_for.get(place, ""))

    found = [row(root, "", one.total_us)]
    inside = {
        name: within if (within := _WITHIN.get(name)) in costs and within else root
        for name in costs
        if name != root
    }
    found += [row(name, within, costs[name].total_us) for name, within in inside.items()]
    direct = sum(costs[name].total_us for name, within in inside.items() if within == root)
    return [*found, row(REST, root, max(one.total_us - direct, 0.0))]
