# SPDX-License-Identifier: MIT
"""The user's own xfstests is found, and runs with our configuration."""

import subprocess
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools import xfstests


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder that looks like a built xfstests; its check prints where and how it was called."""
    folder = tmp_path / "x f s"
    for name in ("check", "common/rc", "ltp/fsstress"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('#!/bin/sh\npwd; echo "$HOST_OPTIONS"; echo "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def output(argv: list[str], **env: str) -> str:
    return subprocess.run(argv, env={"PATH": "/usr/bin:/bin", **env}, capture_output=True, text=True).stdout


def test_it_is_found_where_the_user_says_and_only_when_built(installed: Path):
    find = xfstests.FIND
    assert output(find, XFSTESTS=str(installed), HOME="/nonexistent").strip() == str(installed)
    (installed / "ltp/fsstress").unlink()
    assert output(find, XFSTESTS=str(installed), HOME="/nonexistent").strip() != str(installed)
    assert "no built xfstests on server1: build it" in str(xfstests.missing("server1"))


def test_it_runs_in_its_folder_with_our_configuration(installed: Path):
    ran = output(xfstests.command(str(installed), "/run/a b/local.config"))
    assert ran.splitlines() == [str(installed), "/run/a b/local.config", "-g quick"]
    with pytest.raises(BadInput, match="is not a group"):
        xfstests.command(str(installed), "x", "quick; rm -rf /")


def test_the_shell_reads_the_configuration_as_it_was_meant(tmp_path: Path):
    text = xfstests.local_config(
        "/dev/disk/by-id/a-part1",
        "/dev/disk/by-id/a-part2",
        "/runs/it's here",
        filesystem="xfs",
        mkfs=["-O", "^orphan_file", "-J", "size=64"],
        mount=["mb_optimize_scan=0"],
    )
    (tmp_path / "local.config").write_text(text)
    names = "$TEST_DEV $SCRATCH_DEV|$MKFS_OPTIONS|$MOUNT_OPTIONS|$TEST_FS_MOUNT_OPTS|$RESULT_BASE|$FSTYP"
    said = output(["sh", "-c", f'. "$1"; echo "{names}"', "sh", str(tmp_path / "local.config")])
    assert said == (
        "/dev/disk/by-id/a-part1 /dev/disk/by-id/a-part2|-O ^orphan_file -J size=64|-o mb_optimize_scan=0|"
        "-o mb_optimize_scan=0|/runs/it's here|xfs\n"
    )


def test_one_device_for_both_is_refused():
    with pytest.raises(BadInput, match="needs two devices, not /dev/vdb twice"):
        xfstests.local_config("/dev/vdb", "/dev/vdb", "/r", filesystem="ext4", mkfs=[], mount=[])
