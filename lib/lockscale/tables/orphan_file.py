# SPDX-License-Identifier: MIT
"""S4, 'ext4: Improve scalability of ext4 orphan file handling': what its two tables claim.

Printed decimals are checked as decimals, so that no binary rounding decides a last digit.
"""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

from lockscale.tables.claim import AuditRow, row, tally
from lockscale.tables.datapackage import printed_points, published

STRESS, CREAT_CLO = "s4_stress_orphan", "s4_creat_clo"
_CENT = Decimal("0.01")  # last digit of creat_clo's throughputs and percentages
_OPS_PER_CLIENT = 3000  # inferred: with it every creat_clo time is a whole number of milliseconds


def _decimals(table: str, statistic: str) -> dict[tuple[str, int], Decimal]:
    texts = printed_points(table, statistic).items()
    return {point: Decimal(text.strip("%")) for point, text in texts}


def times_average_five() -> list[AuditRow]:
    """'average of 5 runs': five times an average of whole milliseconds is whole milliseconds."""
    times_s = _decimals(STRESS, "mean_of_5").items()
    passed = {f"{arm} at {n}": 5 * 1000 * time_s % 1 == 0 for (arm, n), time_s in times_s}
    claim = "every time is the average of 5 runs timed in whole milliseconds"
    note = "an average of 5 may print so; the amount of work is not published"
    return [tally(STRESS, claim, passed, "times", note)]


def changes_match() -> list[AuditRow]:
    """Each percentage is its throughput over vanilla's at the same clients, to two decimals."""
    rates, passed = _decimals(CREAT_CLO, "mean_of_5"), {}
    for (arm, clients), printed in _decimals(CREAT_CLO, "vs_vanilla").items():
        change = 100 * (rates[arm, clients] / rates["orphan-mutex", clients] - 1)
        passed[f"{arm} at {clients}"] = change.quantize(_CENT, ROUND_HALF_UP) == printed
    return [tally(CREAT_CLO, "every change follows from its two throughputs", passed, "changes")]


def times_are_whole_ms() -> list[AuditRow]:
    """Throughput = 3000 N / T: what reaim timed, seen through what it printed."""
    passed, exact = {}, 0
    for (arm, clients), rate in _decimals(CREAT_CLO, "mean_of_5").items():
        ops = _OPS_PER_CLIENT * clients
        time_ms = (1000 * ops / rate).quantize(Decimal(1))
        off = abs((1000 * ops / time_ms).quantize(_CENT, ROUND_HALF_UP) - rate)
        passed[f"{arm} at {clients}"] = off <= _CENT
        exact += off == 0
    claim = f"every throughput is {_OPS_PER_CLIENT} N / T with T whole ms, to 0.01 ops/s"
    note = (
        f"{exact} to the last digit; not claimed by the source, and {2 * _OPS_PER_CLIENT} N / T "
        "with T the mean of five times in clock ticks of 10 ms gives the same numbers"
    )
    return [tally(CREAT_CLO, claim, passed, "throughputs", note)]


def stars_are_significant() -> list[AuditRow]:
    """A star needs the spread of the five runs, which is not published."""
    starred = float(published(CREAT_CLO)["starred"].fillna(False).sum())
    claim = "the starred changes are significant"
    note = "neither the five runs behind each average nor the test is published"
    return [row(CREAT_CLO, claim, starred, None, "stars", "unknown", note)]


CLAIMS: dict[str, tuple[Callable[[], list[AuditRow]], ...]] = {
    STRESS: (times_average_five,),
    CREAT_CLO: (changes_match, times_are_whole_ms, stars_are_significant),
}
