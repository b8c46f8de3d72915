# SPDX-License-Identifier: MIT
"""What is kept of a run says nothing of the machine's folders, and all of its numbers."""

import gzip
import tempfile
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.experiment.curate import curate
from lockscale.experiment.layout import Run


def test_a_kept_run_has_its_numbers_and_no_path_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    run = Run(tmp_path / "inode-claim-20260101T000000Z")
    (run.raw / "001").mkdir(parents=True)
    guest = f"{tempfile.gettempdir()}/lockscale-guest-ab12_x"
    run.provenance.write_text(f'{{"line": "{guest}/shared {paths.ROOT}/.venv {guest.lstrip("/")}"}}')
    run.rows.write_text("value\n8.0125\n")
    (run.raw / "001" / "rate-1.txt.gz").write_bytes(gzip.compress(f"{paths.ROOT}/bin 42\n".encode()))
    kept = curate(run)
    assert (kept / "rows.csv").read_text() == "value\n8.0125\n"
    assert (kept / "provenance.json").read_text() == '{"line": "GUEST/shared ROOT/.venv GUEST"}'
    assert gzip.decompress((kept / "raw" / "001" / "rate-1.txt.gz").read_bytes()) == b"ROOT/bin 42\n"


def test_a_run_without_rows_is_not_kept(tmp_path: Path):
    with pytest.raises(BadInput, match=r"no rows\.csv"):
        curate(Run(tmp_path))
