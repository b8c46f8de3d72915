# SPDX-License-Identifier: MIT
"""A file system that was in use before a load: how full the script leaves it, on one that is counted here."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from lockscale.prove.aged_fs import SIZES_KIB, filling

BLOCK = 4096


class Disk:
    """A file system of so many MiB: what is allocated is counted, and nothing is written."""

    def __init__(self, mib: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.blocks, self.files = mib << 8, dict[str, int]()
        monkeypatch.setattr(os, "statvfs", lambda _: self.said())
        monkeypatch.setattr(os, "open", lambda path, *_: path)
        monkeypatch.setattr(os, "posix_fallocate", lambda path, _, size: self.files.update({path: size}))
        monkeypatch.setattr(os, "unlink", self.files.pop)
        for name in ("close", "sync"):
            monkeypatch.setattr(os, name, lambda *_: None)

    @property
    def free(self) -> int:
        return self.blocks - sum(self.files.values()) // BLOCK

    def said(self) -> SimpleNamespace:
        return SimpleNamespace(f_bfree=self.free, f_blocks=self.blocks, f_frsize=BLOCK)


def fill(argv: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The script, with its own arguments."""
    _, _, script, *given = argv
    monkeypatch.setattr("sys.argv", ["-c", *given])
    exec(compile(script, "filler", "exec"), {})


def test_a_full_one_has_five_per_cent_left(monkeypatch: pytest.MonkeyPatch):
    disk = Disk(16384, monkeypatch)
    fill(filling("full", "/m", room_mib=384), monkeypatch)
    assert 0.05 <= disk.free / disk.blocks < 0.055
    assert {size >> 10 for size in disk.files.values()} <= set(SIZES_KIB)


def test_a_small_one_keeps_room_for_the_load(monkeypatch: pytest.MonkeyPatch):
    disk = Disk(3072, monkeypatch)
    fill(filling("full", "/m", room_mib=384), monkeypatch)
    assert 384 <= disk.free >> 8 < 384 + max(SIZES_KIB) // 1024


def test_an_aged_one_has_lost_every_second_file(monkeypatch: pytest.MonkeyPatch):
    disk = Disk(16384, monkeypatch)
    fill(filling("aged", "/m", room_mib=384), monkeypatch)
    numbers = sorted(int(path.rpartition("-")[2]) for path in disk.files)
    assert numbers == list(range(1, 2 * len(numbers), 2))
    assert 0.5 < disk.free / disk.blocks < 0.7


def test_each_arm_is_filled_alike_and_files_lie_in_the_root(monkeypatch: pytest.MonkeyPatch):
    one, two = ({}, {})
    for found in (one, two):
        disk = Disk(4096, monkeypatch)
        fill(filling("aged", "/m", room_mib=384), monkeypatch)
        found.update(disk.files)
    assert one == two and all(Path(path).parent == Path("/m") for path in one)
