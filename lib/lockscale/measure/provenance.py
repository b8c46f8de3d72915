# SPDX-License-Identifier: MIT
"""Where the numbers of a run come from: one JSON; what is unknown is null, never guessed."""

import importlib.metadata
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from lockscale.files import sha256_of_json, write_json
from lockscale.measure.layout import Run
from lockscale.measure.places import Place
from lockscale.measure.run_files import prediction_sha256, read_provenance
from lockscale.measure.session import Session
from lockscale.measure.this_machine import host
from lockscale.study.file import Study, Target

PACKAGES = ("lockscale", "virtme-ng", "numba", "numpy", "scipy", "pandas", "papermill", "plotly")


def begin(run: Run, study: Study, target: Target, place: Place, as_found: dict[str, Any]) -> dict[str, Any]:
    """Write what is known before the first boot; `as_found` grows with each session.

    `controllers`: the machines that carried the run out, one after the other. `prediction`: its hash, and a
    time before which it was there and nothing was measured.
    """
    value = {
        "run": run.id,
        "study": study.model_dump(mode="json"),
        "study_sha256": sha256_of_json(study.model_dump(mode="json")),
        "target": target.public(),
        "origin": place.origin,
        "label": place.label,
        **place.describe(),
        "controllers": _controllers(run),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "seed": study.parameters.seed,
        "prediction": _prediction(run),
        "as_found": as_found,
    }
    write_json(run.provenance, value)
    return value


def add_session(value: dict[str, Any], run: Run, name: str, session: Session) -> None:
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
    before: list[dict[str, Any]] = []
    if run.provenance.is_file():
        before = read_provenance(run.folder).get("controllers", [])
    return before if before[-1:] == [host()] else [*before, host()]


def _prediction(run: Run) -> dict[str, str] | None:
    """None where nothing was predicted; of a run that has measured, what it began with."""
    if run.journal.is_file():
        said = read_provenance(run.folder) if run.provenance.is_file() else {}
        known: dict[str, str] | None = said.get("prediction")
        return known
    sha256 = prediction_sha256(run.folder)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return None if sha256 is None else {"sha256": sha256, "written_before_utc": now}
