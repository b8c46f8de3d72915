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
@click.argument("name")
@as_json
def study_show(name: str, as_json: bool) -> None:
    """One study as its file says."""
    from lockscale.study import load_study

    said = load_study(name).model_dump(mode="json")
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
@click.option("--target", default="qemu", show_default=True)
@parameter
@as_json
def study_run(name: str, target: str, parameters: tuple[str, ...], as_json: bool) -> None:
    """Run a study's notebooks in order; ends with the changelog text and where the run is."""
    from lockscale.pipeline import run_study
    from lockscale.study import parse_parameter

    _show_run(run_study(name, target, dict(map(parse_parameter, parameters))), as_json)


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
    text = run.changelog.read_text()
    value = {"run": run.id, "path": str(run.folder), "changelog": text}
    show(value, asked_json, f"{text}\nThe run is in {run.folder}")
