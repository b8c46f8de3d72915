# SPDX-License-Identifier: MIT
"""mdtest (from IOR): find it, run it, read it.

What its numbers mean changed from version to version (read in the sources, checked by runs):

banner            `-v` line of an iteration      SUMMARY
1.9.3 (IOR 3.2)   all ranks' items / rank 0's    wrong for -i > 1: ranks and iterations are
                  time between barriers          mixed (hpc/ior #113, #183); -i 1: fastest rank
3.3.0             the same                       over ranks x iterations, SD with n
4.0.0, 4.1.0      rank 0 alone                   slowest rank x ranks, SD with n - 1
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.workloads import mdtest_lines as lines
from lockscale.workloads.mdtest_lines import Result, Run
from lockscale.workloads.rows import Parsed, Row, rate_row

TOOL = "mdtest"


@dataclass(frozen=True)
class _Meaning:
    """Whose time a version's numbers come from; `summary_over_ranks`: values are ranks x -i."""

    iteration: str
    summary: str
    summary_over_ranks: bool = False
    sample_sd: bool = False
    summary_needs_one_iteration: bool = False


_IOR_3_2 = _Meaning("total", "fastest_rank", summary_needs_one_iteration=True)
_IOR_3_3 = _Meaning("total", "ranks", summary_over_ranks=True)
_IOR_4 = _Meaning("rank0", "slowest_rank", sample_sd=True)
VERSIONS = {
    "1.9.3": _IOR_3_2,
    "3.3.0": _IOR_3_3,
    "4.0.0": _IOR_4,
    "4.1.0": _IOR_4,
    "4.1.0+dev": _IOR_4,
}


def find() -> tuple[Path, Path] | None:
    """mpirun and mdtest on PATH, or None; only a run tells mdtest's version."""
    mpirun, mdtest = shutil.which("mpirun"), shutil.which("mdtest")
    return (Path(mpirun), Path(mdtest)) if mpirun and mdtest else None


def command(
    processes: int,
    items: int,
    directory: str,
    *,
    phase: str = "both",
    executable: str = "mdtest",
    as_root: bool | None = None,
) -> list[str]:
    """argv of S1's test, one iteration: `items` files a process, each in its own directory.

    `phase` is create, remove or both. `as_root` (default: whether we are) is Open MPI's leave to
    run as root; --oversubscribe is its leave to start more processes than cores.
    """
    flags = {"create": ["-C"], "remove": ["-r"], "both": ["-C", "-r"]}
    if phase not in flags:
        raise BadInput(f"mdtest has no phase {phase}: use create, remove or both")
    root = os.geteuid() == 0 if as_root is None else as_root
    return [
        "mpirun", *(["--allow-run-as-root"] if root else []), "--oversubscribe",
        "-np", str(processes), executable, "-n", str(items), "-d", directory,
        "-F", *flags[phase], "-u", "-i", "1", "-v",
    ]  # fmt: skip


def recognise(text: str) -> bool:
    """Whether there is mdtest's banner."""
    return lines.BANNER.search(text) is not None


def parse(text: str) -> Parsed:
    """Rates in ops/s per phase: iterations (with -v) and summary, named by what they mean."""
    run = lines.read(text)
    meaning = VERSIONS.get(run.version)
    if meaning is None:
        known = ", ".join(VERSIONS)
        raise BadInput(f"mdtest {run.version} is not known: this reads {known} (what IOR calls it)")
    warnings = list(run.warnings)
    rows = [*_iteration_rows(run, meaning, warnings), *_summary_rows(run, meaning, warnings)]
    if not rows:
        reason = f": {warnings[0]}" if warnings else ""
        raise BadInput(f"nothing could be read from mdtest's output{reason}")
    return Parsed(TOOL, run.version, tuple(rows), tuple(warnings))


def _asked(run: Run, result: Result, warnings: list[str]) -> bool:
    """Whether a phase was asked for and has numbers; mdtest prints zeros for the others."""
    if (result.test in run.tests) == any(result.values):
        return result.test in run.tests
    warnings.append(f"line {result.line}: {result.test} has a rate and was not asked for, or not")
    return False


def _iteration_rows(run: Run, meaning: _Meaning, warnings: list[str]) -> list[Row]:
    rows = []
    items = run.items_total // (1 if meaning.iteration == "total" else run.tasks)
    for result in run.iterations:
        seconds, rate = result.values
        if not _asked(run, Result(result.line, result.test, (rate,), result.iteration), warnings):
            continue
        if not (seconds - 0.0006) * rate <= items <= (seconds + 0.0006) * rate:
            warnings.append(f"line {result.line}: rate and duration disagree, left out")
            continue
        rows.append(rate_row(result.test, run.tasks, result.iteration, rate, meaning.iteration))
    if run.verbose:
        expected = len(run.tests) * run.repeats
        lines.warn_missing(len(rows), expected, "iterations x phases", warnings)
    return rows


def _summary_rows(run: Run, meaning: _Meaning, warnings: list[str]) -> list[Row]:
    if meaning.summary_needs_one_iteration and run.repeats > 1:
        warnings.append(f"the summary of mdtest {run.version} is wrong for -i > 1: left out")
        return []
    values = run.repeats * (run.tasks if meaning.summary_over_ranks else 1)
    rows: list[Row] = []
    kept = 0
    for result in run.summary:
        if not _asked(run, result, warnings):
            continue
        if not lines.is_summary_of(values, *result.values, sample_sd=meaning.sample_sd):
            warnings.append(f"line {result.line}: max, min, mean and SD disagree, left out")
            continue
        kept += 1
        rows += _statistics(run, result, meaning.summary, values)
    lines.warn_missing(kept, len(run.tests), "phases of the summary", warnings)
    return rows


def _statistics(run: Run, result: Result, whose: str, values: int) -> list[Row]:
    """One row where the summary is of one value, else one for each statistic."""
    if values == 1:
        return [rate_row(result.test, run.tasks, 1, result.values[2], whose)]
    iteration = 1 if run.repeats == 1 else None
    return [
        rate_row(result.test, run.tasks, iteration, value, f"{whose}_{name}")
        for name, value in zip(("max", "min", "mean", "sd"), result.values, strict=True)
    ]
