# SPDX-License-Identifier: MIT
"""The test server itself: an image that is whole or built again, and a machine that can lose its power."""

import json
from pathlib import Path

import pytest

from server.boot_sector import run
from server.image import Image
from server.machine import DATA_MIB, Server


def image_of(folder: Path) -> Image:
    """An image with everything that a whole one has, but no system in it."""
    made = Image(folder)
    run("qemu-img", "create", "-q", "-f", "qcow2", made.disk, "1M")
    made.identity_file.write_text("key")
    record = {"host_key": "ssh-ed25519 AAAA", "size_bytes": made.disk.stat().st_size}
    (folder / "image.json").write_text(json.dumps(record))
    return made


def test_an_image_is_whole_only_with_its_record_its_key_and_its_disk(tmp_path: Path):
    made = image_of(tmp_path)
    assert made.is_whole()
    made.identity_file.unlink()
    assert not made.is_whole()
    made = image_of(tmp_path)
    with made.disk.open("r+b") as stream:
        stream.truncate(1000)
    assert not made.is_whole()
    made = image_of(tmp_path)
    with made.disk.open("r+b") as stream:
        stream.write(b"not a disk")
    assert not made.is_whole()
    made = image_of(tmp_path)
    (tmp_path / "image.json").unlink()
    assert not made.is_whole()


@pytest.mark.long
@pytest.mark.guest
def test_the_server_has_its_disks_by_serial_and_comes_back_after_a_power_cut(server: Server):
    for serial, mib in DATA_MIB.items():
        size = server.must("blockdev", "--getsize64", str(server.disks[serial].by_id))
        assert int(size) == mib << 20
    assert "i6300esb" in server.must("lspci", "-d", "8086:25ab", "-k") or server.must(
        "lspci", "-d", "8086:25ab"
    )
    first = server.boot_id()
    server.power_cycle()
    assert server.boot_id() != first
    first = server.boot_id()
    server.must("systemctl", "--no-block", "reboot")
    server.wait_for_boot(after=first)


@pytest.mark.long
@pytest.mark.guest
@pytest.mark.parametrize("user, may_sudo", [("bench", True), ("plain", False)])
def test_its_users_are_let_in_by_key_alone(server: Server, user: str, may_sudo: bool):
    done = server.run("sudo", "-n", "id", "-u", user=user)
    assert (done.stdout.strip() == "0") == may_sudo
