# SPDX-License-Identifier: MIT
"""Changelog text: 75 columns of ASCII that git am takes unchanged inside a commit message."""

import textwrap
from typing import Any

import pandas as pd

from lockscale.errors import RunFailed
from lockscale.experiment.all_processes import note
from lockscale.experiment.where import is_benchmark, where
from lockscale.profilers.ftrace_cost import FunctionCost
from lockscale.profilers.function_table import table as cost_table
from lockscale.study import Study

COLUMNS = 75
NO_BENCHMARK = (
    ", not a benchmark: a queue of waiters stalls whenever the host stops one of them, so not even the "
    "direction means anything"
)


def changelog(
    study: Study,
    provenance: dict[str, Any],
    extra: pd.DataFrame,
    rates: pd.DataFrame,
    costs: dict[str, pd.DataFrame],
    prediction: dict[str, Any],
) -> str:
    """The text of a study: what was measured, on what, with which commands, and how sure it is."""
    parts = [
        _preamble(study, provenance, extra),
        _calls(study, extra),
        _extra(study, extra),
        _rates(study, rates, provenance),
        *(_costs(arm, cost, where(provenance)) for arm, cost in costs.items()),
        _predicted(prediction),
    ]
    return held("\n".join(parts))


def held(text: str) -> str:
    """The same text, refused if a mail or git am would not carry it unchanged."""
    for number, line in enumerate(text.splitlines(), start=1):
        bad = len(line) > COLUMNS or not line.isascii() or "\t" in line
        if bad or line.startswith(("---", "diff", "Index:")):
            raise RunFailed(f"changelog line {number} would not pass git am unchanged: {line!r}")
    return text


def _preamble(study: Study, provenance: dict[str, Any], extra: pd.DataFrame) -> str:
    kernels = provenance["kernels"]
    found = next(iter(provenance["as_found"].values()))
    made = found["file_system"]
    host = provenance["host"]
    lines = [
        f"Study {study.name}: {study.question}",
        "",
        *_wrap(
            f"MEASURED {_where(provenance)}, on {host['cpus']} host CPUs "
            f"({host['cpu_model']}){_worth(provenance)}. "
            f"Average of {extra.repeats.min()} interleaved runs an arm, and of the A/A pair."
        ),
        "",
        *_wrap(f"Kernel: {_versions(kernels)}, {_locks(kernels)} spin locks"),
        *(f"  {arm:<15} {kernel['build_id']}" for arm, kernel in kernels.items()),
        *_wrap(f"mkfs:   {made['mkfs_line']}"),
        *_wrap(f"mount:  {made['mount_line']}"),
        *_wrap(f"load:   {found['tool']} {found['tool_version']} create_unlink, own directories, "
               f"{study.parameters.creates_per_point} creates a point"),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _where(provenance: dict[str, Any]) -> str:
    """What nobody shall overlook in capitals; how it was accelerated is no shouting."""
    words, bracket, accel = where(provenance).partition(" (")
    return words.upper() + bracket + accel


def _worth(provenance: dict[str, Any]) -> str:
    return "" if is_benchmark(provenance["origin"]) else ": counters are the proof, rates are not a benchmark"


def _versions(kernels: dict[str, dict[str, Any]]) -> str:
    return ", ".join(sorted({kernel["version"] for kernel in kernels.values()}))


def _locks(kernels: dict[str, dict[str, Any]]) -> str:
    return ", ".join(sorted({kernel["spin_lock"] for kernel in kernels.values()}))


def _calls(study: Study, extra: pd.DataFrame) -> str:
    before, base = study.arm("before").name, study.arm("upstream").name
    lines = ["jbd2_journal_get_write_access calls per create (*: significant at 5%):", ""]
    lines.append(f"{'cpus':>4} {'procs':>5}  {before:>12}            {base:>14}")
    for row in extra.to_dict("records"):
        change = percent(row[before], row[base], row["significant"])
        lines.append(
            f"{row['cpus']:>4} {row['threads']:>5}  {row[before]:>12.4f} (  0.00%)   "
            f"{row[base]:>14.4f} {change}"
        )
    return "\n".join(lines) + "\n"


def percent(before: float, after: float, significant: bool) -> str:
    """A change as kernel changelogs print it: `*  -2.39%*` when significant, else `(  4.40%)`."""
    text = f"{100 * (after / before - 1):.2f}%"
    return f"*{text:>8}*" if significant else f"({text:>8})"


def _extra(study: Study, extra: pd.DataFrame) -> str:
    before, base = study.arm("before").name, study.arm("upstream").name
    lines = [
        *_wrap(
            f"Extra calls per create under {before} with their interval "
            f"({extra.level_pct.min():.1f}%, by ranks), and the repeat spread (largest less "
            f"smallest) of {base}:"
        ),
        "",
        "cpus procs     extra  [     low,     high]    spread  above",
    ]
    for row in extra.to_dict("records"):
        lines.append(
            f"{row['cpus']:>4} {row['threads']:>5}  {row['extra']:>8.4f}  "
            f"[{row['low']:>8.4f}, {row['high']:>8.4f}]  {row['spread']:>8.4f}  "
            f"{'yes' if row['above'] else 'no'}"
        )
    return "\n".join(lines) + "\n"


def _rates(study: Study, rates: pd.DataFrame, provenance: dict[str, Any]) -> str:
    before, base = study.arm("before").name, study.arm("upstream").name
    wide = rates.pivot_table(index=["cpus", "threads"], columns="arm", values="value").reset_index()
    lines = [
        *_wrap(
            f"Creates per second{note(rates)} {where(provenance)}"
            + ("" if is_benchmark(provenance["origin"]) else NO_BENCHMARK)
            + ":"
        ),
        "",
    ]
    lines.append(f"{'cpus':>4} {'procs':>5}  {before:>12}  {base:>14}")
    for row in wide.to_dict("records"):
        lines.append(f"{row['cpus']:>4} {row['threads']:>5}  {row[before]:>12.0f}  {row[base]:>14.0f}")
    return "\n".join(lines) + "\n"


def _costs(arm: str, cost: pd.DataFrame, said: str) -> str:
    rows = [
        FunctionCost(r["function"], r["total_us"], int(r["count"]), r["avg_us"])
        for r in cost.to_dict("records")
    ]
    return f"Function cost of {arm} (measured {said}, profiler on):\n\n{cost_table(rows)}"


def _predicted(prediction: dict[str, Any]) -> str:
    p = prediction["published_machine"]
    return (
        "\n".join(
            _wrap(
                f"Predicted for S1's machine from its base profile and rate, and one constant from "
                f"outside ({p['open'][0]}): {p['gain_low']:.1f}x to "
                f"{p['gain_high']:.1f}x ({p['low']:.0f} to {p['high']:.0f} {p['unit']} at "
                f"{p['threads']} processes); deleting the spin time would say {p['naive_value']:.0f}."
            )
        )
        + "\n"
    )


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
