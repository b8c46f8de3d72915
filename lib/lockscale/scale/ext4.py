# SPDX-License-Identifier: MIT
"""ext4's create, allocation and orphan paths: which model, which arms, and where their parameters are from.

Each takes the parameters of the scoreboard's fit to one published table. Beyond that table's threads they
are an extrapolation: the same machine, one socket, more CPUs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lockscale import paths
from lockscale.fitting.simulated_tables import (
    ALONE_US,
    CREAT_CLO,
    OF_AN_ORPHAN,
    STRESS_ORPHAN,
    Simulated,
    truncates,
)
from lockscale.scale.draws import Values
from lockscale.sim import load_model
from lockscale.sim.models import AnyModel

MOST = 1024
GROUPS = 4096.0  # of 128 MiB: 512 GiB, so that each of 1024 CPUs has a goal
FARTHEST = 64  # containers in S3; its effective share apart_pct is not extrapolated
GOAL_SD = 0.03  # of ln(goal_ns): as the noise of S3's rates, since its commit states none
LOCKED, LOCKLESS = (f"orphan-{name} given orphan-off" for name in ("locked", "lockless"))
Given = Callable[[int, Values, Values], Mapping[str, object]]


@dataclass(frozen=True)
class Arm:
    """`given`: the model's parameters at N threads from the fit's best set and one draw.

    `most`: of N. Beyond 256 one point of a storm, or of a search among goals that all share, takes many
    times as long to simulate as the other arms', for each of the draws.
    """

    given: Given
    most: int = MOST


@dataclass(frozen=True)
class Path:
    """`unit_per_s`: the rate that counts as 1; `more`: drawn beside the fit to `table`, with the SD of ln."""

    name: str
    model: AnyModel
    table: str
    unit: str
    arms: Mapping[str, Arm]
    unit_per_s: float = 1.0
    more: Mapping[str, float] = field(default_factory=dict)


def _create(**held: object) -> Given:
    return lambda threads, best, drawn: {"search_locked": True, **drawn, **held}


def _region_each(threads: int, best: Values, drawn: Values) -> Mapping[str, object]:
    return {"search_locked": True, **drawn, "start_regions": float(threads)}


CREATE = Path(
    "create",
    paths.KERNEL_PATCHES / "inode-claim" / "claim-spread" / "claim_spread.py",
    "s1_rates",
    "creates/s",
    {
        "steal-retry": Arm(_create(search_locked=False), most=256),
        "search-locked": Arm(_create()),
        "claim-spread": Arm(_region_each),
        "group-spread": Arm(_create(lock_groups=16.0)),
    },
)


def _allocate(**held: object) -> Given:
    """group_goals' own values, each as many times as the draw is of the best: both are S3's machine.

    Its others_us are others_us and skip_us of the fit, its serial_ns the fit's handle_ns among FARTHEST.
    """

    def given(threads: int, best: Values, drawn: Values) -> Mapping[str, object]:
        own = {one.name: one.default for one in load_model("group_goals").parameters if one.unit}
        now, then = _of_group_goals(drawn), _of_group_goals(best)
        scaled = {name: float(own[name]) * now[name] / then[name] for name in now}
        return {"block_groups": GROUPS, **scaled, **held}

    return given


def _of_group_goals(fitted: Values) -> Values:
    return {
        "elsewhere_us": fitted["elsewhere_us"],
        "others_us": fitted["others_us"] + fitted["skip_us"],
        "moved_ns": fitted["moved_ns"],
        "serial_ns": fitted["handle_ns"] * (1 - fitted["apart_pct"] / 100 * FARTHEST),
        "goal_ns": fitted["goal_ns"],
    }


ALLOCATE = Path(
    "allocate",
    "group_goals",
    "s3_fallocate2",
    "fallocates/s",
    {
        "multi-goal": Arm(_allocate(multi_goal=True, arbitrary=True)),
        "multi-goal, flex groups": Arm(_allocate(multi_goal=True, flex_groups=True)),
        "goal-spread": Arm(_allocate(goal_spread=True, arbitrary=True)),
        "multi-goal, no journal": Arm(_allocate(multi_goal=True, arbitrary=True, serial_ns=0.0)),
        "multi-goal, flex groups, no journal": Arm(
            _allocate(multi_goal=True, flex_groups=True, serial_ns=0.0), most=256
        ),
        "goal-spread, no journal": Arm(_allocate(goal_spread=True, arbitrary=True, serial_ns=0.0)),
    },
    more={"goal_ns": GOAL_SD},
)


def _of_fit(of: Simulated, column: str) -> Given:
    """As the column's arm has them; beyond the table's threads as at the most of them."""
    arm = of.arms[column]

    def given(threads: int, best: Values, drawn: Values) -> Mapping[str, object]:
        free = {name: drawn[name] for name in arm.depends_on}
        return {**of.held, **arm.held, **arm.at(min(threads, _most(of, column)), free)}

    return given


def _most(of: Simulated, column: str) -> int:
    return max(int(n) for one in of.columns() if one.name == column for n in one.threads)


def _off(threads: int, best: Values, drawn: Values) -> Mapping[str, object]:
    nothing = dict.fromkeys(OF_AN_ORPHAN, 0.0)
    at = min(threads, _most(STRESS_ORPHAN, LOCKLESS))
    return {**STRESS_ORPHAN.held, "hold_ns": 0, "off": True, **truncates(at, nothing)}


TRUNCATE = Path(
    "truncate",
    "orphan_file",
    "s4_stress_orphan",
    "times one alone",
    {
        "orphan-locked": Arm(_of_fit(STRESS_ORPHAN, LOCKED)),
        "orphan-lockless": Arm(_of_fit(STRESS_ORPHAN, LOCKLESS)),
        "orphan-off": Arm(_off),
    },
    unit_per_s=1e6 / ALONE_US,
)
CREATE_AND_CLOSE = Path(
    "create and close",
    "creat_clo",
    "s4_creat_clo",
    "ops/s",
    {
        f"orphan-{name}": Arm(_of_fit(CREAT_CLO, f"orphan-{name} throughput"))
        for name in ("mutex", "lockless")
    },
)
PATHS = (CREATE, ALLOCATE, TRUNCATE, CREATE_AND_CLOSE)
