# SPDX-License-Identifier: MIT
"""S3, Baokun Li's block allocation patches: what the fallocate2 table claims, and a model of it."""

from collections.abc import Callable, Mapping

from lockscale.fitting.simulated_model import Simulated, SimulatedColumn
from lockscale.sim import load_model
from lockscale.studies.hooks import Given, SweptArm, SweptPath, Values
from lockscale.tables.claim import AuditRow, Gap, Interval, judged, row, unstated
from lockscale.tables.datapackage import printed_points, published
from lockscale.tables.percentages import change, how_printed

TABLE = "s3_fallocate2"
OF_ALL = ("elsewhere_us", "others_us", "handle_ns", "apart_pct")
OWN_GOAL = {"trylock": True, "per_inode_goal": True}
GROUPS = 4096.0  # of 128 MiB: 512 GiB, so that each of 1024 CPUs has a goal
FARTHEST = 64  # containers in S3; its effective share apart_pct is not extrapolated
GOAL_SD = 0.03  # of ln(goal_ns): as the noise of S3's rates, since its commit states none


def _rates() -> tuple[dict[tuple[str, int], str], bool]:
    """The printed rates by arm and containers, and whether the table's caption calls them per container."""
    captions = set(published(TABLE).query("unit == 'ops/s'")["statistic"])
    rates = {at: text for caption in captions for at, text in printed_points(TABLE, caption).items()}
    return rates, captions == {"mean_per_container"}


def _base_per_s() -> tuple[dict[int, float], bool]:
    rates, per_container = _rates()
    return {n: float(text) for (arm, n), text in rates.items() if arm == "wait-group"}, per_container


def aggregate_is_lower() -> AuditRow:
    """The letter: 'much lower aggregate fallocate OPS compared to a single container'."""
    base, per_container = _base_per_s()
    ratios = {n: (n if per_container else 1) * rate / base[1] for n, rate in base.items() if n > 1}
    found = Interval(ratios[max(base)], min(ratios.values()), max(ratios.values()))
    claim = "base: many containers together make fewer ops/s than one alone"
    note = f"aggregate at {max(base)} containers over that at 1; low and high: the extremes over all counts"
    return row(TABLE, claim, 1.0, found, "x", judged(found.high < 1), note)


def numbers_are_aggregate() -> AuditRow:
    """The letter prints the unpatched row under its text on aggregate OPS, and again per container."""
    base, per_container = _base_per_s()
    claim = "the numbers are aggregate ops/s, as the letter's text says"
    said = "per container, and they are read so here" if per_container else "aggregate too"
    note = (
        f"the table's caption says {said}; the value is {max(base)} containers over 1, if they were aggregate"
    )
    return row(TABLE, claim, None, base[max(base)] / base[1], "x", judged(not per_container), note)


def changes() -> list[AuditRow]:
    """Every percentage against the rates of its arm and of the unpatched side."""
    rates, _ = _rates()
    found = [
        change(f"{arm} at {n}", text, rates["wait-group", n], rates[arm, n])
        for (arm, n), text in printed_points(TABLE, "vs_base").items()
    ]
    return how_printed(TABLE, found)


def audit_table() -> list[AuditRow]:
    lost = ", ".join(text for (_, n), text in printed_points(TABLE, "vs_base").items() if n == 1)
    return [
        aggregate_is_lower(),
        numbers_are_aggregate(),
        *changes(),
        *unstated(
            TABLE,
            Gap(
                "the main bottleneck is ext4_lock_group()",
                "rates with the first patch only",
                "arm",
                "trylock",
            ),
            Gap(f"one container loses speed ({lost})", "the spread of repeats", "statistic", "single"),
        ),
    ]


CLAIMS: dict[str, Callable[[], list[AuditRow]]] = {TABLE: audit_table}


def containers(threads: int, free: Mapping[str, float]) -> Mapping[str, float]:
    """S3: one container meets no other and moves no line; of many, each meets fewer than all the others.

    others_us: lines that others wrote last. skip_us: the linear search passes groups that others hold.
    apart_pct: the share by which every queue is shorter for each container; the same in all three columns
    and in no text, so effective. A truncate frees behind the goal, in another group the further behind the
    more containers share the goal; commits and start skew would do likewise.
    """
    together = 1 - free["apart_pct"] / 100 * threads
    alone = threads == 1
    elsewhere_us = free["elsewhere_us"]
    elsewhere_us += 0 if alone else free["others_us"] + free.get("skip_us", 0)
    queues = [name for name in ("handle_ns", "moved_ns", "search_ns") if name in free]
    used = queues[:1] if alone else queues  # the others' lines are its own
    return {"elsewhere_us": elsewhere_us, **{name: free[name] * together for name in used}}


FITTED = Simulated(
    TABLE,
    "group_trylock",
    {
        "elsewhere_us": (0.5, 4),
        "others_us": (0.3, 10),
        "skip_us": (0.3, 10),
        "moved_ns": (2000, 12000),
        "handle_ns": (400, 3000),
        "search_ns": (500, 5000),
        "apart_pct": (0.05, 1.2),
    },
    {
        "wait-group fallocate_rate aggregate": SimulatedColumn(
            {"search_ns": 0}, (*OF_ALL, "moved_ns"), containers
        ),
        "inode-goal-scan0 fallocate_rate aggregate": SimulatedColumn(
            OWN_GOAL, (*OF_ALL, "skip_us"), containers
        ),
        "inode-goal-scan1 fallocate_rate aggregate": SimulatedColumn(
            {**OWN_GOAL, "scan": True}, (*OF_ALL, "search_ns"), containers
        ),
    },
    {"hold_ns": 0, "pass_ns": 0, "serial_ns": 0, "free_us": 0, "try_ns": 0},
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


ALLOCATE = SweptPath(
    "allocate",
    "group_goals",
    TABLE,
    "fallocates/s",
    {
        "multi-goal": SweptArm(_allocate(multi_goal=True, arbitrary=True)),
        "multi-goal, flex groups": SweptArm(_allocate(multi_goal=True, flex_groups=True)),
        "goal-spread": SweptArm(_allocate(goal_spread=True, arbitrary=True)),
        "multi-goal, no journal": SweptArm(_allocate(multi_goal=True, arbitrary=True, serial_ns=0.0)),
        "multi-goal, flex groups, no journal": SweptArm(
            _allocate(multi_goal=True, flex_groups=True, serial_ns=0.0), most=256
        ),
        "goal-spread, no journal": SweptArm(_allocate(goal_spread=True, arbitrary=True, serial_ns=0.0)),
    },
    repeated={"ext4_mb_scan_group": "try_ns"},
    more={"goal_ns": GOAL_SD},
)
