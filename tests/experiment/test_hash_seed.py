# SPDX-License-Identifier: MIT
"""Arms that are compared lie alike on their disks: directories hash to the same groups in one iteration."""

import re
import subprocess
from pathlib import Path

import pytest

from lockscale.experiment.arms import options_of
from lockscale.experiment.file_system import with_hash_seed
from lockscale.kernels.arms import Options
from lockscale.study import load_study
from lockscale.tools import need


@pytest.mark.parametrize("mkfs", [["-b", "4096"], load_study("inode-claim").mkfs], ids=["plain", "with -E"])
def test_mkfs_takes_the_seed_beside_what_else_the_study_asks(mkfs: list[str], tmp_path: Path):
    seeded = with_hash_seed(Options(mkfs=mkfs), 1, 2).mkfs
    image = tmp_path / "disk.img"
    with image.open("wb") as stream:
        stream.truncate(2 << 30)
    subprocess.run([need("mkfs.ext4"), "-q", "-F", *seeded, image], check=True, capture_output=True)
    header = subprocess.run(
        [need("dumpe2fs"), "-h", image], check=True, capture_output=True, text=True
    ).stdout
    (found,) = re.findall(r"^Directory Hash Seed:\s+(\S+)$", header, re.MULTILINE)
    assert f"hash_seed={found}" in " ".join(seeded)
    assert {*re.split("[ ,]", " ".join(mkfs))} <= {*re.split("[ ,]", " ".join(seeded))}


def test_arms_share_it_and_iterations_do_not():
    study = load_study("orphan-file")
    found = {
        (arm.name, k): re.findall(r"hash_seed=[0-9a-f-]{36}", options.line)
        for arm in study.arms
        for k in (1, 2)
        for options in [with_hash_seed(options_of(study, arm.name), study.parameters.seed, k)]
    }
    assert {len(seeds) for seeds in found.values()} == {1}
    assert len({tuple(found[arm.name, 1]) for arm in study.arms}) == 1
    assert found[study.arms[0].name, 1] != found[study.arms[0].name, 2]


def test_the_studys_own_seed_stays():
    own = Options(mkfs=["-E", "hash_seed=6f8a0f3c-5d1e-4b7a-9c2d-0e1f2a3b4c5d"])
    assert with_hash_seed(own, 1, 1) == own
