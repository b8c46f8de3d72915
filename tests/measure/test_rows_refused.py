# SPDX-License-Identifier: MIT
"""A row says on which build it was measured, a table has its provenance, and origins are not mixed."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure import provenance
from lockscale.measure.curate import curate
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


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A copy of a kept run."""
    return Path(shutil.copytree(curated_run("inode-claim", rates=True).folder, tmp_path / "copy"))


def first_rate_changed(rows: bytes) -> bytes:
    """Its first digit is another."""
    at = re.search(rb",ops/s,(\d)", rows)
    assert at is not None
    other = str((int(at[1]) + 1) % 10).encode()
    return rows[: at.start(1)] + other + rows[at.end(1) :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a digit": first_rate_changed,
    "cut by a hundredth": lambda rows: rows[: len(rows) * 99 // 100],
    "cut behind a line": lambda rows: rows[: rows.rindex(b"\n", 0, len(rows) // 2) + 1],
    "cut within a row": lambda rows: rows[: rows.rindex(b",", 0, len(rows) * 9 // 10)],
    "four bytes NUL": lambda rows: rows[:2000] + bytes(4) + rows[2004:],
    "a line twice": lambda rows: rows + rows.splitlines(keepends=True)[-1],
    "nothing left": lambda rows: b"",
    "another file's": lambda rows: bytes(range(256)) * 99,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_rows_that_were_damaged_are_refused_and_not_kept(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[bytes], bytes]
):
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    rows = kept / "rows.csv"
    read_rows(rows)
    rows.write_bytes(damage(rows.read_bytes()))
    for use in (lambda: read_rows(rows), lambda: curate(Run(kept))):
        with pytest.raises(BadInput, match=r"rows\.csv is not the file that was .*study resume") as told:
            use()
        assert "\n" not in str(told.value)
    assert not (tmp_path / "measured").exists()


@pytest.mark.parametrize("damage", ["cut within a row", "nothing left", "another file's"])
def test_rows_of_before_there_was_a_hash_are_refused_where_they_show_it(kept: Path, damage: str):
    said = json.loads((kept / "provenance.json").read_text())
    del said["rows_sha256"]
    (kept / "provenance.json").write_text(json.dumps(said))
    rows = kept / "rows.csv"
    read_rows(rows)
    rows.write_bytes(DAMAGES[damage](rows.read_bytes()))
    with pytest.raises(BadInput, match=r"rows\.csv (has rows without|cannot be read|lacks the col)"):
        read_rows(rows)


def test_the_hash_is_that_of_the_file_as_sha256sum_says(tmp_path: Path):
    (tmp_path / "provenance.json").write_text('{"origin": "qemu", "kernels": {}}')
    write_rows(tmp_path / "rows.csv", [Row(**SAID)])
    said = subprocess.run(["sha256sum", tmp_path / "rows.csv"], capture_output=True, text=True, check=True)
    known = json.loads((tmp_path / "provenance.json").read_text())
    assert known["rows_sha256"] == said.stdout[:64] and known["origin"] == "qemu"


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
