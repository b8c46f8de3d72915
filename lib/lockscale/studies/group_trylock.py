# SPDX-License-Identifier: MIT
"""S3, group-trylock: what fallocate2's unpatched column allows once containers do not meet at one group."""

from collections.abc import Mapping
from dataclasses import replace

from lockscale.predict import residual_bottleneck as residual
from lockscale.predict.answer import Answer, Idea, Predicted, gains_over, idea_by_gain, sign_of_change
from lockscale.predict.guest_case import Chances, GuestCase, Told, skips, waits
from lockscale.predict.unpatched_columns import UnpatchedColumns, UnpatchedCurve
from lockscale.sim import Result
from lockscale.studies.group_trylock_tables import ALLOCATE, CLAIMS, FITTED, TABLE
from lockscale.studies.hooks import Scene, StudyParts, default_times, simulated_arm, switches_of
from lockscale.study.file import Study

NAME = "group-trylock"
BEFORE = "wait-group"
METRIC = "fallocate_rate"
BLOCK_GROUPS = 128.0
"""Of the guests' disk, by the study's mkfs."""
LOCKS = ("ext4_lock_group", "s_md_lock")
ALLOCATE_HOLDS = 2.0
"""Of a group's lock, by an allocation: ext4_mb_scan_group() and ext4_mb_mark_context()."""
FREE_OF_BOTH = ("inode-goal-scan0", "multi-goal", "goal-spread")
FREE_OF_ONE = ("trylock", "inode-goal-scan1")  # s_md_lock stays; the lists of groups come

NAIVE = (
    "it subtracts all waiting, as if each container were as fast as one alone. But the waiters then meet "
    "at the next queue, which the unpatched rates do not show"
)


def whatif(given: Mapping[str, float]) -> Answer:
    """Per container, from the unpatched side to one that never waits; closed by that bottleneck's share."""
    unpatched = UnpatchedColumns(BEFORE)
    each = unpatched.curve(TABLE, METRIC)
    together = UnpatchedCurve(each.threads, [n * v for n, v in zip(each.threads, each.values, strict=True)])
    wide = residual.between(together)
    free = residual.behind(together, given) if given else wide
    some = residual.Band(
        [(a * b) ** 0.5 for a, b in zip(wide.low, free.high, strict=True)], wide.low, free.high
    )
    predictions = [
        *(row for arm in FREE_OF_BOTH for row in _rows(arm, each, free)),
        *(row for arm in FREE_OF_ONE for row in _rows(arm, each, some)),
    ]
    return Answer(
        study=NAME,
        used=unpatched.used,
        parameters=residual.estimates(together, given),
        waits=residual.waits(together, "fallocate", LOCKS),
        waits_origin=residual.WHENCE,
        predictions=predictions,
        open=residual.open_share(given, LOCKS),
        ideas=_ideas(each, predictions),
        naive_reason=NAIVE,
        notes=residual.notes(given),
        origin="published",
    )


def _rows(arm: str, each: UnpatchedCurve, band: residual.Band) -> list[Predicted]:
    alone, unit = each.values[0], "ops/s per container"
    rows = []
    for n, unpatched, *ends in zip(each.threads, each.values, *band, strict=True):
        value, low, high = (end / n for end in ends)
        said = sign_of_change(low, high, unpatched)
        rows.append(Predicted(arm, n, METRIC, unit, value, low, high, alone, said))
    return rows


def _ideas(each: UnpatchedCurve, predictions: list[Predicted]) -> list[Idea]:
    n, unpatched = each.threads[-1], each.values[-1]
    alone = n * unpatched / each.values[0]
    arguments = dict.fromkeys(FREE_OF_BOTH, f"{n} containers work as {alone:.1f} do alone")
    arguments["trylock"] = "all still take s_md_lock twice for an allocation"
    arguments["inode-goal-scan1"] = "its shared lists of groups are not in the unpatched kernel"
    return [
        idea_by_gain(p.arm, gains_over(p.low, p.high, unpatched), n, arguments[p.arm])
        for p in predictions
        if p.threads == n
    ]


def guests(study: Study) -> GuestCase:
    """Arms of the unpatched arm's model; with mb_optimize_scan=1 they have another, and are not predicted."""
    unpatched, allocation = study.unpatched, "trace:ext4_mballoc_alloc"
    model = study.model_of(unpatched)
    alike = [arm.name for arm in study.arms if arm.simulated and study.model_of(arm) == model]
    return GuestCase(
        first_arm=unpatched.name,
        simulated=simulated_arm(study, unpatched.name, block_groups=BLOCK_GROUPS),
        scaled=default_times(model, "elsewhere_us", "others_us"),
        count="trace:ext4_group_lock_wait",
        per="acquisitions:&bgl->locks[i].lock",
        seen=_group_waits,
        operation=allocation,
        arms={
            arm: simulated_arm(study, arm, block_groups=BLOCK_GROUPS)
            for arm in alike
            if arm != unpatched.name
        },
        told=(
            Told("waits for a group lock", "per allocation", _group_waits, allocation),
            Told("skipped groups", "per allocation", lambda run: skips(run, "group lock"), allocation),
        ),
        limits="A truncate holds a group's lock as often in every arm as unpatched counts say, but no more "
        "than once for each allocation; other users of the locks are left out. No model has the lists of "
        "groups, so arms with them are not predicted.",
        read_off=_holds_of_a_truncate,
    )


def _holds_of_a_truncate(counts: Mapping[str, float]) -> dict[str, object]:
    """Holds that free a file: an allocation takes a group's lock twice, and what is beyond are those.

    ext4_free_blocks() has two for each extent, and the commit one more; the model has at most APPENDS.
    """
    beyond = counts.get("acquisitions:&bgl->locks[i].lock", ALLOCATE_HOLDS) - ALLOCATE_HOLDS
    # with the compiler, which a list of studies waits not for
    from lockscale.sim.models.group_goals import APPENDS

    return {"file_extents": min(max(1.0, beyond * APPENDS), float(APPENDS))}


def _group_waits(run: Result) -> Chances:
    return waits(run, "group lock")


def scenes(study: Study) -> tuple[Scene, ...]:
    """Each search from its goal, and with the lists of groups: two models."""
    goals = Scene(
        name=NAME,
        model=study.model_of(study.arm(BEFORE)),
        title="S3: block groups under one goal",
        arms=switches_of(study, BEFORE, "trylock", "inode-goal-scan0", "multi-goal", "goal-spread"),
        patch=(BEFORE, "inode-goal-scan0"),
        lock="group lock",
        table=TABLE,
        metric=METRIC,
        statistic="mean_per_container",
        threads=64,
        counts=tuple(2**k for k in range(7)),
    )
    lists = replace(
        goals,
        name="group-lists",
        model=study.model_of(study.arm("inode-goal-scan1")),
        title="S3: the same with lists of groups (mb_optimize_scan)",
        arms=switches_of(study, "wait-group-scan1", "trylock-scan1", "inode-goal-scan1"),
        patch=("wait-group-scan1", "inode-goal-scan1"),
    )
    return goals, lists


STUDY = StudyParts(
    name=NAME,
    order=3,
    whatif=whatif,
    given=residual.GIVEN,
    guest_case=guests,
    scenes=scenes,
    claims=CLAIMS,
    simulated=(FITTED,),
    scale=(ALLOCATE,),
)
