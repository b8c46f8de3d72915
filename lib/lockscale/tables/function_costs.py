# SPDX-License-Identifier: MIT
"""What any function-cost table must obey, and what it says of the run that it was taken in."""

from collections.abc import Sequence
from typing import NamedTuple

from lockscale.tables.claim import AuditRow, Interval, judged, row, tally, undecided
from lockscale.tables.datapackage import function_cost

_HALF_TOTAL_US = 0.5  # of the last digit that is printed
_DECIMALS = 2  # of an average, as perf-tools' funccost prints it

# Who calls whom in fs/ext4 (namei.c, xattr.c, super.c); ldiskfs has the same names.
_CALLER_OF = {
    "add_nondir": "create",
    "add_entry": "add_nondir",
    "dx_add_entry": "add_entry",
    "dx_find_entry": "find_entry",
    "write_dquot": "mark_dquot_dirty",
    "xattr_set": "xattr_trusted_set",
    "xattr_set_handle": "xattr_set",
}


class Cost(NamedTuple):
    total_us: int
    calls: int
    avg_us: float
    avg_decimals: int = _DECIMALS


def costs(table: str) -> dict[str, Cost]:
    """Function -> its printed cost; times include what it calls, and sleeping."""
    rows = function_cost(table).itertuples(index=False)
    return {str(name): Cost(int(total), int(count), float(avg)) for name, total, count, avg in rows}


def profile_claims(
    table: str, create: str, files: int, rates_table: str, rates_per_s: Sequence[float], threads: int
) -> list[AuditRow]:
    """All that follows. create: the function that makes a file; files: how many the rates' command makes."""
    found = costs(table)
    return [
        total_is_count_times_average(table, found),
        _callees_are_within_callers(table, found),
        _is_one_run(table, found[create], files),
        _is_the_rate_run(table, create, found[create], rates_table, rates_per_s, threads),
    ]


def total_is_count_times_average(table: str, found: dict[str, Cost]) -> AuditRow:
    """The table's own identity, within the decimals of the printed average."""
    passed = {}
    for name, cost in found.items():
        slack_us = cost.calls * 0.5 * 10**-cost.avg_decimals + _HALF_TOTAL_US
        text = f"{name} (printed {cost.avg_us:.2f} us, found {cost.total_us / cost.calls:.2f} us)"
        passed[text] = abs(cost.total_us - cost.calls * cost.avg_us) <= slack_us
    rounded = "to 0.01 us" if {cost.avg_decimals for cost in found.values()} == {_DECIMALS} else "as printed"
    claim = f"total time = count x average, the average rounded {rounded}"
    return tally(table, claim, passed, "functions")


def _callees_are_within_callers(table: str, found: dict[str, Cost]) -> AuditRow:
    """Inclusive times nest."""
    total_us = {name.partition("_")[2]: cost.total_us for name, cost in found.items()}
    pairs = [(callee, caller) for callee, caller in _CALLER_OF.items() if {callee, caller} <= set(total_us)]
    passed = {f"{callee} in {caller}": total_us[callee] <= total_us[caller] for callee, caller in pairs}
    return tally(table, "no function takes longer than its caller", passed, "calls", "our check")


def _is_one_run(table: str, create: Cost, files: int) -> AuditRow:
    """As many creates as one run of the rate table's command makes, up to 0.01% for set-up."""
    claim = "the profiled run creates as many files as one run of the rates' command"
    is_one = judged(0 <= create.calls - files <= 1e-4 * files)
    return row(table, claim, files, create.calls, "creates", is_one, "our check")


def _is_the_rate_run(
    table: str, function: str, cost: Cost, rates_table: str, rates_per_s: Sequence[float], threads: int
) -> AuditRow:
    """Time in `function` over the wall time at the published rates: threads inside it, at most all."""
    total_us, count, *_ = cost
    busy = [total_us / 1e6 * rate / count for rate in rates_per_s]
    found = Interval(sum(busy) / len(busy), min(busy), max(busy)) if len(busy) > 1 else busy[0]
    ends = f", with the extremes of {len(busy)} iterations" if len(busy) > 1 else ""
    note = (
        f"our check; threads in {function} at those rates{ends}; with {threads} of them the profiled run "
        f"made at most {threads * count / total_us * 1e6:.0f} creates/s"
    )
    claim = f"the function-cost run is the run of {rates_table}"
    line = row(table, claim, threads, found, "threads", "fails", note)
    return (
        line if min(busy) > threads else undecided(line, "the rate of this run; it could have been that one")
    )
