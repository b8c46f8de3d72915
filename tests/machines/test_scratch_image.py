# SPDX-License-Identifier: MIT
"""The image of a guest's disk: as large as it says, of no more room than what is written to it."""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from lockscale.errors import BadInput, FullDisk, RunFailed
from lockscale.machines.guest_disks import WRITTEN_MIB, Scratch
from lockscale.measure.target_qemu import fresh_disk

Usage = namedtuple("Usage", "total used free")


def with_free(monkeypatch: pytest.MonkeyPatch, mib: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(mib << 20, 0, mib << 20))


def test_a_disk_larger_than_what_is_free_is_made_and_takes_no_room(tmp_path: Path, monkeypatch):
    with_free(monkeypatch, WRITTEN_MIB)
    disk = Scratch(tmp_path / "scratch.img", 131072, "S0")
    disk.make()
    made = disk.image.stat()
    assert made.st_size == 131072 << 20 and made.st_blocks * 512 < 1 << 20


def test_a_guest_that_failed_as_the_disk_below_its_own_became_full_is_told_so(tmp_path: Path, monkeypatch):
    disk = Scratch(tmp_path / "scratch.img", 64, "S0")
    assert ",werror=report" in disk.qemu_options(), "a write that fails stops no guest"
    for free_mib, kind, said in (
        (15, FullDisk, "the guest failed: .* has 15 MiB free"),
        (16, RunFailed, "^EIO$"),
    ):
        with_free(monkeypatch, WRITTEN_MIB)
        with pytest.raises(kind, match=said), fresh_disk(disk):
            with_free(monkeypatch, free_mib)
            raise RunFailed("EIO")
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("size_mib", "free_mib"), [(3072, 3071), (131072, WRITTEN_MIB - 1)])
def test_a_disk_without_room_for_what_a_load_writes_is_refused(
    tmp_path: Path, monkeypatch, size_mib: int, free_mib: int
):
    with_free(monkeypatch, free_mib)
    with pytest.raises(BadInput, match=r"^the guest's scratch disk needs \d+ MiB but .* has \d+ MiB free"):
        Scratch(tmp_path / "scratch.img", size_mib, "S0").make()
    assert not list(tmp_path.iterdir())
