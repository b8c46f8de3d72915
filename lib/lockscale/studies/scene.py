# SPDX-License-Identifier: MIT
"""A contention that can be explored: its model, its arms, and what was printed of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lockscale.errors import BadInput
from lockscale.study.file import Study


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
    arms: Mapping[str, Mapping[str, bool | float]]
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


def switches_of(study: Study, *arms: str) -> dict[str, dict[str, bool | float]]:
    """What the study's file throws in the model of each of these arms, in their order.

    Raises BadInput for an arm that the study does not have any more.
    """
    known = {arm.name: arm.model_parameters for arm in study.arms}
    if lacking := [arm for arm in arms if arm not in known]:
        raise BadInput(f"study {study.name} has no arm {lacking[0]!r}, which the explorer shows: put it back")
    return {arm: {name: value for name, value in known[arm].items() if value} for arm in arms}
