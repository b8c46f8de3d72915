# SPDX-License-Identifier: MIT
"""S1, 'ext4: reduce lock contention in __ext4_new_inode': what its two tables claim, and a model of them."""

from collections.abc import Callable, Mapping
from math import prod

from lockscale import paths
from lockscale.fitting.column import Column
from lockscale.fitting.simulated_model import Simulated, SimulatedColumn, figures
from lockscale.studies.hooks import Given, SweptArm, SweptPath, Values
from lockscale.studies.inode_claim_costs import COST, THREADS, cost_rows
from lockscale.tables.claim import (
    AuditRow,
    Gap,
    Interval,
    exceeds,
    judged,
    ratio_of_means,
    row,
    undecided,
    unstated,
)
from lockscale.tables.datapackage import command_numbers, published, repeats
from lockscale.tables.function_costs import costs, profile_claims

RATES = "s1_rates"
_COMMIT_INTERVAL_S = 5.0  # JBD2_DEFAULT_MAX_COMMIT_AGE, include/linux/jbd2.h


def _gain(metric: str) -> Interval:
    return ratio_of_means(repeats(RATES, "steal-retry", metric), repeats(RATES, "search-locked", metric))


def _files() -> int:
    """What the command creates: processes x files of each."""
    return prod(command_numbers(RATES, r"-np (\d+) mdtest -n (\d+)"))


def creation_gain() -> AuditRow:
    """The message: 'Creation performance is improved more than 10X'."""
    note = "ratio of the means of three iterations, with its 95% interval"
    return exceeds(RATES, "creation is improved more than 10X", 10.0, _gain("create_rate"), "x", note)


def removal_gain() -> AuditRow:
    """The message is silent on removal; the table shows a gain."""
    note = "our check of the table; ratio of the means of three iterations, with its 95% interval"
    return exceeds(RATES, "removal is faster too", 1.0, _gain("removal_rate"), "x", note)


def files_of_the_title() -> AuditRow:
    """The message: 'Test 1,440,000 files with 48 directories by 48 processes'."""
    files, note = _files(), "processes x files of each, by the command"
    is_so = judged(files == 1_440_000)
    return row(RATES, "each test creates 1,440,000 files", 1_440_000, files, "files", is_so, note)


def creates_fit_in_a_commit() -> AuditRow:
    """Rates against times: how long the measured phase was."""
    times_s = [_files() / rate for rate in repeats(RATES, "search-locked", "create_rate")]
    found = Interval(sum(times_s) / len(times_s), min(times_s), max(times_s))
    claim = "the create phase with the patch is shorter than a journal's commit interval"
    note = (
        "our check; files / rate, with the extremes of three iterations; jbd2 commits every 5 s by "
        "default, so the rate with the patch may leave writing to a later phase"
    )
    verdict = judged(found.high < _COMMIT_INTERVAL_S)
    return row(RATES, claim, _COMMIT_INTERVAL_S, found, "s", verdict, note)


def most_time_is_spinning() -> AuditRow:
    """The message: 'most of cpu time blames to _raw_spin_lock'."""
    create, spin = costs(COST)["ext4_create"], costs(COST)["_raw_spin_lock"]
    share_pct = 100 * spin.total_us / create.total_us
    note = (
        "time in _raw_spin_lock / time in ext4_create, sleeping included; the table does not say which "
        f"calls are inside ext4_create: half is missed if {100 - 5000 / share_pct:.0f}% of that time is not"
    )
    claim = "most of the time is in _raw_spin_lock"
    return row(COST, claim, 50.0, share_pct, "%", judged(share_pct > 50), note)


def attempts() -> AuditRow:
    """An attempt to claim an inode calls jbd2_journal_get_write_access, and so do other steps."""
    table = costs(COST)
    creates = table["ext4_create"].calls
    calls = table["jbd2_journal_get_write_access"].calls / creates
    note = (
        f"high: every get_write_access call is one; a create takes "
        f"{table['_raw_spin_lock'].calls / creates:.1f} spin locks"
    )
    line = row(
        COST, "a create takes more than one attempt at its inode", 1.0, None, "attempts", "unknown", note
    )
    line["low"], line["high"] = 1.0, calls
    return undecided(line, "the calls of a create that never retries")


def rates_gaps() -> list[AuditRow]:
    journal = Gap(
        "the gain needs a large journal ('with large journal size')",
        "rates with any other journal size",
        "journal_mib",
    )
    return unstated(RATES, journal)


def cost_gaps() -> list[AuditRow]:
    return unstated(
        COST,
        Gap("the contended lock is the group's ('on group spinlock')", "which lock a spin waits for", "lock"),
        Gap(
            "a second try mostly succeeds ('mostly gurateee success')",
            "function costs or attempts with the patch",
            "arm",
            "search-locked",
        ),
    )


def audit_rates() -> list[AuditRow]:
    checks = (creation_gain, removal_gain, files_of_the_title, creates_fit_in_a_commit)
    return [*(check() for check in checks), *rates_gaps()]


def audit_cost() -> list[AuditRow]:
    threads = int(published(RATES)["threads"].iloc[0])
    rates = repeats(RATES, "steal-retry", "create_rate")
    return [
        *profile_claims(COST, "ext4_create", _files(), RATES, rates, threads),
        most_time_is_spinning(),
        attempts(),
        *cost_gaps(),
    ]


CLAIMS: dict[str, Callable[[], list[AuditRow]]] = {RATES: audit_rates, COST: audit_cost}


def s1_rates() -> list[Column]:
    """Three repeats of each arm's create rate."""
    creates = published(RATES).query("metric == 'create_rate'")
    return [
        figures(RATES, f"{arm} create_rate", THREADS, rows.value.to_list(), "ops/s")
        for arm, rows in creates.groupby("arm", sort=False)
    ]


FITTED = Simulated(
    RATES,
    "inode_claim",
    {"elsewhere_us": (30, 120), "hold_ns": (150, 600)},
    {
        "steal-retry create_rate": SimulatedColumn(),
        "search-locked create_rate": SimulatedColumn({"search_locked": True}),
    },
    scales=False,
    made=s1_rates,
    checked=cost_rows,
)


def _create(**held: object) -> Given:
    return lambda threads, best, drawn: {"search_locked": True, **drawn, **held}


def _region_each(threads: int, best: Values, drawn: Values) -> Mapping[str, object]:
    return {"search_locked": True, **drawn, "start_regions": float(threads)}


CREATE = SweptPath(
    "create",
    paths.KERNEL_PATCHES / "inode-claim" / "claim-spread" / "claim_spread.py",
    RATES,
    "creates/s",
    {
        "steal-retry": SweptArm(_create(search_locked=False), most=256),
        "search-locked": SweptArm(_create()),
        "claim-spread": SweptArm(_region_each),
        "group-spread": SweptArm(_create(lock_groups=16.0)),
    },
)
