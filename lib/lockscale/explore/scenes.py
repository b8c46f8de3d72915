# SPDX-License-Identifier: MIT
"""What can be explored: a published contention, its model, its arms, and what was printed of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lockscale.errors import BadInput

LOCK_KINDS = ("queued", "ticket", "unfair", "test_and_set", "sleeping", "mutex")
"""Of the model any_lock; all but the first are its switches."""
TIMES = {"hold": "hold_ns", "elsewhere": "elsewhere_us"}
"""Slider -> the parameter that every scene's model has for it."""


@dataclass(frozen=True)
class Scene:
    """One contention. `arms`: arm -> switches of the model; `patch`: the arms before and after it.

    `lock` is the one whose waits and holds are shown, `locks` that of arms with another; `counts` are the
    threads of the curve. `table`, `metric` and `statistic` are the published numbers; `scaled` is the arm
    by which times of an unpublished amount of work are scaled.
    `any_kind`: the model has every kind of lock, a start skew and shared CPUs.
    """

    name: str
    model: str
    title: str
    arms: Mapping[str, Mapping[str, bool]]
    patch: tuple[str, str]
    lock: str
    table: str
    metric: str
    statistic: str
    threads: int
    counts: tuple[int, ...]
    locks: Mapping[str, str] = field(default_factory=dict)
    scaled: str = ""
    any_kind: bool = False

    def lock_of(self, arm: str) -> str:
        return self.locks.get(arm, self.lock)

    def after(self, arm: str) -> str:
        """The arm that `arm` is compared with: the patched one, or of that the one before."""
        before, after = self.patch
        return before if arm == after else after


POWERS = (1, 2, 4, 8, 16, 32, 64)

SCENES = (
    Scene(
        name="inode-claim",
        model="any_lock",
        title="S1: one bit of the inode bitmap, claimed by all",
        arms={"steal-retry": {}, "search-locked": {"search_locked": True}},
        patch=("steal-retry", "search-locked"),
        lock="group lock",
        table="s1_rates",
        metric="create_rate",
        statistic="single",
        threads=48,
        counts=(1, 8, 16, 24, 32, 40, 48),
        any_kind=True,
    ),
    Scene(
        name="write-access",
        model="write_access",
        title="S2: cheaper journal access, slower creates",
        arms={
            "slow-retry": {},
            "fast-retry": {"fast_access": True},
            "slow-search": {"search_locked": True},
            "fast-search": {"fast_access": True, "search_locked": True},
        },
        patch=("slow-retry", "fast-retry"),
        lock="group lock",
        table="s2_mds_survey",
        metric="create_rate",
        statistic="overall",
        threads=48,
        counts=(1, 8, 16, 24, 32, 40, 48),
    ),
    Scene(
        name="group-trylock",
        model="group_trylock",
        title="S3: block groups under one goal",
        arms={
            "wait-group": {},
            "trylock": {"trylock": True},
            "inode-goal-scan0": {"trylock": True, "per_inode_goal": True},
            "inode-goal-scan1": {"trylock": True, "per_inode_goal": True, "scan": True},
        },
        patch=("wait-group", "inode-goal-scan0"),
        lock="group lock",
        table="s3_fallocate2",
        metric="fallocate_rate",
        statistic="mean_per_container",
        threads=64,
        counts=POWERS,
    ),
    Scene(
        name="orphan-file",
        model="orphan_file",
        title="S4: orphan list, orphan file, lockless slots",
        arms={
            "orphan-mutex": {"mutex_list": True},
            "orphan-locked": {"locked": True},
            "orphan-lockless": {},
            "orphan-off": {"off": True},
        },
        patch=("orphan-locked", "orphan-lockless"),
        lock="journal",
        locks={"orphan-mutex": "s_orphan_lock", "orphan-locked": "of_lock"},
        table="s4_stress_orphan",
        metric="time",
        statistic="mean_of_5",
        threads=64,
        counts=POWERS,
        scaled="orphan-off",
    ),
    Scene(
        name="creat-clo",
        model="creat_clo",
        title="S4: reaim creat_clo on a ramdisk",
        arms={"orphan-mutex": {}, "orphan-lockless": {"patched": True}},
        patch=("orphan-mutex", "orphan-lockless"),
        lock="journal",
        locks={"orphan-mutex": "s_orphan_lock"},
        table="s4_creat_clo",
        metric="throughput",
        statistic="mean_of_5",
        threads=31,
        counts=(1, 3, 5, 9, 15, 21, 31, 48),
    ),
)


def scene(name: str) -> Scene:
    """The scene of that name. Raises BadInput for another."""
    for one in SCENES:
        if one.name == name:
            return one
    raise BadInput(f"there is no scene {name!r}: there are {', '.join(one.name for one in SCENES)}")
