# SPDX-License-Identifier: MIT
"""`lockscale study`: list, show, run, resume and keep."""

import json
from typing import Any

import click

from lockscale.cli.output import as_json, parameter, show, table


@click.group()
def study() -> None:
    """The studies: list, show, run, resume."""


@study.command("list")
@as_json
def study_list(as_json: bool) -> None:
    """Every study with its question, arms, workload and tables."""
    from lockscale.study import list_studies, load_study

    found = [load_study(name) for name in list_studies()]
    rows = [
        {
            "name": s.name,
            "question": s.question,
            "arms": [arm.name for arm in s.arms],
            "workload": s.workload,
            "tables": s.tables,
        }
        for s in found
    ]
    show(rows, as_json, table(rows))


@study.command("show")
@click.argument("name", metavar="STUDY|RUN")
@as_json
def study_show(name: str, as_json: bool) -> None:
    """One study as its file says, or how to repeat a run: commands, versions, hashes.

    A study that names a model, a table or a counter that is not there is refused.
    """
    from lockscale.experiment.layout import find_run, is_run
    from lockscale.experiment.repeat import how_to_repeat, text_of
    from lockscale.study import list_studies, load_study
    from lockscale.study_check import check_study

    if name not in list_studies() and is_run(name):
        told = how_to_repeat(find_run(name))
        show(told, as_json, text_of(told))
        return
    found = load_study(name)
    check_study(found)
    said = found.model_dump(mode="json")
    show(said, as_json, json.dumps(said, indent=2))


@study.command("status")
@as_json
def study_status(as_json: bool) -> None:
    """The runs on this machine: what each has."""
    from lockscale.experiment.layout import list_runs

    rows = [
        {"run": r.id, "measured": r.rows.is_file(), "changelog": r.changelog.is_file()} for r in list_runs()
    ]
    show(rows, as_json, table(rows))


@study.command("run")
@click.argument("name")
@click.option("--target", help="A file of notebooks/targets.  [default: manycore]")
@click.option("--detect", metavar="PERCENT", help="As many iterations as a change of PERCENT needs, as 3%.")
@click.option(
    "--short", is_flag=True, help="Only the points that the study file names `short`, as make study."
)
@parameter
@as_json
def study_run(
    name: str, target: str | None, detect: str | None, short: bool, parameters: tuple[str, ...], as_json: bool
) -> None:
    """Run a study's notebooks in order; ends with the changelog text and where the run is.

    --detect takes the noise from earlier rows of the target, an A/A pair at least.
    """
    from lockscale.pipeline import iterations_to_detect, run_study
    from lockscale.study import RATES_TARGET, parse_parameter

    where, changes = RATES_TARGET if target is None else target, dict(map(parse_parameter, parameters))
    if detect is not None:
        told = iterations_to_detect(name, where, changes, detect)
        click.echo(told.says(), err=True)
        changes["iterations"] = told.iterations
    _show_run(run_study(name, where, changes, short=short), as_json)


@study.command("resume")
@click.argument("run")
@as_json
def study_resume(run: str, as_json: bool) -> None:
    """Go on with a run that ended early; steps in its journal are not done again."""
    from lockscale.pipeline import resume_study

    _show_run(resume_study(run), as_json)


@study.command("keep")
@click.argument("run")
@as_json
def study_keep(run: str, as_json: bool) -> None:
    """Keep a measured run in data/measured, without the paths of this machine."""
    from lockscale.experiment.curate import curate
    from lockscale.experiment.layout import find_run

    kept = curate(find_run(run))
    show({"run": kept.name, "path": str(kept)}, as_json, str(kept))


def _show_run(run: Any, asked_json: bool) -> None:
    from lockscale.pipeline import outcome

    text = outcome(run)
    value = {"run": run.id, "path": str(run.folder), "changelog": text}
    show(value, asked_json, f"{text}\nThe run is in {run.folder}")
