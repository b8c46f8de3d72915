# SPDX-License-Identifier: MIT
"""The project's folder as a person has it, of links; what a test writes there reaches no committed file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from lockscale import paths


def clone(folder: Path, *own: str) -> Path:
    """`folder` with a link to everything of the project; the folders `own` are copies."""
    folder.mkdir(parents=True)
    for path in sorted(paths.ROOT.iterdir()):
        name = str(path.relative_to(paths.ROOT))
        if name in own:
            shutil.copytree(path, folder / name, symlinks=True)
        elif any(one.startswith(f"{name}/") for one in own):
            (folder / name).mkdir()
            for inner in sorted(path.iterdir()):
                if f"{name}/{inner.name}" in own:
                    shutil.copytree(inner, folder / name / inner.name, symlinks=True)
                else:
                    (folder / name / inner.name).symlink_to(inner)
        elif name != "runs":
            (folder / name).symlink_to(path)
    return folder


def typed(command: str, where: Path, home: Path, timeout_s: float = 7200) -> str:
    """What a line prints that a person types in `where`; it must succeed."""
    environment = {
        **os.environ,
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LOCKSCALE_ROOT": str(where),
        "LOCKSCALE_CACHE": str(paths.CACHE),
        "LOCKSCALE_RUNS": str(home / "runs"),
    }
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=where,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout
