# SPDX-License-Identifier: MIT
"""The notebooks that build, boot or read a run, on every curated one: nothing is built, booted or written."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from lockscale import paths
from lockscale.measure.run_folder import curated_run, find_run, read_provenance, target_of
from lockscale.show.batch.work import run_batch

pytestmark = pytest.mark.slow
NOTEBOOKS = ["04_build_kernels", "05_measure", "06_profile", "08_changelog"]
STUDIES = sorted(
    {(target_of(find_run(path.parent.name)) or ("", ""))[0] for path in paths.MEASURED.glob("*/rows.csv")}
)
SEEN = ("inode-claim", "xfs-create")
"""Of each origin one, of each file system one; the others in make test-all."""


@pytest.mark.parametrize(
    "study", [pytest.param(study, marks=() if study in SEEN else pytest.mark.long) for study in STUDIES]
)
def test_they_tell_a_curated_run(study: str, tmp_path: Path):
    curated = {path: path.stat().st_mtime_ns for path in paths.MEASURED.rglob("*")}
    file = tmp_path / "told.yaml"
    file.write_text(yaml.safe_dump({"notebooks": NOTEBOOKS, "parameters": {"study": study}, "curated": True}))
    done = run_batch(file, tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "summary.csv").set_index("notebook")
    assert (done.sets, done.done, done.failed, done.ran) == (1, 1, 0, len(NOTEBOOKS)), list(table.says)
    is_virtual = read_provenance(curated_run(study).folder)["origin"] == "virtual"
    place = "in virtual time" if is_virtual else "in QEMU"
    assert "with" in table.says["04_build_kernels"]
    assert table.says["05_measure"].startswith(f"measured {place}")
    assert table.says["06_profile"].startswith(f"counted {place}")
    assert {path: path.stat().st_mtime_ns for path in paths.MEASURED.rglob("*")} == curated
