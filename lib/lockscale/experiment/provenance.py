# SPDX-License-Identifier: MIT
"""Where the numbers of a run come from: one JSON; what is unknown is null, never guessed."""

import importlib.metadata
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lockscale.experiment.layout import Run
from lockscale.experiment.session import Session
from lockscale.files import sha256_of_json, write_json
from lockscale.kernels.build import Kernel
from lockscale.study import Study, Target

PACKAGES = ("lockscale", "virtme-ng", "numba", "numpy", "scipy", "pandas", "papermill", "plotly")


def begin(
    run: Run, study: Study, target: Target, accel: str, kernels: dict[str, Kernel], qemu_line: str
) -> dict[str, Any]:
    """Write what is known before the first boot; `as_found` grows with each session."""
    value = {
        "run": run.id,
        "study": study.model_dump(mode="json"),
        "study_sha256": sha256_of_json(study.model_dump(mode="json")),
        "target": target.model_dump(mode="json"),
        "origin": "qemu",
        "accel": accel,
        "qemu_line": qemu_line,
        "host": _host(),
        "kernels": {arm: asdict(kernel) for arm, kernel in kernels.items()},
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "seed": study.parameters.seed,
        "as_found": {},
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


def _host() -> dict[str, Any]:
    """This machine, without its name: CPU model, cores, memory, kernel."""
    return {
        "cpu_model": _cpu_model(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), None)
