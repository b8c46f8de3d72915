# SPDX-License-Identifier: MIT
"""What a patch would give, written down before it is measured, from the base profile alone."""

from typing import Any

from lockscale.errors import BadInput
from lockscale.queueing.laws.retry_storm import gain_from_attempts
from lockscale.study import Study
from lockscale.tables import function_cost, published

PUBLISHED_PROCESSES = 48


def predict_published(study: Study) -> dict[str, Any]:
    """The patched creation rate of S1's machine from its base columns: an interval, and why.

    W, the threads in the retry loop, lies between the lost claims and the attempts of a create:
    get_write_access calls less those of a create without retries, and one more. The gain is then
    N / (N - W). The naive figure deletes the spin time from ext4_create's average; it is wrong
    because threads in jbd2__journal_start wait for handles whose owners spin.
    """
    if study.calls_without_retry is None:
        raise BadInput(f"study {study.name} lacks calls_without_retry: the prediction needs that number")
    cost = function_cost("s1_function_cost").set_index("function")
    creates = float(cost["count"]["ext4_create"])
    lost = cost["count"]["jbd2_journal_get_write_access"] / creates - study.calls_without_retry.value
    gains = [gain_from_attempts(PUBLISHED_PROCESSES, w) for w in (lost, lost + 1)]
    rates = published("s1_rates")
    base = rates[(rates.arm == study.arm("before").name) & (rates.metric == "create_rate")]
    spin_us = cost.total_us["_raw_spin_lock"] / creates
    naive = PUBLISHED_PROCESSES / (cost.avg_us["ext4_create"] - spin_us) * 1e6
    return {
        "arm": study.arm("upstream").name,
        "threads": PUBLISHED_PROCESSES,
        "metric": "create_rate",
        "unit": "creates/s",
        "value": float(base.value.mean() * sum(gains) / 2),
        "low": float(base.value.mean() * gains[0]),
        "high": float(base.value.mean() * gains[1]),
        "gain_low": float(gains[0]),
        "gain_high": float(gains[1]),
        "naive_value": float(naive),
        "open": [f"calls of a create without retries: {study.calls_without_retry.source}"],
    }


def predict_guests(study: Study) -> list[dict[str, Any]]:
    """Extra get_write_access calls a create under the before arm, for each point of the guests.

    Every lost claim has a winner on another processor, and the loser queues behind at most the
    others: on c processors n processes lose more than 0 and at most min(n, c) - 1 claims a create,
    and one process alone loses none. How far below the bound depends on the window between search
    and lock, which no profile of another machine tells.
    """
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


def predict(study: Study) -> dict[str, Any]:
    """Everything that notebook 03 writes before notebook 05 measures."""
    return {
        "study": study.name,
        "used": ["s1_function_cost", f"s1_rates ({study.arm('before').name} only)"],
        "published_machine": predict_published(study),
        "guests": predict_guests(study),
    }
