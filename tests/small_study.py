# SPDX-License-Identifier: MIT
"""A study of a test's own: the least that its file has to say."""

from pathlib import Path
from typing import Any

import yaml

from lockscale import paths
from lockscale.study.file import Study

ARMS = ({"name": "unpatched", "role": "unpatched"}, {"name": "patched", "role": "patched"})


def small_study(*more_arms: dict[str, Any], name: str = "s", **changes: Any) -> dict[str, Any]:
    """What a file says of a study with ARMS and `more_arms`; `changes` are entries of it."""
    text = dict.fromkeys(("question", "story", "limits", "metric"), "x")
    said: dict[str, Any] = {
        **text,
        "name": name,
        "tables": ["s1_rates"],
        "workload": "create_unlink",
        "counter": "ext4_create",
        "model": "inode_claim",
        "arms": [*ARMS, *more_arms],
        "filesystem": "ext4",
        "mkfs": [],
        "mount": [],
        "mkfs_asserts": [],
        "parameters": {
            "guests": [{"cpus": 1, "processes": [1]}],
            "operations_per_point": 100,
            "iterations": 2,
            "profiled_functions": ["ext4_create"],
            "tool": "fsload",
            "accel": "auto",
            "seed": 1,
            "simulated_threads": [1],
            "replications": 2,
            "kernel_source": "",
        },
    }
    return said | changes


def study_of(*more_arms: dict[str, Any], **changes: Any) -> Study:
    """The same as a study."""
    return Study.model_validate(small_study(*more_arms, **changes))


def write_study(*more_arms: dict[str, Any], name: str = "s", **changes: Any) -> Path:
    """The same as a file in the folder of studies, which has to be the test's own."""
    path = paths.STUDIES / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(small_study(*more_arms, name=name, **changes)))
    return path
