# SPDX-License-Identifier: MIT
"""The command line: thin, one library call a command. Exit 0 done, 1 found a failure, 2 bad input."""

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

from lockscale.errors import BadInput, RunFailed

Json = Callable[[Any], None]
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON value on stdout.")
CONTEXT = {"help_option_names": ["-h", "--help"]}


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command; whatever goes wrong is one sentence on standard error."""
    try:
        given = list(argv) if argv is not None else None
        status = cli.main(args=given, prog_name="lockscale", standalone_mode=False)
    except NoArgsIsHelpError as error:
        _end(f"{error.ctx.command_path} needs a command: {error.ctx.command_path} --help lists them", 2)
    except click.ClickException as error:
        _end(error.format_message(), 2)
    except click.Abort:
        _end("interrupted: lockscale study resume RUN goes on from the last step", 130)
    except BadInput as error:
        _end(str(error), 2)
    except RunFailed as error:
        _end(str(error), 1)
    except OSError as error:
        _end(f"{error.filename or 'a file or pipe'}: {error.strerror or error}", 2)
    else:
        sys.exit(status if isinstance(status, int) else 0)


def _end(sentence: str, status: int) -> None:
    click.echo(f"lockscale: {' '.join(sentence.split())}", err=True)
    sys.exit(status)


def show(value: Any, asked_json: bool, text: str) -> None:
    click.echo(json.dumps(value) if asked_json else text)


def table(rows: list[dict[str, Any]]) -> str:
    import pandas as pd

    from lockscale.report.text_table import text_table

    return text_table(pd.DataFrame(rows)).rstrip() if rows else "none"


@click.group(context_settings=CONTEXT, invoke_without_command=True)
@click.version_option(package_name="lockscale")
@click.pass_context
def cli(context: click.Context) -> None:
    """From a lock-contention profile of a Linux file system to a proven kernel patch."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command()
@click.option("--target", help="Also boot this target and see what it says of itself.")
@as_json
def doctor(target: str | None, as_json: bool) -> int:
    """What is missing on this machine or that target, and the fix."""
    from lockscale.doctor import doctor as examine

    found = examine(target)
    lines = [
        f"{'ok ' if c['ok'] else 'NO '} {c['name']}: {c['found']}" + (f" -> {c['fix']}" if c["fix"] else "")
        for c in found["checks"]
    ]
    show(found, as_json, "\n".join(lines))
    return 0 if found["ok"] else 1


@cli.group()
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


parameter = click.option("-p", "parameters", multiple=True, metavar="NAME=VALUE")


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


@cli.group()
def patches() -> None:
    """The kernel patches: list and check the series."""


@patches.command("list")
@as_json
def patches_list(as_json: bool) -> None:
    """Every series with its patches."""
    from lockscale.kernels.series import all_series

    rows = [{"study": s.study, "arm": s.arm, "patches": len(s.patches)} for s in all_series()]
    show(rows, as_json, table(rows))


@patches.command("check")
@click.argument("which", required=False)
@click.option("--build", is_flag=True, help="Build each arm's kernel too.")
@click.option("--boot", is_flag=True, help="Boot each arm too (implies --build).")
@as_json
def patches_check(which: str | None, build: bool, boot: bool, as_json: bool) -> int:
    """Whether each series applies, is not in already, and (by option) builds and boots."""
    from lockscale.patches import check

    found = check(which, build=build or boot, boot=boot)
    lines = [
        f"{'ok ' if c['ok'] else 'NO '} {arm['study']}/{arm['arm']} {name}: {c['detail']}"
        for arm in found
        for name, c in arm["checks"].items()
    ]
    show(found, as_json, "\n".join(lines))
    return 0 if all(arm["ok"] for arm in found) else 1


@cli.group()
def kernel() -> None:
    """Build an arm's kernel, or list those in the cache."""


@kernel.command("build")
@click.argument("which", metavar="STUDY/ARM")
@click.option("--source", help="A kernel tarball or tree of your own.")
@as_json
def kernel_build(which: str, source: str | None, as_json: bool) -> None:
    """Build one arm's kernel, or take it from the cache."""
    from dataclasses import asdict

    from lockscale.kernels.build import build
    from lockscale.kernels.series import named_series

    built = build(named_series(which), source)
    value = {**asdict(built), "image": str(built.image)}
    show(value, as_json, f"{built.release}\n{built.build_id}\n{built.image}")


@kernel.command("list")
@as_json
def kernel_list(as_json: bool) -> None:
    """The kernels in the cache."""
    from dataclasses import asdict

    from lockscale.kernels.build import cached_kernels

    rows = [asdict(k) for k in cached_kernels()]
    columns = ("series", "release", "build_id", "spin_lock")
    show(rows, as_json, table([{c: row[c] for c in columns} for row in rows]))


@cli.group()
def target() -> None:
    """The targets: list, and the exact line that boots one."""


@target.command("list")
@as_json
def target_list(as_json: bool) -> None:
    """Every target file."""
    from lockscale.study import list_targets, load_target

    rows = [load_target(name).model_dump(mode="json") for name in list_targets()]
    show(rows, as_json, table([{"name": r["name"], "kind": r["kind"]} for r in rows]))


@target.command("boot")
@click.argument("name")
@click.argument("which", metavar="STUDY/ARM")
@click.option("--cpus", default=4, show_default=True, type=click.IntRange(1, 64))
@click.option("--show-command", is_flag=True, help="Print the exact qemu line, boot nothing.")
@as_json
def target_boot(name: str, which: str, cpus: int, show_command: bool, as_json: bool) -> None:
    """Boot an arm on a target once, assert uname and build-id, and power it off."""
    from lockscale.patches import boot_once, example_line

    if show_command:
        line = example_line(name, which, cpus)
        show({"qemu_line": line}, as_json, line)
        return
    found = boot_once(name, which, cpus)
    show(found, as_json, f"{found['release']}\n{found['build_id']}")


@cli.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--tool", help="The tool that printed it, where it is not recognised.")
@as_json
def parse(file: str, tool: str | None, as_json: bool) -> None:
    """Long-form rows from a tool's output."""
    from pathlib import Path

    from lockscale.workloads import parse as read

    found = read(Path(file).read_text(errors="replace"), tool).to_json()
    for warning in found["warnings"]:
        click.echo(f"warning: {warning}", err=True)
    show(found, as_json, table(found["rows"]))


@cli.command()
@click.argument("name", metavar="TABLE", required=False)
@as_json
def audit(name: str | None, as_json: bool) -> None:
    """The arithmetic of the published tables: what holds, fails, or cannot be known."""
    from lockscale.tables import audit as recompute

    rows = [dict(row) for row in recompute(name)]
    columns = ("table", "claim", "printed", "recomputed", "low", "high", "unit", "verdict")
    show(rows, as_json, table([{c: row[c] for c in columns} for row in rows]))


@cli.command()
@click.argument("model", required=False)
@click.option("--list", "listed", is_flag=True, help="Name the models.")
@parameter
@click.option("--threads", default="48", show_default=True, help="For example 1,2,4,48.")
@click.option("--replications", default=5, show_default=True)
@click.option("--seed", default=1, show_default=True)
@as_json
def sim(
    model: str | None,
    listed: bool,
    parameters: tuple[str, ...],
    threads: str,
    replications: int,
    seed: int,
    as_json: bool,
) -> None:
    """Simulate a model; every number is simulated, and says from what it is calibrated."""
    from lockscale.sim import list_models
    from lockscale.sim.model import read_parameters
    from lockscale.simulated import simulate_points

    if listed or not model:
        show(list_models(), as_json, "\n".join(list_models()))
        return
    given = read_parameters(parameters)
    value = simulate_points(model, _counts(threads), given, replications=replications, seed=seed)
    rows = [{k: v for k, v in p.items() if k != "locks"} for p in value["points"]]
    parts = [f"{table(rows)}\nsimulated; {value['calibration'] or 'not calibrated'}"]
    if "unfitted_check" in value:
        parts.append(f"{UNFITTED}:\n{table(value['unfitted_check'])}")
    show(value, as_json, "\n\n".join(parts))


UNFITTED = "The published function cost table, to which nothing was fitted (its run is a traced base)"


def _counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise BadInput(f"--threads {text!r} is not a list of whole numbers: write 1,2,4") from None


@cli.command()
@click.argument("name", metavar="TABLE")
@click.option("--model", help="Only this model.")
@click.option("--n-min", default=1, show_default=True)
@as_json
def fit(name: str, model: str | None, n_min: int, as_json: bool) -> None:
    """Fit the queueing models to a published table's columns, with intervals."""
    from lockscale.table_fit import fit_table

    rows = fit_table(name, model, n_min)
    flat = [
        {"column": r["column"], "model": r["model"], **p, "mape_pct": r["mape_pct"], "loo_pct": r["loo_pct"]}
        for r in rows
        for p in r["parameters"]
    ]
    show(rows, as_json, table(flat))


if __name__ == "__main__":
    main()
