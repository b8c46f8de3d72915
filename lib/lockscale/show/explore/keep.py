# SPDX-License-Identifier: MIT
"""A setting as a file: a model's parameters, or a study whose arms have them."""

from pathlib import Path
from typing import Any

import yaml

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import write_text
from lockscale.show.explore.setting import OPERATIONS_FINE, REPLICATIONS, SEED, Setting
from lockscale.sim.model import Value
from lockscale.study.file import list_studies, load_study

FOLDER = paths.RUNS / "explored"
HEAD = "# SPDX-License-Identifier: MIT\n# Written by the lock explorer. {}\n"


def keep_parameters(setting: Setting, folder: Path = FOLDER) -> Path:
    """Write the model, its parameters and the command that simulates them; the file's path."""
    said = {
        "model": setting.of.model,
        "parameters": setting.parameters(),
        "threads": list(setting.counts()),
        "replications": REPLICATIONS,
        "operations": setting.operations,
        "seed": SEED,
        "command": setting.command(),
    }
    return _write(folder / f"{setting.scene}-{setting.arm}.parameters.yaml", said, "Run its command.")


def keep_parameters_said(setting: Setting) -> str:
    """Write them, and say so."""
    return f"wrote {keep_parameters(setting)}"


def keep_study_said(setting: Setting) -> str:
    """Write it, and say so, and what it has no place for."""
    wrote = f"wrote {keep_study(setting)}"
    if setting.operations == OPERATIONS_FINE:
        return wrote
    return (
        f"{wrote}; it has no place for {setting.operations:,} operations: "
        f"a study simulates {OPERATIONS_FINE:,} a run"
    )


def keep_study(setting: Setting, folder: Path = FOLDER) -> Path:
    """Write the scene's study with these parameters in its arms; the file's path.

    Raises BadInput for a scene that no study file is of: what decides a measurement (mkfs, mount,
    arms) has to be said first.
    """
    if setting.scene not in list_studies():
        raise BadInput(
            f"there is no study {setting.scene} to change (there are: {', '.join(list_studies())}): "
            "write the model's parameters"
        )
    said = load_study(setting.scene).model_dump(mode="json", exclude_none=True)
    said["model"] = setting.of.model
    for arm in said["arms"]:
        if arm["name"] in setting.of.arms:
            arm["model_parameters"] = _plain(setting.parameters(arm["name"]))
    said["parameters"] |= {
        "simulated_threads": list(setting.counts()),
        "replications": REPLICATIONS,
        "seed": SEED,
    }
    where = f"It takes the place of notebooks/studies/{setting.scene}.yaml."
    return _write(folder / f"{setting.scene}.yaml", said, where)


def _write(path: Path, said: dict[str, Any], note: str) -> Path:
    write_text(path, HEAD.format(note) + yaml.safe_dump(said, sort_keys=False, width=100))
    return path


def _plain(given: dict[str, Value]) -> dict[str, Value]:
    return dict(sorted(given.items()))
