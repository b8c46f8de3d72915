# SPDX-License-Identifier: MIT
"""Where the numbers of a run come from, one JSON in which what is unknown is null; and how to repeat it."""

import importlib.metadata
import json
import shlex
from dataclasses import asdict
from typing import Any

from lockscale.errors import BadInput
from lockscale.files import now_utc, sha256_of_json, write_json
from lockscale.measure.arm_boot import MeasuredBoot
from lockscale.measure.run_folder import Run, prediction_sha256, read_provenance, read_study_file
from lockscale.measure.target import HeldTarget, host
from lockscale.study.file import Study, Target, load_study, load_target

PACKAGES = ("lockscale", "virtme-ng", "numba", "numpy", "scipy", "pandas", "papermill", "plotly")


def begin(
    run: Run, study: Study, target: Target, held: HeldTarget, as_found: dict[str, Any]
) -> dict[str, Any]:
    """Write what is known before the first boot; `as_found` grows with each session.

    `controllers`: the machines that carried the run out, one after the other. `prediction`: its hash, and a
    time before which it was there and nothing was measured.
    """
    value = {
        "run": run.id,
        "study": study.model_dump(mode="json"),
        "study_sha256": sha256_of_json(study.model_dump(mode="json")),
        "target": target.public(),
        "origin": held.origin,
        "label": held.label,
        **held.describe(),
        "controllers": _controllers(run),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "seed": study.parameters.seed,
        "prediction": _prediction(run),
        "as_found": as_found,
    }
    write_json(run.provenance, value)
    return value


def add_session(value: dict[str, Any], run: Run, name: str, session: MeasuredBoot) -> None:
    """Record what the machine itself said in one session."""
    value["as_found"][name] = {
        "build_id": session.build_id,
        "tool": session.tool,
        "tool_version": session.tool_version,
        "file_system": asdict(session.file_system) if session.file_system else None,
        **session.found,
    }
    write_json(run.provenance, value)


def _controllers(run: Run) -> list[dict[str, Any]]:
    """Those of the run so far, and this one where it is not the last of them."""
    before: list[dict[str, Any]] = _said(run).get("controllers", [])
    return before if before[-1:] == [host()] else [*before, host()]


def _prediction(run: Run) -> dict[str, str] | None:
    """None where nothing was predicted; of a run that has measured, what it began with."""
    if run.journal.is_file():
        known: dict[str, str] | None = _said(run).get("prediction")
        return known
    sha256 = prediction_sha256(run.folder)
    return None if sha256 is None else {"sha256": sha256, "written_before_utc": now_utc()}


def _said(run: Run) -> dict[str, Any]:
    """What an earlier session of the run wrote, if there was one."""
    return read_provenance(run.folder) if run.provenance.is_file() else {}


KERNEL = ("release", "build_id", "series", "series_sha256", "source_sha256", "config_sha256", "compiler")


def how_to_repeat(run: Run) -> dict[str, Any]:
    """What a run was, as JSON: its commands, seed, kernels, tools, mkfs lines, packages and hashes.

    What the run does not know is None; `needs` are sentences on why its commands do not work as it is.
    Raises BadInput for a run that was not measured.
    """
    if not run.provenance.is_file():
        raise BadInput(
            f"run {run.id} has no provenance.json: it was not measured, so there is nothing to repeat"
        )
    said, asked = read_provenance(run.folder), read_study_file(run.folder)
    found = list(said.get("as_found", {}).values())
    return {
        "run": run.id,
        "study": asked["name"],
        "target": asked["target"],
        "origin": said["origin"],
        "commands": [
            shlex.join(["lockscale", "doctor", "--target", asked["target"]]),
            run_command(asked["name"], asked["parameters"], asked["target"]),
        ],
        "needs": _needs(asked),
        "seed": said.get("seed"),
        "kernels": {arm: {k: one.get(k) for k in KERNEL} for arm, one in said["kernels"].items()},
        "tools": sorted({f"{one['tool']} {one['tool_version']}" for one in found}),
        "mkfs": sorted({one["file_system"]["mkfs_line"] for one in found if one.get("file_system")}),
        "packages": said.get("packages", {}),
        "study_sha256": said.get("study_sha256"),
        "prediction_sha256": prediction_sha256(run.folder),
    }


def text_of(told: dict[str, Any]) -> str:
    """The same for a person."""
    lines = [f"{told['run']}: study {told['study']} on target {told['target']} ({told['origin']})", ""]
    lines += ["To repeat it:", *(f"  {command}" for command in told["commands"])]
    lines += [*(f"This does not work as it is: {sentence}" for sentence in told["needs"]), ""]
    for arm, one in told["kernels"].items():
        lines += [f"arm {arm}: Linux {one['release']}, build-id {one['build_id']}"]
        lines += [f"  {name} {one[name]}" for name in KERNEL[3:]]
    lines += [*(f"tool {tool}" for tool in told["tools"]), *told["mkfs"]]
    lines += ["", " ".join(f"{name} {version}" for name, version in told["packages"].items())]
    lines += [f"seed {told['seed']}, study sha256 {told['study_sha256']}"]
    return "\n".join([*lines, f"prediction sha256 {told['prediction_sha256'] or 'none'}"])


def _needs(asked: dict[str, Any]) -> list[str]:
    """What the study's and the target's file lack for it, one sentence each."""
    found = []
    try:
        load_study(asked["name"], asked["parameters"])
    except BadInput as error:
        found.append(f"{error} (the run's study.json has the file as it was)")
    try:
        load_target(asked["target"])
    except BadInput as error:
        found.append(str(error))
    return found


def run_command(name: str, parameters: dict[str, Any], target: str) -> str:
    """The command line of a study, with each parameter that is not as its study file says now."""
    try:
        now = load_study(name).model_dump(mode="json")["parameters"]
    except BadInput:
        now = {}
    changed = {k: v for k, v in parameters.items() if k not in now or now[k] != v}
    if changed.get("guests") == parameters.get("manycore"):
        changed.pop("guests", None)  # the target alone makes them so
    if "guests" in changed:
        changed["guests"] = [
            {k: v for k, v in guest.items() if v not in (None, False, {})} for guest in changed["guests"]
        ]
    given = [word for k, v in changed.items() for word in ("-p", f"{k}={json.dumps(v, ensure_ascii=False)}")]
    return shlex.join(["lockscale", "study", "run", name, "--target", target, *given])
