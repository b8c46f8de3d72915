# SPDX-License-Identifier: MIT
"""multi-goal and goal-spread in the model group_goals: the figures of the cover, all simulated.

Makes simulated.csv, and prints the cover's tables from it:
python goal_spread.py simulated.csv
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lockscale.sim import Result, load_model, simulate
from lockscale.sim.results import mean_interval

ARMS = ("multi_goal", "goal_spread")
KINDS: dict[str, dict[str, bool]] = {
    "one directory": {},
    "arbitrary": {"arbitrary": True},
    "flex groups": {"flex_groups": True},
}
RUNS = 8
CPUS, GROUPS = (8, 16, 32, 64, 128), (128.0, 1024.0)
GUEST = {"writers_a_cpu": 2.0, "block_groups": 192.0, "full_allocations": 2048.0}
COSTS = {p.name: p.default for p in load_model("group_goals").parameters if p.unit in ("ns", "us")}
VARIED = sorted(COSTS.keys() - {"elsewhere_us", "pass_ns"})  # S3's rate alone; neither arm has the lock
COUNTERS = ("skipped", "missed", "waits")


def counters(run: Result) -> dict[str, float]:
    """Per allocation: groups skipped, goals missed, waits for a group's lock."""
    lock = run.locks["group lock"]
    return {
        "skipped": lock.failed_tries / run.operations,
        "missed": run.calls_per_op["ext4_mb_goal_miss"],
        "waits": lock.handovers / run.operations,
    }


def compare(part: str, cpus: int, kind: str, runs: int, operations: int, **given: float) -> dict[str, Any]:
    """One row: both arms, ``runs`` times with the same seeds and file numbers, and the gain of each pair."""
    rates: dict[str, list[float]] = {arm: [] for arm in ARMS}
    writers = cpus * int(given.get("writers_a_cpu", 1))
    groups = int(given.get("block_groups", 1024))
    row: dict[str, Any] = {"part": part, "cpus": cpus, "writers": writers, "groups": groups, "kind": kind}
    for arm in ARMS:
        counted = dict.fromkeys(COUNTERS, 0.0)
        for seed in range(1, runs + 1):
            values = {arm: True, **KINDS[kind], **given, "draw_number": float(seed)}
            run = simulate(
                "group_goals", cpus, values, seed=seed, replications=1, operations=operations, workers=1
            )
            rates[arm].append(run.rate_per_s / writers)
            counted = {name: counted[name] + n / runs for name, n in counters(run).items()}
        row |= interval(arm, rates[arm], 1)
        row |= {f"{arm}_{name}": round(n, 5) for name, n in counted.items()}
    pairs = zip(rates["goal_spread"], rates["multi_goal"], strict=True)
    return row | interval("gain_pct", [100 * (ours / theirs - 1) for ours, theirs in pairs], 2)


def interval(name: str, values: list[float], digits: int) -> dict[str, float | None]:
    """Mean and 95% interval by Student's t over the runs."""
    mean, low, high = mean_interval(values)
    found = {name: mean, f"{name}_low": low, f"{name}_high": high}
    return {key: None if value is None else round(value, digits) for key, value in found.items()}


def rows() -> Iterator[dict[str, Any]]:
    """All of them, the main table first."""
    for groups in GROUPS:
        for kind in KINDS:
            for cpus in CPUS:
                yield compare("main", cpus, kind, RUNS, max(16_000, 200 * cpus), block_groups=groups)
    for kind in KINDS:
        yield compare("guest", 4, kind, RUNS, 40_000, **GUEST)
    for cpus in (16, 64):
        for name in VARIED:
            for factor in (0.5, 2.0):
                for kind in KINDS:
                    part = f"{name} x{factor:g}"
                    yield compare(part, cpus, kind, RUNS, 12_800, **{name: factor * COSTS[name]})
        for part, given in (
            ("goal_ns = 100", {"goal_ns": 100.0}),
            ("by line, not by goal", {"line_ns": COSTS["goal_ns"], "goal_ns": 0.0}),
            ("no journal", {"serial_ns": 0.0}),
        ):
            for kind in KINDS:
                yield compare(part, cpus, kind, RUNS, 12_800, **given)


def write(path: Path) -> list[dict[str, Any]]:
    """Compute all rows and keep them."""
    columns = ["part", "cpus", "writers", "groups", "kind"]
    for name in (*ARMS, "gain_pct"):
        columns += [name, f"{name}_low", f"{name}_high"]
    columns += [f"{arm}_{name}" for arm in ARMS for name in COUNTERS]
    found = list(rows())
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(found)
    return found


def main_lines(found: list[dict[str, Any]]) -> list[str]:
    """The cover's first table: rates in 1000/s a writer, the gain, and each counter of both arms."""
    lines = []
    for r in (r for r in found if r["part"] in ("main", "guest")):
        cells = [r["kind"], f"{r['groups']}", f"{r['writers']}"]
        for arm in ARMS:
            half = (float(r[f"{arm}_high"]) - float(r[f"{arm}_low"])) / 2
            cells.append(f"{float(r[arm]) / 1000:.1f} ± {half / 1000:.1f}")
        gain, low, high = (percent(r[f"gain_pct{end}"]) for end in ("", "_low", "_high"))
        cells.append(f"{gain} ({low} to {high})")
        cells += [" / ".join(f"{float(r[f'{arm}_{name}']):.2g}" for arm in ARMS) for name in COUNTERS]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def varied_lines(found: list[dict[str, Any]]) -> list[str]:
    """The second one: the gain at 1024 groups for each kind of files at 16, then at 64 writers."""
    gains: dict[str, list[str]] = {}
    for r in (r for r in found if r["part"] not in ("main", "guest")):
        gains.setdefault(r["part"], []).append(percent(r["gain_pct"]))
    return [f"| {part} | {' | '.join(cells)} |" for part, cells in gains.items()]


def percent(value: Any) -> str:
    """With its sign, and no minus before nothing."""
    return f"{round(float(value), 1) + 0.0:+.1f}"


if __name__ == "__main__":
    made = write(Path(sys.argv[1]))
    print("\n".join([*main_lines(made), "", *varied_lines(made)]))
