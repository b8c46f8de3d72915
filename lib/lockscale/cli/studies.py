# SPDX-License-Identifier: MIT
"""`lockscale study` (list, show, run, resume and keep), `new study`, `batch`, and `report` of a run."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lockscale.cli.completion import runs, studies, studies_and_runs, targets
from lockscale.cli.output import as_json, loaded, parameter, say, show, table
from lockscale.errors import BadInput


@click.group()
def study() -> None:
    """Studies and their runs: list, show, run, resume, keep."""


@study.command("list")
@as_json
def study_list() -> None:
    """List every study with its question; --json also its arms and tables, like `study show`."""
    from lockscale.study.file import list_studies, load_study

    found, damaged = loaded(list_studies(), load_study)
    columns = ("name", "question", "arms", "workload", "tables")
    rows = [{c: s.arm_names if c == "arms" else getattr(s, c) for c in columns} for s in found]
    show(rows, table(rows, "name", "workload", "question"))
    if damaged:
        raise BadInput(damaged)


@study.command("show")
@click.argument("name", metavar="STUDY|RUN", shell_complete=studies_and_runs)
@as_json
def study_show(name: str) -> None:
    """Show a study's arms, load and counters; or how to repeat a run: commands, versions, hashes.

    --json prints all that a study's file says. A study that names an unknown model, table, counter or
    patch is refused, and so is one whose study.py cannot be run.
    """
    from lockscale.measure.provenance import how_to_repeat, text_of
    from lockscale.measure.run_folder import find_run, is_run
    from lockscale.measure.study_check import check_study
    from lockscale.studies.registry import study_parts
    from lockscale.study.description import described
    from lockscale.study.file import list_studies, load_study

    if name not in list_studies() and is_run(name):
        recipe = how_to_repeat(find_run(name))
        show(recipe, text_of(recipe))
        return
    found = load_study(name)
    check_study(found)
    for arm in found.arm_names:  # whose patches are all there
        found.series_of(arm)
    study_parts(found.name)
    show(found.model_dump(mode="json"), described(found))


@study.command("status")
@as_json
def study_status() -> None:
    """List the runs on this machine and their state."""
    from lockscale import paths
    from lockscale.measure.resume import state_of
    from lockscale.measure.run_folder import list_runs

    rows: list[dict[str, Any]] = [
        {"run": r.id, "state": state_of(r), "measured": r.rows.is_file(), "changelog": r.changelog.is_file()}
        for r in list_runs()
    ]
    show(rows, table(rows, "run", "state") if rows else f"there is no run in {paths.RUNS}")


@study.command("run")
@click.argument("name", metavar="STUDY", shell_complete=studies)
@click.option(
    "--target",
    metavar="TARGET",
    shell_complete=targets,
    help="A target from notebooks/targets.  [default: manycore]",
)
@click.option(
    "--detect",
    metavar="PERCENT",
    help="Run as many iterations as it takes to detect a change of PERCENT, such as 3%.",
)
@click.option(
    "--short", is_flag=True, help="Only the points listed as `short` in the study file, like make study."
)
@parameter("Change a parameter of the study's file, such as iterations=5.")
@as_json
def study_run(
    name: str, target: str | None, detect: str | None, short: bool, parameters: tuple[str, ...]
) -> None:
    """Run a study's notebooks in order, and print the changelog text and where the run is.

    --detect takes the noise from earlier runs on the target, which must include an A/A pair.
    """
    from lockscale.show.pipeline import iterations_to_detect, run_study
    from lockscale.study.file import RATES_TARGET, parse_parameters

    where, changes = RATES_TARGET if target is None else target, parse_parameters(parameters)
    if detect is not None:
        needed = iterations_to_detect(name, where, changes, detect, short=short)
        say(needed.says)
        changes["iterations"] = needed.iterations
    _show_run(run_study(name, where, changes, short=short))


@study.command("resume")
@click.argument("run", shell_complete=runs)
@as_json
def study_resume(run: str) -> None:
    """Continue a run that ended early; completed steps are not repeated."""
    from lockscale.show.pipeline import resume_study

    _show_run(resume_study(run))


@study.command("keep")
@click.argument("run", shell_complete=runs)
@as_json
def study_keep(run: str) -> None:
    """Copy a measured run to data/measured, without the paths of this machine."""
    from lockscale import paths
    from lockscale.files import need_clone
    from lockscale.measure.curate import curate
    from lockscale.measure.run_folder import find_run

    need_clone("a run is kept in data/measured", paths.MEASURED)
    kept = curate(find_run(run))
    show({"run": kept.name, "path": str(kept)}, str(kept))


def _show_run(run: Any) -> None:
    from lockscale.show.pipeline import outcome

    text = outcome(run)
    value = {"run": run.id, "path": str(run.folder), "changelog": text}
    show(value, f"{text}\nThe run is in {run.folder}")


@click.group()
def new() -> None:
    """Create a study of your own."""


@new.command("study")
@click.argument("name")
@as_json
def new_study(name: str) -> None:
    """Write a skeleton study: its file, an arm with the unmodified kernel, and one for your patches.

    It is complete as written, so `lockscale study show NAME` works; README.md in the folder of its arms
    says what to fill in.
    """
    from lockscale.studies.skeleton import write_study

    written = write_study(name)
    value = {"study": name, "file": str(written.file), "folder": str(written.folder)}
    show(value, f"{written.file}\n{written.folder}\nThe next steps are in {written.folder / 'README.md'}")


@click.command()
@click.argument("run", metavar="RUN|STUDY", shell_complete=studies_and_runs)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Output file.  [default: RUN.html, here]",
)
@as_json
def report(run: str, output: Path | None) -> None:
    """Write a measured run as one HTML file, to attach to a mail or a ticket.

    RUN is a run's folder or its id (also one in data/measured), or a study, meaning its
    latest run here, else in data/measured. The page
    contains figures, tables, prediction against measurement, kernels and hashes, and the changelog text.
    It needs no network and no scripts, and prints on at most 8 pages.
    """
    from lockscale.show.report import write_report

    written = write_report(run, output)
    size = written.stat().st_size
    show({"path": str(written), "bytes": size}, f"{written} ({size:,} bytes)")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Output folder.  [default: runs/<FILE's name>]",
)
@as_json
def batch(file: Path, output: Path | None) -> int:
    """Run notebooks over a grid of parameters, and print where the index of the results is.

    FILE is YAML: `notebooks`, a list of names or patterns; `grid`, each parameter with its values (`{}`, or
    no grid: one set); optionally `parameters`, the same in every set, and `curated: true`, to read
    data/measured instead of measuring. Repeat the command to run what is unfinished or failed; a finished
    notebook runs again only if its text, its study or its parameters changed. Exit status 1: a set failed.
    """
    from lockscale.show.batch.work import run_batch

    found = run_batch(file, output)
    show({**asdict(found), "path": str(found.path), "index": str(found.index)}, found.says())
    return 1 if found.failed else 0
