# SPDX-License-Identifier: MIT
"""Keep a measured run in data/measured, so that notebooks 06 to 08 can be read without a guest.

Scrubbed by the rule of scrub.py; what notebooks write anew of it is not kept. Nothing else changes, so
build-ids, rows and raw output stay as measured.
"""

import gzip
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import write_bytes
from lockscale.measure.layout import Run
from lockscale.measure.run_files import read_provenance
from lockscale.measure.scrub import scrub

KEPT = (
    "study.json",
    "prediction.json",
    "provenance.json",
    "rows.csv",
    "tables/*.csv",
    "raw/*/*.gz",
    "base/rows.csv",
    "base/provenance.json",
    "observed/rows.csv",
    "observed/provenance.json",
)
MAX_FILE_BYTES = 2_000_000


def curate(run: Run) -> Path:
    """Copy what is worth keeping of `run` into data/measured/<run>, scrubbed; the folder's path.

    Raises BadInput for a run without rows, or of no kernels of ours: notebooks 06 to 08 compare those.
    """
    if not run.rows.is_file():
        raise BadInput(f"run {run.id} has no rows.csv: measure it to its end before it is kept")
    if not read_provenance(run.folder)["kernels"]:
        raise BadInput(
            f"run {run.id} names no kernels, as it measured a machine as it is: data/measured holds runs "
            "that compare a study's arms, so let this one stay where it is"
        )
    into = paths.MEASURED / run.id
    for pattern in KEPT:
        for path in sorted(run.folder.glob(pattern)):
            content = _scrubbed(path)
            if len(content) > MAX_FILE_BYTES:
                raise BadInput(f"{path} is larger than 2 MB: take fewer iterations or points to keep")
            write_bytes(into / path.relative_to(run.folder), content)
    return into


def _scrubbed(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.compress(scrub(gzip.decompress(content).decode()).encode(), mtime=0)
    return scrub(content.decode()).encode()
