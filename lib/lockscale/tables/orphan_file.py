# SPDX-License-Identifier: MIT
"""S4, 'ext4: Improve scalability of ext4 orphan file handling': what its two tables claim.

Printed decimals are checked as decimals, so that no binary rounding decides a last digit.
"""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

from lockscale.tables.claim import AuditRow, row, tally, undecided
from lockscale.tables.datapackage import printed_points, published
from lockscale.tables.percentages import change, how_printed
from lockscale.tables.unstated import Gap, unstated

STRESS, CREAT_CLO = "s4_stress_orphan", "s4_creat_clo"
_CENT = Decimal("0.01")  # last digit of creat_clo's throughputs
_OPS_PER_CLIENT = 3000  # inferred: with it every creat_clo time is a whole number of milliseconds
_SMALL_PCT = 10  # this audit's reading of "almost completely"; the message gives no number


def _decimals(table: str) -> dict[tuple[str, int], Decimal]:
    return {point: Decimal(text) for point, text in printed_points(table, "mean_of_5").items()}


def times_average_five() -> AuditRow:
    """'average of 5 runs': five times an average of whole milliseconds is whole milliseconds."""
    passed = {f"{arm} at {n}": 5 * 1000 * time_s % 1 == 0 for (arm, n), time_s in _decimals(STRESS).items()}
    claim = "every time is the average of 5 runs, each timed in whole ms"
    return tally(STRESS, claim, passed, "times", "an average of 5 can print so")


def orphans_are_out_of_the_picture() -> AuditRow:
    """'addition / deletion of orphaned inodes got almost completely out of picture'."""
    times_s = _decimals(STRESS)
    passed, removed = {}, {}
    for processes in [n for arm, n in times_s if arm == "orphan-off"]:
        locked, lockless, off = (times_s[f"orphan-{arm}", processes] for arm in ("locked", "lockless", "off"))
        left_pct = 100 * (lockless / off - 1)
        passed[f"at {processes} (+{left_pct:.1f}%)"] = left_pct < _SMALL_PCT
        removed[processes] = f"{100 * (locked - lockless) / (locked - off):.0f}% at {processes}"
    few, many = removed[min(removed)], removed[max(removed)]
    claim = f"lockless takes under {_SMALL_PCT}% more time than no orphans at all"
    note = (
        f"the message says 'almost completely out of picture', the {_SMALL_PCT}% are this audit's; of what "
        f"the lock adds to no orphans, lockless removes {few}, {many}"
    )
    return tally(STRESS, claim, passed, "counts", note)


def changes() -> list[AuditRow]:
    """Each percentage is its throughput over vanilla's at the same clients."""
    rates = printed_points(CREAT_CLO, "mean_of_5")
    found = [
        change(f"{arm} at {n}", text, rates["orphan-mutex", n], rates[arm, n])
        for (arm, n), text in printed_points(CREAT_CLO, "vs_vanilla").items()
    ]
    return how_printed(CREAT_CLO, found)


def gains_everywhere() -> AuditRow:
    """'there are also noticeable gains'."""
    texts = printed_points(CREAT_CLO, "vs_vanilla").items()
    passed = {
        f"at {n} ({text})": Decimal(text.strip("%")) > 0 for (arm, n), text in texts if arm != "orphan-mutex"
    }
    claim = "patched gains at every number of clients"
    return tally(CREAT_CLO, claim, passed, "counts", "the message says 'noticeable gains'")


def times_are_whole_ms() -> AuditRow:
    """Throughput = 3000 N / T: what reaim timed, seen through what it printed."""
    passed, exact, coarsest = {}, 0, Decimal(0)
    for (arm, clients), rate in _decimals(CREAT_CLO).items():
        ops = _OPS_PER_CLIENT * clients
        time_ms = (1000 * ops / rate).quantize(Decimal(1))
        off = abs((1000 * ops / time_ms).quantize(_CENT, ROUND_HALF_UP) - rate)
        passed[f"{arm} at {clients}"] = off <= _CENT
        exact += off == 0
        coarsest = max(coarsest, 100 / time_ms)
    claim = f"every throughput is {_OPS_PER_CLIENT} N / T with T whole ms, to 0.01 ops/s"
    note = (
        f"not claimed; {exact} to the last digit; 1 ms is up to {coarsest:.2f}% of a throughput; "
        f"{2 * _OPS_PER_CLIENT} N / T with T the mean of five times in ticks of 10 ms gives the same numbers"
    )
    return tally(CREAT_CLO, claim, passed, "rates", note)


def stars_are_significant() -> list[AuditRow]:
    """A star needs the spread of the five runs; the size of a change does not decide it."""
    frame = published(CREAT_CLO)
    if "single" in set(frame["statistic"]):
        return []
    patched = frame[(frame["statistic"] == "vs_vanilla") & (frame["arm"] != "orphan-mutex")]
    starred = patched["starred"].astype(bool)
    least, most = patched.loc[starred, "value"].abs().min(), patched.loc[~starred, "value"].abs().max()
    note = f"the smallest change with a star is {least:.2f}%, the largest without {most:.2f}%"
    line = row(
        CREAT_CLO, "the starred changes are significant", float(starred.sum()), None, "stars", "unknown", note
    )
    return [undecided(line, "the five runs behind each average, or the test")]


def audit_stress() -> list[AuditRow]:
    return [
        times_average_five(),
        orphans_are_out_of_the_picture(),
        *unstated(
            STRESS,
            Gap("the amount of work behind a time", "files, their size or truncates", "metric", "operations"),
            Gap(
                "differences exceed the noise of the runs",
                "the spread of the five runs",
                "statistic",
                "single",
            ),
            Gap("the lock of the orphan file is high in profiles", "any profile", "function"),
        ),
    ]


def audit_creat_clo() -> list[AuditRow]:
    checks = [*changes(), times_are_whole_ms(), gains_everywhere(), *stars_are_significant()]
    return [*checks, *unstated(CREAT_CLO)]


CLAIMS: dict[str, Callable[[], list[AuditRow]]] = {STRESS: audit_stress, CREAT_CLO: audit_creat_clo}
