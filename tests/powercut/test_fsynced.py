# SPDX-License-Identifier: MIT
"""The load keeps its own promises on this machine's file system, killed or not, and damage is seen."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.prove.powercut.promises import NOTHING, Name, Promise, broken, read_files, read_record
from lockscale.tools import c_program

BLOCK, RECORDS = 4096, 3 * 64 * 2


@pytest.fixture(scope="module")
def fsynced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return c_program.build("fsynced", paths.FSYNCED, tmp_path_factory.mktemp("bin"))


def test_fsynced_compiles_without_a_warning(tmp_path: Path) -> None:
    sources = [str(path) for path in paths.FSYNCED.glob("*.c")]
    argv = ["cc", *c_program.FLAGS, "-Werror", *sources, "-o", str(tmp_path / "fsynced")]
    done = subprocess.run(argv, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def promised(device: Path) -> dict[Name, Promise]:
    """Intent and ack lie side by side; the newer of them by its version."""
    said: dict[Name, Promise] = {}
    data = device.read_bytes()
    for at in range(0, RECORDS, 2):
        intent, ack = (read_record(data[(at + n) * BLOCK :][:BLOCK]) for n in (0, 1))
        if intent:
            acked = ack[2] if ack else NOTHING
            said[intent[0]] = Promise(acked, None if intent[2] == acked else intent[2])
    return said


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_a_load_keeps_its_promises_and_damage_is_seen(fsynced: Path, tmp_path: Path, killed: bool) -> None:
    folder, device = tmp_path / "d", tmp_path / "device"
    folder.mkdir()
    device.write_bytes(bytes(RECORDS * BLOCK))
    argv = [str(fsynced), "load", str(folder), str(device), "0", "3", "7", "600" if killed else "2"]
    with subprocess.Popen(argv, start_new_session=True, stderr=subprocess.PIPE) as load:
        if killed:
            while len(promised(device)) <= 40 and load.poll() is None:
                time.sleep(0.05)
            os.killpg(load.pid, signal.SIGKILL)
        load.wait()
        assert load.returncode == (-signal.SIGKILL if killed else 0)
    said = promised(device)
    assert len(said) > 20

    def judged() -> list[str]:
        argv = [str(fsynced), "read", str(folder)]
        return broken(
            said, read_files(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
        )

    assert judged() == []
    victim = next(p for p in sorted(folder.glob("*/*")) if p.suffix != ".new")
    with victim.open("r+b") as stream:
        stream.write(b"\0")
    assert len(judged()) == 1
    shutil.rmtree(folder / "1")
    assert len(judged()) > 5


@pytest.mark.parametrize(
    "wrong", [("x", "1", "1", "0"), ("0", "-1", "1", "0"), ("0", "1", "", "0"), ("0", "1", "1", "1s")]
)
def test_a_number_that_is_none_writes_no_record(
    fsynced: Path, tmp_path: Path, wrong: tuple[str, ...]
) -> None:
    """Taken as 0, the place of the records would be the superblock's."""
    device = tmp_path / "device"
    device.write_bytes(bytes(RECORDS * BLOCK))
    done = subprocess.run([fsynced, "load", tmp_path, device, *wrong], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("use: fsynced load ")
    assert not any(device.read_bytes())


def test_what_cannot_be_read_back_or_printed_is_a_failure(fsynced: Path, tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    (tmp_path / "0/1").write_bytes(bytes(BLOCK))
    done = subprocess.run([fsynced, "read", tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "0 1 4096 zero\n"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([fsynced, "read", tmp_path], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and done.stderr.startswith("standard output: ")
    (tmp_path / "1").touch()
    done = subprocess.run([fsynced, "read", tmp_path], capture_output=True, text=True)
    assert done.returncode == 1 and "Not a directory" in done.stderr
