# SPDX-License-Identifier: MIT
"""Run Python on a disk of a few KiB and 64 names: a tmpfs in a mount namespace of its own, as any user."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from lockscale import paths

MOUNT_THEN_RUN = 'mount -t tmpfs -o size="$1"k,nr_inodes=64 none "$2" && cd "$2" && shift 2 && exec "$@"'
SENTENCE = """
from lockscale.errors import BadInput
def refused(call, *args):
    try:
        call(*args)
    except BadInput as error:
        return str(error)
    raise SystemExit("nothing was refused")
"""


def run_on_small_disk(folder: Path, size_kib: int, script: str, *args: str) -> list[str]:
    """The lines that `script` prints with `folder` as a disk of `size_kib`; it knows `refused(call)`."""
    own = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--user", "--map-root-user"]
    python = [sys.executable, "-W", "error", "-c", SENTENCE + textwrap.dedent(script), *args]
    done = subprocess.run(
        [*own, "sh", "-c", MOUNT_THEN_RUN, "sh", str(size_kib), str(folder), *python],
        env={**os.environ, "PYTHONPATH": str(paths.ROOT / "lib")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
