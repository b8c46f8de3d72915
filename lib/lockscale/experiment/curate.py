# SPDX-License-Identifier: MIT
"""Keep a measured run in data/measured, so that notebooks 06 to 08 can be read without a guest.

Scrubbed by one rule: the path of the checkout becomes ROOT, of the guest's private folder GUEST, of
other temporary folders TMP. Nothing else changes, so build-ids, rows and raw output stay as measured.
"""

import gzip
import re
import tempfile
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.experiment.layout import Run
from lockscale.files import write_bytes

KEPT = ("study.json", "prediction.json", "provenance.json", "rows.csv", "changelog.txt", "raw/*/*.gz")
MAX_FILE_BYTES = 2_000_000


def curate(run: Run) -> Path:
    """Copy what is worth keeping of `run` into data/measured/<run>, scrubbed; the folder's path."""
    if not run.rows.is_file():
        raise BadInput(f"run {run.id} has no rows.csv: measure it to its end before it is kept")
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


def scrub(text: str) -> str:
    """`text` without the paths of this machine, also where a leading slash was taken off."""
    text = re.sub(r"virtme\.exec=`[^`]*`", "virtme.exec=`GUEST`", text)  # base64 of such a path
    temporary = re.escape(tempfile.gettempdir().lstrip("/"))
    text = re.sub(rf"/?{temporary}/lockscale-guest-\w+", "GUEST", text)
    text = re.sub(rf"/?{re.escape(str(paths.ROOT).lstrip('/'))}(?=[/\"',; ])", "ROOT", text)
    return re.sub(rf"/?{temporary}/", "TMP/", text)
