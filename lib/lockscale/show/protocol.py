# SPDX-License-Identifier: MIT
"""The protocol of a measurement, which git am drops: machine, commands, intervals, costs, predictions."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from lockscale.kernels.mail import COLUMNS
from lockscale.measure.compare_arms import most_extra
from lockscale.measure.provenance import run_command
from lockscale.measure.rows import is_benchmark, rate_note, where_measured
from lockscale.show.commit_text import Paragraph, begun, plain
from lockscale.show.undecided import least_known
from lockscale.study.file import Study
from lockscale.tables import describe
from lockscale.text_table import cell_text
from lockscale.tools.fsload import PHASES
from lockscale.tools.ftrace_cost import FunctionCost
from lockscale.tools.ftrace_cost import table as cost_table


class Measurement(NamedTuple):
    """What a run says of two arms. `compared`: rates with what is significant, where they are a benchmark.

    `counter`: what `extra` counts, with its unit. `costs`: of each arm, at the point with the most extra
    calls. `apart_pct`: how far the rates of one kernel's boots are apart, the most at any point. `in_aa`: the
    A/A pair is of the patched arm and was counted too. `of_the_study`: the counter is the study's own, not in
    its place the calls of a function. `profiled`: boots of an arm, and operations in all of them, in `costs`.
    `observe`: build-ids of the kernels that counted, where they are others. `others`: rates of the other
    arms, as `compared`.
    """

    provenance: dict[str, Any]
    extra: pd.DataFrame
    counter: str
    compared: pd.DataFrame | None
    costs: dict[str, pd.DataFrame]
    prediction: dict[str, Any]
    apart_pct: float | None = None
    in_aa: bool = False
    of_the_study: bool = True
    profiled: tuple[int, int] | None = None
    observe: tuple[str, ...] = ()
    others: pd.DataFrame | None = None


FAR_APART = 10
"""High over low of an interval that says nothing of an arm."""


def protocol_blocks(study: Study, found: Measurement) -> list[Paragraph]:
    """What was measured, on what, how again, and how sure it is; no rates of an emulated machine."""
    provenance, (cpus, threads) = found.provenance, most_extra(found.extra)
    point = f"{where_measured(provenance)}, {cpus} CPUs, {threads} processes"
    if found.profiled:
        boots, operations = found.profiled
        point += f"; sums of {boots} boots and {operations} operations"
    return [
        *_preamble(study, found),
        *(_counts(study, found) if _has_counts(found) else []),
        *_rates(study, provenance, found.compared),
        *_others(study, found.others),
        *_costs(study, found.costs, point, is_benchmark(provenance["origin"])),
        *_predicted(study, found.prediction, found.compared),
        *_sources(study),
    ]


def _has_counts(found: Measurement) -> bool:
    """Of rates that are a benchmark, calls of a function prove nothing."""
    return found.compared is None or found.of_the_study


def boots_of(found: Measurement) -> int:
    """How many boots of each arm were compared, at the point that has the fewest; the A/A pair is none."""
    return int(found.extra.repeats.min() if found.compared is None else found.compared.blocks.min())


def noise_of(apart_pct: float | None) -> list[str]:
    """A sentence on the boots of one kernel; nothing where there is one of each."""
    return [] if apart_pct is None else [f"Boots of one kernel differ by up to {apart_pct:.1f}%."]


def _table(head: str, lines: Sequence[str]) -> list[Paragraph]:
    return [Paragraph(head), Paragraph("\n".join(lines), fixed=True)]


def _preamble(study: Study, measured: Measurement) -> list[Paragraph]:
    provenance = measured.provenance
    kernels = {arm: provenance["kernels"][arm] for arm in study.sides}
    spin_locks = ", ".join(sorted({kernel["spin_lock"] for kernel in kernels.values()}))
    host, found = provenance["host"], _as_found(study, provenance)
    tool = next(iter(found.values()))
    with_aa = measured.in_aa and _has_counts(measured)
    size = f"disk {size_mib} MiB" if (size_mib := disk_mib(provenance)) else ""
    of_arms = {
        arm: ", ".join(filter(None, (size, made_of(one["file_system"])))) for arm, one in found.items()
    }
    worth = (
        "" if is_benchmark(provenance["origin"]) else ": counters are the proof, rates are not a benchmark"
    )
    # what nobody shall overlook in capitals; how it was accelerated is no shouting
    words, bracket, accel = where_measured(provenance).partition(" (")
    lines = [
        *_wrap(f"Kernel: {versions_of(kernels)}, {spin_locks} spin locks, with their build-ids:"),
        # in brackets, or checkpatch takes it for a commit that is not described
        *(line for arm, kernel in kernels.items() for line in _kernel(arm, kernel["build_id"])),
        *_lines_of("mkfs", {arm: one["file_system"]["mkfs_line"] for arm, one in found.items()}),
        *_lines_of("mount", {arm: one["file_system"]["mount_line"] for arm, one in found.items()}),
        *_lines_of("made", {arm: made for arm, made in of_arms.items() if made}),
        *_wrap(f"load:   {tool['tool']} {tool['tool_version']} {study.workload}, own directories, "
               f"{_operations(study)}"),
        *_wrap(f"rerun:  {rerun_command(study, provenance)}"),
    ]  # fmt: skip
    return [
        Paragraph(f"Study {study.name}: {study.question}"),
        Paragraph(
            f"MEASURED {words.upper()}{bracket}{accel}, on {host['cpus']} host CPUs "
            f"({host['cpu_model']}){worth}. "
            f"Averages of {boots_of(measured)} interleaved boots per arm"
            + (f"; counts also average over the A/A pair of {study.patched.name}." if with_aa else ".")
        ),
        *machine_in_virtual_time(provenance),
        Paragraph("\n".join(lines), fixed=True),
    ]


def _kernel(arm: str, build_id: str) -> list[str]:
    """On two lines where the name of the arm leaves no room."""
    line = f"  {arm:<15} [{build_id}]"
    return [line] if len(line) <= COLUMNS else [f"  {arm}", f"    [{build_id}]"]


def versions_of(kernels: Mapping[str, dict[str, Any]]) -> str:
    """Of Linux, each once."""
    return ", ".join(sorted({kernel["version"] for kernel in kernels.values()}))


def made_of(system: dict[str, Any]) -> str:
    """What mkfs made that decides a result, such as the number of groups; `system` of a provenance."""
    facts = system.get("facts") or {name: system[name] for name in FACTS if name in system}
    known = {name: value for name, value in facts.items() if value is not None}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in known.items())


FACTS = ("block_groups", "inodes_per_group", "journal_size")
"""Of a file system that was recorded before its facts had a place of their own."""


def disk_mib(provenance: dict[str, Any]) -> int | None:
    """Of a guest's disk: the target's, or what the study asked for where that is more; None of a server's."""
    size_mib = ((provenance.get("target") or {}).get("disk") or {}).get("size_mib")
    asked = (provenance.get("study") or {}).get("disk_mib") or 0
    return max(asked, size_mib) if size_mib else None


def _as_found(study: Study, provenance: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Arm -> what its first step found, as `001-aa0-ARM-4cpu`; one of any arm where none says its arm."""
    steps = provenance["as_found"]
    found: dict[str, dict[str, Any]] = {}
    for arm in study.sides:
        of_arm = re.compile(rf"\d+-\w+-{re.escape(arm)}-\d+cpu")
        first = next((step for step in steps if of_arm.fullmatch(step)), None)
        found |= {arm: steps[first]} if first else {}
    return found or {"": next(iter(steps.values()))}


def _lines_of(what: str, of_arms: dict[str, str]) -> list[str]:
    """One entry where the arms agree, else one an arm; none where nothing is known."""
    if not of_arms:
        return []
    if len(set(of_arms.values())) == 1:
        return _wrap(f"{what + ':':<7} {next(iter(of_arms.values()))}")
    return [line for arm, said in of_arms.items() for line in _wrap(f"{what + ':':<7} {said} ({arm})")]


def _operations(study: Study) -> str:
    asked = study.parameters
    counts = {asked.operations(guest, n) for guest in asked.guests for n in guest.processes}
    loads = max((loads for guest in asked.guests for loads in guest.loads_at.values()), default=1)
    each = f"load, up to {loads} loads per point" if loads > 1 else "point"
    return f"{' or '.join(map(str, sorted(counts)))} operations per {each}"


def machine_in_virtual_time(provenance: dict[str, Any]) -> list[Paragraph]:
    """What a rate in virtual time is made of, and what it leaves out; nothing of another origin."""
    if provenance["origin"] != "virtual":
        return []
    target = provenance["target"]
    prices = ", ".join(f"{n.replace('_', ' ')} {price['ns']:g}" for n, price in target["prices"].items())
    cpus = max(guest["cpus"] for guest in provenance["study"]["parameters"]["guests"])
    return [
        Paragraph(
            f"Virtual time: a real kernel on {cpus} CPUs, {target['cpus_per_socket']} per socket; prices in "
            f"ns: {prices}; a disk in memory, {target['disk']['completion_ns']} per request. Left out: "
            "capacity misses, memory bandwidth, SMT, out-of-order overlap, frequency scaling."
        )
    ]


def rerun_command(study: Study, provenance: dict[str, Any]) -> str:
    """What repeats it here; the name of somebody's own target says nothing to others."""
    target = provenance["target"]
    name = "TARGET" if target["kind"] == "ssh" else target["name"]
    return run_command(study.name, study.model_dump(mode="json")["parameters"], name)


def heads_of(sides: tuple[str, str], least: tuple[int, int], room: int) -> tuple[str, str]:
    """Two arms' names above their columns, each at least so wide; their roles where `room` is too little."""
    widths = [max(len(name), width) for name, width in zip(sides, least, strict=True)]
    if sum(widths) > room:
        return "unpatched".rjust(least[0]), "patched".rjust(least[1])
    return sides[0].rjust(widths[0]), sides[1].rjust(widths[1])


def percent(before: float, after: float, significant: bool) -> str:
    """The change from `before` to `after`, marked()."""
    text = f"{100 * (after / before - 1):z.2f}%" if before else "new" if after else "0.00%"
    return marked(text, significant)


def marked(change: str, significant: bool) -> str:
    """A change as kernel changelogs print it: `*  -2.39%*` when significant, else `(  4.40%)`."""
    return f"*{change:>8}*" if significant else f"({change:>8})"


def _counts(study: Study, found: Measurement) -> list[Paragraph]:
    extra, counter = found.extra, found.counter
    unpatched, patched = study.sides
    lines = ["cpus procs unpatched   patched     extra [     low,     high]   spread"]
    row: Any
    for row in extra.rename(columns={unpatched: "before", patched: "after"}).itertuples():
        lines.append(
            f"{row.cpus:>4} {row.threads:>5} {row.before:>z9.4f} {row.after:>z9.4f} {row.extra:>z9.4f} "
            f"[{row.low:>z8.4f}, {row.high:>z8.4f}] {row.spread:>z8.4f}{' *' * bool(row.significant)}"
        )
    head = (
        f"{counter}: {unpatched} (unpatched), {patched} (patched), and the excess of the unpatched arm "
        f"with its interval ({extra.level_pct.min():.1f}%, rank-based, each row by itself). Spread: range of "
        f"the patched arm's repeats. *: {TEST}."
    )
    phases = PHASES.get(study.workload, ())
    if found.observe:
        whole = f" of whole loads ({' and '.join(phases)})" if len(phases) > 1 else ""
        ids = ", ".join(f"[{one}]" for one in found.observe)
        head += f" Counts{whole}, on kernels with the same series and counters: {ids}."
    return _table(head, lines)


TEST = "significant at 5% over all rows (Student's t of the blocks' gaps, Holm)"


def _rates(study: Study, provenance: dict[str, Any], compared: pd.DataFrame | None) -> list[Paragraph]:
    """Both arms' at each point, the change, and a star where it is significant."""
    if compared is None:
        return []
    unpatched, patched = heads_of(study.sides, (12, 14), 40)
    lines = [f"cpus procs  {unpatched}            {patched}"]
    row: Any
    for row in compared.itertuples():
        lines.append(
            f"{row.cpus:>4} {row.threads:>5}  {row.unpatched:>{len(unpatched)}.0f} (  0.00%)   "
            f"{row.value:>{len(patched)}.0f} {percent(row.unpatched, row.value, row.significant)}"
        )
    head = f"{begun(study.metric)}{rate_note(compared)} {where_measured(provenance)} (*: {TEST}):"
    known = least_known(compared)
    return [*_table(head, lines), *([Paragraph(known)] if known else [])]


def _others(study: Study, others: pd.DataFrame | None) -> list[Paragraph]:
    """What each of the other arms gained where the most processes were measured."""
    if others is None or others.empty:
        return []
    last = others.sort_values(["cpus", "threads"]).groupby("arm", sort=False).tail(1)
    last = last[last.threads == last.threads.max()]
    said = ", ".join(
        f"{arm} {value / unpatched:.2f}{'*' if star else ''}"
        for arm, value, unpatched, star in zip(
            last.arm, last.value, last.unpatched, last.significant, strict=True
        )
    )
    return [
        Paragraph(
            f"The other arms with {int(last.threads.max())} processes, as times the rate of "
            f"{study.unpatched.name}: {said}."
        )
    ]


def _sources(study: Study) -> list[Paragraph]:
    """Where the published values are from that the text names."""
    if "published" not in f"{study.problem} {study.story}":
        return []
    titles = dict.fromkeys(describe(name)["source"] for name in study.published_tables)
    return [Paragraph(f"Published values are from: {'; '.join(titles)}.")] if titles else []


def _costs(study: Study, costs: dict[str, pd.DataFrame], point: str, benchmark: bool) -> list[Paragraph]:
    """Function costs of each arm; what a call takes is compared only where times mean something."""
    note = "" if benchmark else "; counts are valid, times are not a benchmark"
    found: list[Paragraph] = []
    for arm, cost in costs.items():
        rows = [
            FunctionCost(_function(r["function"], r["avg_us"]), r["total_us"], int(r["count"]), r["avg_us"])
            for r in cost.to_dict("records")
        ]
        lines = cost_table(rows).rstrip("\n").split("\n")
        found += _table(f"Function cost of {arm} (measured {point}, profiler on{note}):", lines)
    unpatched, patched = study.sides
    if benchmark and {unpatched, patched} <= costs.keys():
        head = f"The same averages before ({unpatched}) and after ({patched}), in microseconds:"
        found += _table(head, _before_after(costs[unpatched], costs[patched]))
    return found


def _before_after(before: pd.DataFrame, after: pd.DataFrame) -> list[str]:
    """One call of each function that both arms have; no stars, as a profile is one sum over all runs."""
    both = before.merge(after, on="function", suffixes=("_before", "_after"))
    lines = [f"{'FUNC':<30} {'BEFORE':>10} {'AFTER':>10}"]
    for row in both.to_dict("records"):
        old, new = row["avg_us_before"], row["avg_us_after"]
        change = percent(old, new, False) if old else ""
        lines.append(f"{_function(row['function'], old):<30} {old:>10.2f} {new:>10.2f} {change}".rstrip())
    return lines


def _function(name: str, avg_us: float) -> str:
    """Its name, without the middle where a line of a cost table has too little room beside the numbers."""
    room = COLUMNS - len(cost_table([FunctionCost("", 0, 0, avg_us)]).splitlines()[1]) + NAME
    return name if len(name) <= room else f"{name[: room - 12]}...{name[-9:]}"


NAME = 30
"""Columns of a cost table for a name; a longer one moves the numbers."""


def _predicted(study: Study, prediction: dict[str, Any], compared: pd.DataFrame | None) -> list[Paragraph]:
    """What was written down before the measurement, of this run and of the machine of the tables.

    Nothing of an arm of which nothing could be predicted.
    """
    both = _gain_here(study, prediction, compared), _elsewhere(study, prediction)
    return [Paragraph(one) for one in both if one]


def _gain_here(study: Study, prediction: dict[str, Any], compared: pd.DataFrame | None) -> str:
    """The gain of this run at the most processes, beside what was measured."""
    arm, unpatched = study.patched.name, study.unpatched.name
    said = [one for one in (prediction.get("run") or {}).get("gains", []) if one["arm"] == arm]
    if not said or compared is None or (prediction["run"]["unpatched"] != unpatched):
        return ""
    one = max(said, key=lambda gain: (gain["cpus"], gain["threads"]))
    here = compared[(compared.cpus == one["cpus"]) & (compared.threads == one["threads"])]
    measured = f"; measured: {here.value.iloc[0] / here.unpatched.iloc[0]:.2f}" if len(here) else ""
    return (
        f"Predicted from the rates of {unpatched} in this run, before another arm was booted: {arm} at "
        f"{one['threads']} processes {one['low']:.2f} to {one['high']:.2f} times as fast (90%"
        f"{', too wide to say how much' if one['high'] > FAR_APART * one['low'] else ''}){measured}."
    )


def _elsewhere(study: Study, prediction: dict[str, Any]) -> str:
    """Rates of the machine that the unpatched side's tables are of, or that they say too little of it."""
    p = prediction["published_machine"]
    if p is None or p["arm"] != study.patched.name:
        return ""
    begins = PREDICTED.get(prediction.get("origin", "published"), "Predicted from {used}")
    begins = begins.format(used="; ".join(prediction.get("used") or ["the unpatched side"]))
    if p["high"] > FAR_APART * p["low"]:
        times = f"{p['high'] / p['low']:.0f}"
        return f"{begins}: {p['arm']} only within a factor of {times}, which says nothing of it."
    gain = ""
    if "gain_low" in p:  # of the mean unpatched rate, whose scatter the rates' interval has as well
        gain = f"{p['gain_low']:.1f}x to {p['gain_high']:.1f}x, and with the scatter of the unpatched rate "
    ends = f"{cell_text(float(p['low']))} to {cell_text(float(p['high']))} {p['unit']}"
    return f"{begins}: {p['arm']} at {p['threads']} processes {gain}{ends}."


PREDICTED = {
    "published": "Predicted for the published machine, from {used}",
    "simulated": "Predicted for the machine that the model is calibrated to ({used})",
}
"""How the sentence begins, by the origin of the unpatched side."""


def _wrap(text: str) -> list[str]:
    """An entry of a list: its further lines are indented."""
    return textwrap.wrap(plain(text), COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
