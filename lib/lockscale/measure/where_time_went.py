# SPDX-License-Identifier: MIT
"""What a machine in virtual time says of a point beside its rate: where the time went, and its own error."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.machine import must
from lockscale.machines.virtual_time import MovedLine, Section, refuse_broken, with_setting
from lockscale.measure.load import LOAD_TIMEOUT_S, Point, Reading
from lockscale.measure.plan import WARM_UP
from lockscale.measure.rows import STATISTICS, of_all_processes
from lockscale.measure.target import Booted
from lockscale.study.file import Study
from lockscale.study.target_file import HALF_QUANTUM

TOOL = "manycore"
SHARE = "time_in."
HALF = "rate_at_half_quantum"
"""With CPUs at most half as far apart in time: what the quantum does to the rate."""
AT_PRICE = "rate_at."
LINE = "line."
USER = "user"
LEAST_OCCUPIED, MOST_LINES = 0.02, 8
# lost: forgotten by a directory that was full, and so free when touched again
COUNTS = {"lines_near": "near", "lines_far": "far", "lines_lost": "lost_lines"}
_CODE = frozenset("tTwW")
_LOW_HALF = 0xFFFFFFFF


@dataclass(frozen=True)
class SystemMap:
    """System.map of a kernel build. addresses: of functions, ascending; names: theirs."""

    addresses: tuple[int, ...]
    names: tuple[str, ...]

    def function_at(self, low_half: int) -> str:
        """The function that holds an address of the kernel's code, of which the lower 32 bits are known."""
        base = self.addresses[0] & ~_LOW_HALF
        k = bisect_right(self.addresses, base | low_half) - 1
        return self.names[k] if k >= 0 else "?"


@cache
def read_system_map(path: Path) -> SystemMap:
    """Raises BadInput where the file cannot be read or lists no function."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}): build the kernel again") from None
    parts = [line.split() for line in lines]
    code = sorted((int(part[0], 16), part[2]) for part in parts if len(part) == 3 and part[1] in _CODE)
    if not code:
        raise BadInput(f"{path} lists no functions: build the kernel again")
    kernel = [one for one in code if one[0] >> 63]
    addresses, names = zip(*(kernel or code), strict=True)
    return SystemMap(addresses, names)


def where_time_went(sections: Sequence[Section], point: Point, symbols: SystemMap) -> Iterator[Reading]:
    """Shares of the time of all CPUs that were not idle, and cache-line transfers, for each phase of a load.

    A tool without marks of its own is one section, whatever its phases. Raises RunFailed where a section's
    rates are none.
    """
    for phase, section in _by_phase(sections, point):
        for part, share in section.shares.items():
            yield point.reading(TOOL, phase, f"{SHARE}{part}", "share", "1", share, False)
        for metric, name in COUNTS.items():
            yield point.reading(TOOL, phase, metric, "total", "lines", section.counts[name], False)
        for function, line in moved_most(section, symbols).items():
            numbers = ("moves", "lines", line.moves), ("occupied", "ns", line.occupied_ns)
            for number in (*numbers, ("queued", "ns", line.queued_ns)):
                yield point.reading(TOOL, phase, f"{LINE}{function}", *number, False)
        yield point.reading(TOOL, phase, "section", "virtual", "ns", section.virtual_ns, False)
        yield point.reading(TOOL, phase, "section", "real", "ns", section.real_ns, False)


def _by_phase(sections: Sequence[Section], point: Point, at: str = "") -> list[tuple[str, Section]]:
    """The phase that each section of one load is, or all of them together where it is the only one.

    at: the setting of the machine. Raises RunFailed where the load's rates are none: a part that was in no
    section had no prices of memory.
    """
    load, by = point.load, f"by {point.processes} processes{f' at {at}' if at else ''}"
    if len(sections) not in (1, len(load.phases)):
        raise RunFailed(
            f"{load.together} {by}: {len(sections)} measured sections were seen "
            f"instead of {len(load.phases)}, so its time may be wrong: run it again"
        )
    phases = load.phases if len(sections) == len(load.phases) else (load.together,)
    for phase, section in zip(phases, sections, strict=True):
        refuse_broken(section, f"{phase} {by}")
    return list(zip(phases, sections, strict=True))


def moved_most(section: Section, symbols: SystemMap) -> dict[str, MovedLine]:
    """Of each function the longest occupied line that it moves, where that is long enough to tell."""
    found: dict[str, MovedLine] = {}
    for line in section.lines:
        if line.occupied_ns >= LEAST_OCCUPIED * section.virtual_ns and len(found) < MOST_LINES:
            found.setdefault(symbols.function_at(line.site) if line.site else USER, line)
    return found


def at_setting(booted: Booted, point: Point, setting: str, metric: str) -> Iterator[Reading]:
    """The same load on the same machine with one of its numbers another: its rates, as `metric`."""
    assert booted.virtual_time is not None, "only a target in virtual time has settings"
    command = with_setting(booted.virtual_time.settings.index(setting) + 1, point.command("both"))
    known = len(booted.virtual_time.sections())
    said = must(booted.machine, command, timeout_s=LOAD_TIMEOUT_S)
    _by_phase(booted.virtual_time.sections(known), point, setting)
    for row in point.load.parse(said).rows:
        if row.metric == "rate" and row.statistic in STATISTICS:
            yield point.reading(TOOL, row.test, metric, row.statistic, row.unit, row.value, False)


def price_ends(booted: Booted, point: Point) -> Iterator[Reading]:
    """Each price at both ends of its range, the others as described."""
    assert booted.virtual_time is not None, "only a target in virtual time has prices"
    for setting in booted.virtual_time.settings:
        if setting != HALF_QUANTUM:
            yield from at_setting(booted, point, setting, f"{AT_PRICE}{setting}")


ARM_POINT = ["arm", "test", "cpus", "threads"]
MOVED = ["moves_per_op", "occupied_pct", "queued_pct"]


def time_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a point: in percent, where the time of all CPUs went; empty for another kind of target."""
    here = rows[(rows.tool == TOOL) & rows.metric.str.startswith(SHARE) & (rows.pair != WARM_UP)]
    wide = here.pivot_table(index=ARM_POINT, columns="metric", values="value").rename(
        columns=lambda x: x[len(SHARE) :]
    )
    return (100 * wide).round(1).add_suffix("_pct").reset_index()


def moved_lines(rows: pd.DataFrame) -> pd.DataFrame:
    """The cache lines that were on their way longest, one row a point and the function that moved them.

    occupied_pct: of the section's time, in which no other CPU gets the line: at 100% the line is the limit.
    queued_pct: of the same time, summed over the CPUs that waited for it. Means over the repeats in which
    the line moved enough to tell. Empty for another target.
    """
    here = rows[(rows.tool == TOOL) & (rows.pair != WARM_UP)]
    rated = rows[(rows.metric == "rate") & (rows.pair != WARM_UP)]  # a tool without marks has one section
    lines = here[here.metric.str.startswith(LINE) & here.test.isin(rated.test)]
    if lines.empty:
        return pd.DataFrame(columns=[*ARM_POINT, "function", *MOVED])
    in_virtual_time = here[(here.metric == "section") & (here.statistic == "virtual")]
    section_ns = in_virtual_time.groupby(ARM_POINT).value.mean()
    rates = pd.concat([of_all_processes(rated, test) for test in sorted(set(lines.test))])
    wide = lines.pivot_table(index=[*ARM_POINT, "metric"], columns="statistic", values="value")
    rated_per_s = rates.groupby(ARM_POINT).value.mean()
    point = wide.droplevel("metric").index
    ns, operations = section_ns.loc[point].to_numpy(), (section_ns * rated_per_s / 1e9).loc[point].to_numpy()
    found = pd.DataFrame(
        {
            "moves_per_op": (wide.moves / operations).round(2),
            "occupied_pct": (100 * wide.occupied / ns).round(1),
            "queued_pct": (100 * wide.queued / ns).round(1),
        }
    ).reset_index()
    found["function"] = found.metric.str.removeprefix(LINE)
    columns, order = [*ARM_POINT, "function", *MOVED], [*ARM_POINT, "occupied_pct"]
    return found.sort_values(order, ascending=[True] * 4 + [False], ignore_index=True)[columns]


def quantum_errors(rows: pd.DataFrame) -> pd.DataFrame:
    """The A/A pair's rates with half the quantum against those with the whole, in percent.

    Empty where none has half of it.
    """
    pair = rows[rows.pair == "aa"]
    tests = sorted(set(pair.test[pair.metric == HALF]))
    if not tests:
        return pd.DataFrame()
    rated = pd.concat([of_all_processes(pair, test, ("rate", HALF)) for test in tests])
    by_load = rated.set_index([*ARM_POINT, "iteration", "statistic"])
    whole, half = by_load[by_load.metric == "rate"].value, by_load[by_load.metric == HALF].value
    both = pd.concat([whole, half], axis=1, keys=["rate_per_s", "half_quantum_per_s"], join="inner")
    both["change_pct"] = (100 * (both.half_quantum_per_s / both.rate_per_s - 1)).round(2)
    return both.reset_index()


def gains_at_price_ends(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """The patched arm's rate over the unpatched one's, with each price at either end of its range.

    One row a number of processes and end; `as_described`: the gain of the same boots with no price
    changed. Empty where the run asked for none.
    """
    names = {study.unpatched.name: "unpatched_per_s", study.patched.name: "patched_per_s"}
    here = rows[(rows.pair == "ab") & rows.arm.isin(names)]
    at_ends = sorted(name for name in set(here.metric) if name.startswith(AT_PRICE))
    if not at_ends:
        return pd.DataFrame()
    ends = of_all_processes(here, study.operation, at_ends)
    same = ["iteration", "cpus", "threads"]
    boots = here.merge(ends[same].drop_duplicates(), on=same)
    plain = _gains(of_all_processes(boots, study.operation), names).gain.rename("as_described")
    found = _gains(ends, names).join(plain.droplevel("metric"), on=["cpus", "threads"]).reset_index()
    return found.assign(metric=found.metric.str.removeprefix(AT_PRICE)).rename(columns={"metric": "price"})


def _gains(rates: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    wide = rates.pivot_table(index=["cpus", "threads", "metric"], columns="arm", values="value")
    wide = wide.reindex(columns=list(names)).rename(columns=names)
    wide["gain"] = (wide.patched_per_s / wide.unpatched_per_s).round(2)
    return wide.round({"unpatched_per_s": 0, "patched_per_s": 0})
