# SPDX-License-Identifier: MIT
"""Study -> notebooks through papermill, in order; each executed notebook is kept in the run."""

from typing import Any

from lockscale import paths
from lockscale.errors import BadInput, Interrupted
from lockscale.files import locked, need_free_space
from lockscale.filesystems import fs_type
from lockscale.kernels.build import TOOLS as BUILD_TOOLS
from lockscale.kernels.package import TOOLS as PACKAGE_TOOLS
from lockscale.kernels.series import touched_files
from lockscale.kernels.source import find_source, refuse_folder
from lockscale.measure.compare_arms import aa_rates, rates
from lockscale.measure.power import Detection, detection, earlier_rows, parse_percent
from lockscale.measure.resume import forget_unbegun, says_how_to_go_on, to_resume
from lockscale.measure.rows import read_rows
from lockscale.measure.run import run_plan
from lockscale.measure.run_folder import Run, keep_study, new_run
from lockscale.measure.steadiness import outliers, steady_lines
from lockscale.measure.study_check import check_study, refuse_by_mkfs
from lockscale.measure.target import hold_this_machine, refuse_too_large
from lockscale.measure.target_manycore import machine_in_virtual_time
from lockscale.measure.target_ssh import refuse_unfit
from lockscale.programs import need
from lockscale.progress import progress
from lockscale.show.execution import ENDS_S, execute, notebook_of, sources
from lockscale.study.file import (
    LocalTarget,
    ManycoreTarget,
    QemuTarget,
    SshTarget,
    Study,
    Target,
    load_study,
    load_target,
)
from lockscale.study.tables import beside, study_tables
from lockscale.text_table import text_table

TOOLS = (*BUILD_TOOLS, "git", "xz", "qemu-system-x86_64", "udevadm")
HOME_S = 900.0  # how long an interrupted run may take to reboot its server into its own kernel


def run_study(
    name: str, target: str, changes: dict[str, Any], resume: Run | None = None, *, short: bool = False
) -> Run:
    """Run every notebook of `name` on `target`; a wrong name or type is refused before anything runs."""
    where = load_target(target)
    study = study_on(where, name, changes, short=short)
    local = isinstance(where, LocalTarget)
    if local:
        study_tables(study, [beside(study), *([resume.tables] if resume else [])])  # refuses a damaged one
        refuse_too_large(study, where)
    else:
        preflight(study, where, resume)
    if not isinstance(where, SshTarget):  # a server was looked at; four notebooks come before the first boot
        with hold_this_machine("a first check", where.name):
            pass
    run = resume or new_run(study.name)
    try:
        with locked(run.folder / "pipeline.lock", f"run {run.id}"), says_how_to_go_on(run):
            keep_study(run, study, where.name)
            if local:  # workloads only: no arm is booted, so there is no story to tell
                run_plan(run, study, where)
            else:
                ends_s = HOME_S if isinstance(where, SshTarget) else ENDS_S
                parameters = {"study": study.name, "target": where.name, "run": str(run.folder)}
                _tell_story(run, parameters, ends_s)
    except BaseException:
        if not resume:
            forget_unbegun(run)
        raise
    return run


def study_on(target: Target, name: str, changes: dict[str, Any], *, short: bool = False) -> Study:
    """The study `name` with `changes`, at the points that it measures on a target of this kind.

    short: at fewer of them, where the study names those.
    """
    study = load_study(name, changes)
    many = isinstance(target, ManycoreTarget) and "guests" not in changes
    guests = study.parameters.manycore if many else study.parameters.guests
    if short:
        guests = [guest.shortened() for guest in guests]
    if many and "operations_per_point" in changes:
        own: dict[str, Any] = {"operations_per_point": None, "operations_at": {}}
        guests = [guest.model_copy(update=own) for guest in guests]
    if guests != study.parameters.guests:
        points = [guest.model_dump(exclude_none=True) for guest in guests]
        study = load_study(name, {**changes, "guests": points})
    _refuse_unmeasured_ends(study, target)
    return study


def _refuse_unmeasured_ends(study: Study, target: Target) -> None:
    """Raises BadInput where both ends of prices are asked for at points that give no rate at prices."""
    asked = set(study.parameters.price_ends)
    if asked and not isinstance(target, ManycoreTarget):
        raise BadInput(f"target {target.name} has no prices: leave price_ends out, or --target manycore")
    if unknown := asked - {n for guest in study.parameters.guests for n in guest.processes}:
        raise BadInput(
            f"price_ends names {min(unknown)} processes, which are not measured: add them to guests"
        )


def _tell_story(run: Run, parameters: dict[str, str], ends_s: float) -> None:
    log = run.folder / "progress.log"
    notebooks = [notebook_of(source) for source in sources()]
    for k, notebook in enumerate(notebooks, start=1):
        place = f"{k}/{len(notebooks)}"
        try:
            execute(notebook, run.notebooks / notebook.name, parameters, log, ends_s=ends_s, place=place)
        except Interrupted:
            raise KeyboardInterrupt from None


def iterations_to_detect(
    name: str, target: str, changes: dict[str, Any], percent: str, *, short: bool = False
) -> Detection:
    """How many iterations find a change of `percent` on `target`, from its earlier rows of the study.

    At the points that run_study() would measure there.

    Raises BadInput where no 1000 do, the iterations are given besides, or the target compares no arms.
    """
    if "iterations" in changes:
        raise BadInput("--detect sets the number of iterations: leave out -p iterations")
    wanted, where = parse_percent(percent), load_target(target)
    study = study_on(where, name, changes, short=short)
    if isinstance(where, LocalTarget):
        raise BadInput(
            f"target {target} measures only the running kernel, so there is no comparison for --detect to "
            f"plan: give -p iterations, or a target that boots the arms"
        )
    found = detection(earlier_rows(study, target), study, wanted)
    if found.iterations is None:
        raise BadInput(found.says)
    return found


def outcome(run: Run) -> str:
    """The changelog's text; of a run without arms its rates, and whether it was steady."""
    if run.changelog.is_file():
        return run.changelog.read_text()
    rows = read_rows(run.rows)
    # what notebook 05 has of a run with arms: drift, the A/A pair, the repeats that lie apart
    lines = [text_table(rates(rows)), *steady_lines(rows), ""]
    aa = aa_rates(rows, load_study(str(rows.study.iloc[0])))
    if len(aa):
        pair = aa[["cpus", "threads", "first", "second", "difference_pct"]]
        lines += [
            "The A/A pair (the same kernel twice, ops/s), not part of any mean above:",
            text_table(pair),
        ]
    if len(apart := outliers(rows)):
        lines += ["Outliers (far from the median of their point), kept:", text_table(apart)]
    return "\n".join(lines)


def resume_study(name: str) -> Run:
    """Go on with a run: notebooks run again, steps in its journal and built kernels do not."""
    run, begun = to_resume(name)
    return run_study(begun["name"], begun["target"], begun["parameters"], resume=run)


def preflight(study: Study, target: Target | None = None, resume: Run | None = None) -> None:
    """Refuse what would fail later: a missing series, model, table, tool or source, a full disk, a server."""
    if target is not None:
        refuse_too_large(study, target)
    for arm in study.arms:
        touched_files(study.series_of(arm.name))
    check_study(study, [resume.tables] if resume else [])
    for folder in (paths.ROOT, paths.CACHE):
        refuse_folder(folder)
    of_files = (command for command, *_ in fs_type(study.filesystem).versions)
    if isinstance(target, QemuTarget | ManycoreTarget):
        refuse_by_mkfs(study, max(target.disk.size_mib, study.disk_mib or 0))
    for tool in (*(PACKAGE_TOOLS if isinstance(target, SshTarget) else (*TOOLS, *of_files)), "chromium"):
        need(tool)
    if isinstance(target, ManycoreTarget):
        machine_in_virtual_time(target)
    find_source(study.parameters.kernel_source or None, study.parameters.kernel_base)
    need_free_space(paths.RUNS, 500, "a run")
    if isinstance(target, SshTarget):
        with progress(f"check what {target.name} lacks"):
            refuse_unfit(target, resume.id if resume else None, fs_type(study.filesystem))
