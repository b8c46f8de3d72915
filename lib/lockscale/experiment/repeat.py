# SPDX-License-Identifier: MIT
"""How to repeat a run: its commands, and the versions and hashes that have to be the same."""

import json
import shlex
from typing import Any

from lockscale.errors import BadInput
from lockscale.experiment.layout import Run
from lockscale.study import load_study

KERNEL = ("release", "build_id", "series", "series_sha256", "source_sha256", "config_sha256", "compiler")


def how_to_repeat(run: Run) -> dict[str, Any]:
    """What a run was, as JSON: its commands, seed, kernels, tools, mkfs lines, packages and hashes.

    What the run does not know is None. Raises BadInput for a run that was not measured.
    """
    if not run.provenance.is_file():
        raise BadInput(
            f"run {run.id} has no provenance.json: it was not measured, so there is nothing to repeat"
        )
    said, asked = json.loads(run.provenance.read_text()), json.loads((run.folder / "study.json").read_text())
    found = list(said["as_found"].values())
    return {
        "run": run.id,
        "study": asked["name"],
        "target": asked["target"],
        "origin": said["origin"],
        "commands": _commands(asked),
        "seed": said["seed"],
        "kernels": {arm: {k: one.get(k) for k in KERNEL} for arm, one in said["kernels"].items()},
        "tools": sorted({f"{one['tool']} {one['tool_version']}" for one in found}),
        "mkfs": sorted({one["file_system"]["mkfs_line"] for one in found if one["file_system"]}),
        "packages": said["packages"],
        "study_sha256": said["study_sha256"],
        "prediction_sha256": _prediction(run),
    }


def text_of(told: dict[str, Any]) -> str:
    """The same for a person."""
    lines = [f"{told['run']}: study {told['study']} on target {told['target']} ({told['origin']})", ""]
    lines += ["To repeat it:", *(f"  {command}" for command in told["commands"]), ""]
    for arm, one in told["kernels"].items():
        lines += [f"arm {arm}: Linux {one['release']}, build-id {one['build_id']}"]
        lines += [f"  {name} {one[name]}" for name in KERNEL[3:]]
    lines += [*(f"tool {tool}" for tool in told["tools"]), *told["mkfs"]]
    lines += ["", " ".join(f"{name} {version}" for name, version in told["packages"].items())]
    lines += [f"seed {told['seed']}, study sha256 {told['study_sha256']}"]
    return "\n".join([*lines, f"prediction sha256 {told['prediction_sha256'] or 'none'}"])


def _commands(asked: dict[str, Any]) -> list[str]:
    check = shlex.join(["lockscale", "doctor", "--target", asked["target"]])
    return [check, run_command(asked["name"], asked["parameters"], asked["target"])]


def run_command(name: str, parameters: dict[str, Any], target: str) -> str:
    """The command line of a study, with each parameter that is not as its study file says now."""
    try:
        now = load_study(name).model_dump(mode="json")["parameters"]
    except BadInput:
        now = {}
    changed = {k: v for k, v in parameters.items() if k not in now or now[k] != v}
    given = [word for k, v in changed.items() for word in ("-p", f"{k}={json.dumps(v)}")]
    return shlex.join(["lockscale", "study", "run", name, "--target", target, *given])


def _prediction(run: Run) -> str | None:
    if not run.prediction.is_file():
        return None
    return str(json.loads(run.prediction.read_text()).get("sha256"))
