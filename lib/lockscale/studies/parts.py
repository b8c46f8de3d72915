# SPDX-License-Identifier: MIT
"""What a study can add to the rooms, none of which knows it by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lockscale.study import Study
from lockscale.whatif.answer import Answer
from lockscale.whatif.guest_case import GuestCase


@dataclass(frozen=True)
class StudyParts:
    """One study, as `STUDY` of its file; whatever it lacks is not known of it.

    name: as its study file has it. order: where it stands in lists; those without one are last.
    whatif: its answer from the base alone, `given` the measurements that it takes and what they are.
    guest_case: which arm is counted first, and what of the others is then told; guest_bounds: what the
    algorithm alone sets.
    """

    name: str
    order: float = float("inf")
    whatif: Callable[[Mapping[str, float]], Answer] | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    guest_case: Callable[[Study], GuestCase] | None = None
    guest_bounds: Callable[[Study], list[dict[str, Any]]] | None = None
