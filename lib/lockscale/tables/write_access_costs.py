# SPDX-License-Identifier: MIT
"""S2's two function-cost tables side by side: where the time of a create went, and why."""

from typing import NamedTuple

from lockscale.tables.claim import AuditRow, judged, row, tally
from lockscale.tables.function_costs import Cost, costs
from lockscale.tables.intervals import Interval

WITHOUT, WITH = "s2_function_cost_without", "s2_function_cost_with"
_CREATE, _SPIN, _ACCESS = "ldiskfs_create_inode", "_raw_spin_lock", "jbd2_journal_get_write_access"


class Both(NamedTuple):
    """The two tables, by function."""

    without: dict[str, Cost]
    patched: dict[str, Cost]

    def pair(self, function: str) -> tuple[Cost, Cost]:
        return self.without[function], self.patched[function]

    def a_create(self, function: str) -> tuple[float, float]:
        """Calls a create, without and with the patch."""
        before, after = (table[function].calls / table[_CREATE].calls for table in self)
        return before, after

    def others(self) -> list[str]:
        """The functions of both tables that no retry calls."""
        return [
            name for name in self.patched if name in self.without and name not in (_CREATE, _SPIN, _ACCESS)
        ]


def access_is_cheaper(both: Both) -> AuditRow:
    """What the patch did to get_write_access; that it was meant to is inferred."""
    before, after = (cost.total_us / cost.calls for cost in both.pair(_ACCESS))
    ratio = before / after
    claim = f"the patch makes {_ACCESS} cheaper"
    note = f"not claimed in words; time per call, {before:.2f} us without and {after:.2f} us with the patch"
    return row(WITH, claim, 1.0, ratio, "x", judged(ratio > 1), note)


def added_time_is_spinning(both: Both) -> AuditRow:
    """The comment: the regression is 'beoucse of a lot of _raw_spin_lock() calls'."""
    spin_us, create_us = (
        after.total_us - before.total_us for before, after in (both.pair(_SPIN), both.pair(_CREATE))
    )
    share_pct = 100 * spin_us / create_us
    note = (
        f"added time in {_SPIN} / added time in {_CREATE}; above 100% since {_ACCESS} gave time back, "
        "or where other functions spin"
    )
    claim = f"creates are slower because of {_SPIN}"
    return row(WITH, claim, 50.0, share_pct, "%", judged(share_pct > 50), note)


def more_calls_cost_more(both: Both) -> AuditRow:
    """The same comment, taken at its word: more calls, at what a call cost before."""
    before, after = both.pair(_SPIN)
    was_us, is_us = before.total_us / before.calls, after.total_us / after.calls
    share_pct = 100 * (after.calls - before.calls) * was_us / (after.total_us - before.total_us)
    note = (
        f"share of the added spinning that the added calls explain at {was_us:.3f} us each; calls grew "
        f"{after.calls / before.calls:.2f}x, the time of a call {is_us / was_us:.0f}x: they wait longer"
    )
    claim = f"... because of a lot of {_SPIN} calls"
    return row(WITH, claim, 50.0, share_pct, "%", judged(share_pct > 50), note)


def attempts(both: Both) -> AuditRow:
    """Retries: get_write_access calls beyond those of the other table, whose creates try once or more."""
    before, after = both.a_create(_ACCESS)
    others = max(then - now for now, then in map(both.a_create, both.others()))
    least = 1 + after - before
    found = Interval(least, least - max(others, 0.0), after)
    note = (
        f"not claimed; a create calls get_write_access {after:.2f} times with the patch and {before:.2f} "
        "without, where one attempt is assumed; low: less the calls by which any other function grew; "
        "high: every call is an attempt"
    )
    claim = "a create takes more than one attempt at its inode"
    return row(WITH, claim, 1.0, found, "attempts", judged(found.low > 1), note)


def spins(both: Both) -> AuditRow:
    """Each retry takes the group's lock again: what else it takes, the counts say."""
    before, after = both.a_create(_SPIN)
    access_before, access_after = both.a_create(_ACCESS)
    per_retry = (after - before) / (access_after - access_before)
    note = (
        f"not claimed; added {_SPIN} calls for each added attempt; a create makes {after:.1f} with the "
        f"patch and {before:.1f} without"
    )
    claim = "an attempt takes a spin lock at least once"
    return row(WITH, claim, 1.0, per_retry, "spins", judged(per_retry >= 1), note)


def others_are_called_as_often(both: Both) -> AuditRow:
    """Attempts are counted by a difference of calls: is it the only one?"""
    passed = {}
    for name in both.others():
        before, after = both.a_create(name)
        passed[f"{name} ({before:.2f} and {after:.2f} calls)"] = abs(after / before - 1) < 1e-3
    claim = "a create calls every other function as often in both tables, to 0.1%"
    return tally(WITH, claim, passed, "functions", "not claimed")


def compared() -> list[AuditRow]:
    """Every line that needs both tables."""
    both = Both(costs(WITHOUT), costs(WITH))
    checks = (access_is_cheaper, added_time_is_spinning, more_calls_cost_more, attempts, spins)
    return [*(check(both) for check in checks), others_are_called_as_often(both)]
