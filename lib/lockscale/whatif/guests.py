# SPDX-License-Identifier: MIT
"""What the guests must show, by the algorithm alone: bounds of the calls that lost claims add."""

from typing import Any

from lockscale.study import Study

WITH_CLAIMS = ("inode-claim", "write-access")


def predict_guests(study: Study) -> list[dict[str, Any]]:
    """Extra get_write_access calls a create under the before arm, for each point of the guests.

    Every lost claim has a winner on another processor, and the loser queues behind at most the
    others: on c processors n processes lose more than 0 and at most min(n, c) - 1 claims a create,
    and one process alone loses none. How far below the bound depends on the window between search
    and lock, which no profile of another machine tells. Empty for studies without a claim.
    """
    if study.name not in WITH_CLAIMS:
        return []
    points = [(g.cpus, n) for g in study.parameters.guests for n in g.processes]
    return [
        {
            "arm": study.arm("before").name,
            "cpus": cpus,
            "threads": n,
            "metric": "extra jbd2_journal_get_write_access",
            "unit": "calls/create",
            "low": 0.0,
            "high": float(min(n, cpus) - 1),
        }
        for cpus, n in points
    ]
