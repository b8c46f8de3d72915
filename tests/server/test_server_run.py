# SPDX-License-Identifier: MIT
"""A whole run on a real server: both arms built from its own configuration, booted by GRUB, measured."""

import gzip
from pathlib import Path

import pytest
import yaml

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.experiment.journal import read_entries
from lockscale.experiment.layout import Run
from lockscale.experiment.rows import read_rows
from lockscale.experiment.run import run_plan
from lockscale.experiment.servers import disk_of, held
from lockscale.experiment.target_work import prepare_disk
from lockscale.study import SshTarget, load_study, load_target
from server.machine import Server

pytestmark = [pytest.mark.guest, pytest.mark.long]
SMALL = {"guests": [{"cpus": 2, "processes": [1, 4]}], "creates_per_point": 200, "iterations": 2}
STUDY = load_study("inode-claim", SMALL)
STEPS = 6  # an A/A pair and two blocks of two arms


@pytest.fixture
def target(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SshTarget:
    """The test server as a target file names it, its first data disk the one that may be formatted."""
    said = yaml.safe_load((paths.TARGETS / "example-server.yaml").read_text())
    said |= {"host": "127.0.0.1", "user": "root", "port": server.port, "virtual": True}
    said |= {"identity_file": str(server.image.identity_file), "known_hosts": str(server.known_hosts)}
    size = server.disks["LOCKSCALE1"].image.stat().st_size
    by_id = "/dev/disk/by-id/virtio-LOCKSCALE1"
    said["disk"] = {"by_id": by_id, "serial": "LOCKSCALE1", "size_bytes": size}
    said["boot"] = {"guard": "i6300esb", "boot_timeout_s": 600, "config": "localmodconfig"}
    (tmp_path / "example-server.yaml").write_text(yaml.safe_dump(said))
    monkeypatch.setattr(paths, "TARGETS", tmp_path)
    found = load_target("example-server")
    assert isinstance(found, SshTarget)
    return found


def test_the_study_of_the_guest_runs_on_a_server(server: Server, target: SshTarget, tmp_path: Path):
    home = server.must("uname", "-r").strip()
    run = Run(tmp_path / "run")
    run.folder.mkdir()
    with pytest.raises(BadInput, match="the first time give --token"):
        run_plan(run, STUDY, target)
    assert prepare_disk(target, disk_of(target).token, dry_run=True)["done"] is False
    assert prepare_disk(target, disk_of(target).token, dry_run=False)["done"] is True
    rows = read_rows(run_plan(run, STUDY, target))
    assert server.must("uname", "-r").strip() == home
    assert len(read_entries(run.journal)) == STEPS
    assert set(rows.origin) == {"qemu"} and set(rows.target) == {"example-server"}
    assert set(rows.arm) == {arm.name for arm in STUDY.arms} and rows.build_id.nunique() == 2
    assert rows.profiled.any() and (rows.metric == "rate").any()
    texts = [
        run.provenance.read_text(),
        *(gzip.decompress(p.read_bytes()).decode() for p in run.raw.rglob("*.gz")),
    ]
    private = [
        "127.0.0.1",
        str(server.port),
        str(server.image.identity_file),
        server.must("uname", "-n").strip(),
    ]
    assert [word for text in texts for word in private if word in text] == []
    with held(target, "another run"):  # the run has let go
        pass
