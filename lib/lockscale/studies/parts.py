# SPDX-License-Identifier: MIT
"""What a study can add to the rooms, none of which knows it by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lockscale.fitting.simulated_model import Simulated
from lockscale.predict.answer import Answer
from lockscale.predict.guest import GuestCase
from lockscale.studies.scene import Scene
from lockscale.studies.swept_path import SweptPath
from lockscale.study.file import Study
from lockscale.tables import AuditRow


@dataclass(frozen=True)
class Comparison:
    """One number of a table that no model was fitted to; error_pct: predicted over published, less one."""

    name: str
    unit: str
    predicted: float
    published: float
    error_pct: float


@dataclass(frozen=True)
class StudyParts:
    """One study, as `STUDY` of its file; whatever it lacks is not known of it.

    name: as its study file has it. order: where it stands in lists; those without one are last.
    claims: of each published table what is recomputed of it. whatif: its answer from the base alone, `given`
    the measurements that it takes and what they are. guest_case: which arm is counted first, and what of the
    others is then told; guest_bounds: what the algorithm alone sets. simulated: its tables that a model is
    fitted to; unfitted: those that the study's model is held against without a fit; why_short: of a table
    whose target is missed, why. scenes: what of it can be explored. scale: its paths beyond the published
    threads.
    """

    name: str
    order: float = float("inf")
    claims: Mapping[str, Callable[[], list[AuditRow]]] = field(default_factory=dict)
    whatif: Callable[[Mapping[str, float]], Answer] | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    guest_case: Callable[[Study], GuestCase] | None = None
    guest_bounds: Callable[[Study], list[dict[str, Any]]] | None = None
    simulated: Sequence[Simulated] = ()
    unfitted: Mapping[str, Callable[[Study], Sequence[Comparison]]] = field(default_factory=dict)
    why_short: Mapping[str, str] = field(default_factory=dict)
    scenes: Callable[[Study], Sequence[Scene]] | None = None
    scale: Sequence[SweptPath] = ()
