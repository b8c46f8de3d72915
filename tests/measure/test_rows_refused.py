# SPDX-License-Identifier: MIT
"""A row says on which build it was measured, a table has its provenance, and origins are not mixed."""

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from lockscale.errors import BadInput
from lockscale.measure import provenance
from lockscale.measure.rows import COLUMNS, Row, origin_of, read_rows, write_rows
from lockscale.measure.run_folder import Run, curated_run

KNOWN = read_rows(curated_run("inode-claim").rows).iloc[0].to_dict()
SAID = {name: KNOWN[name] for name in COLUMNS}


@pytest.mark.parametrize("name", ["run", "build_id", "started_utc"])
def test_a_row_without_its_build_run_or_time_cannot_exist(name: str):
    Row(**SAID)
    with pytest.raises(ValueError, match="needs a run, a build-id and a time"):
        Row(**{**SAID, name: ""})


def test_rows_are_not_written_without_their_provenance(tmp_path: Path):
    with pytest.raises(BadInput, match=r"has no provenance\.json"):
        write_rows(tmp_path / "rows.csv", [Row(**SAID)])
    assert not (tmp_path / "rows.csv").exists()


def test_rows_of_two_origins_are_not_compared():
    assert origin_of(pd.DataFrame({"origin": ["qemu", "qemu"]})) == "qemu"
    with pytest.raises(BadInput, match="of origin hardware and qemu"):
        origin_of(pd.DataFrame({"origin": ["qemu", "hardware"]}))


def test_what_a_session_found_is_on_disk_at_once(tmp_path: Path):
    session = SimpleNamespace(
        build_id="ab", tool="fsload", tool_version="1", file_system=None, found={"a": 1}
    )
    provenance.add_session({"as_found": {}}, Run(tmp_path), "001", session)
    kept = json.loads((tmp_path / "provenance.json").read_text())
    assert kept["as_found"]["001"]["build_id"] == "ab" and kept["as_found"]["001"]["a"] == 1


def test_another_controller_is_added_to_those_of_the_run(tmp_path: Path):
    (tmp_path / "provenance.json").write_text(
        '{"origin": "qemu", "kernels": {}, "controllers": [{"cpus": 1}]}'
    )
    assert provenance._controllers(Run(tmp_path))[0] == {"cpus": 1}
    assert len(provenance._controllers(Run(tmp_path))) == 2
