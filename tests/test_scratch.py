# SPDX-License-Identifier: MIT
"""A temporary folder goes with its process, however that ends, and never with a living one's."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lockscale.scratch import MACHINE, NAME, ScratchFolder, of_machine, remove_orphans, scratch_folder

HOLDER = """\
import sys, time
from lockscale.scratch import scratch_folder
with scratch_folder("test", sys.argv[1]) as folder:
    (folder / "file").write_text("half")
    print(folder, flush=True)
    time.sleep(600)
"""


def holder(home: Path) -> tuple["subprocess.Popen[str]", Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(home)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def end(process: "subprocess.Popen[str]", with_signal: int) -> None:
    process.send_signal(with_signal)
    process.communicate()


def test_it_is_of_this_user_alone_and_gone_at_the_end(tmp_path: Path):
    with scratch_folder("test", tmp_path) as folder:
        assert folder.is_dir() and folder.stat().st_mode & 0o077 == 0 and folder.match(NAME)
        (folder / "file").write_text("x")
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_goes_when_the_next_folder_is_made(tmp_path: Path):
    process, left = holder(tmp_path)
    end(process, signal.SIGKILL)
    assert (left / "file").is_file(), "a killed process removes nothing"
    with scratch_folder("other", tmp_path) as folder:
        assert list(tmp_path.iterdir()) == [folder]


def test_what_a_killed_process_left_goes_where_folders_inherit_their_group(tmp_path: Path):
    tmp_path.chmod(0o2775)
    process, left = holder(tmp_path)
    end(process, signal.SIGKILL)
    remove_orphans(tmp_path)
    assert not left.exists()


def test_a_living_process_keeps_its_own(tmp_path: Path):
    process, kept = holder(tmp_path)
    try:
        remove_orphans(tmp_path)
        assert (kept / "file").read_text() == "half"
    finally:
        end(process, signal.SIGTERM)


def test_what_is_not_ours_stays(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").touch()
    (tmp_path / f"lockscale-link-{MACHINE}.abcdefgh").symlink_to(tmp_path / "real")
    (tmp_path / f"lockscale-file-{MACHINE}.abcdefgh").touch()
    (tmp_path / "lockscale-guest-0123").mkdir()
    (tmp_path / f"lockscale-notes-{MACHINE}.20260131").mkdir()  # a person's
    (tmp_path / f"lockscale-notes-{MACHINE}.20260131").chmod(0o755)
    before = sorted(tmp_path.iterdir())
    remove_orphans(tmp_path)
    assert sorted(tmp_path.iterdir()) == before and (tmp_path / "real/file").exists()


def test_what_another_machine_holds_in_a_shared_folder_stays(tmp_path: Path):
    """flock(2) on a folder of NFS or Lustre is this machine's alone."""
    other = tmp_path / f"lockscale-load-{of_machine(b'', 'another')}.abcdefgh"
    other.mkdir(mode=0o700)
    with scratch_folder("load", tmp_path):
        assert other.is_dir()
    ids = {of_machine(one, host) for one in (b"1", b"2") for host in ("a", "b")}
    assert len(ids) == 4 and MACHINE not in ids


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_what_another_user_left_stays(tmp_path: Path):
    other = tmp_path / f"lockscale-test-{MACHINE}.abcdefgh"
    other.mkdir(mode=0o700)
    os.chown(other, 65534, 65534)
    remove_orphans(tmp_path)
    assert other.is_dir()


def test_many_that_begin_at_once_each_have_their_own(tmp_path: Path):
    """One may take another's new folder for an orphan before it is held; that one makes another."""
    failed: list[BaseException] = []

    def make() -> None:
        try:
            for _ in range(50):
                with scratch_folder("test", tmp_path) as folder:
                    (folder / "mine").touch()
                    assert (folder / "mine").exists()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failed == [] and not list(tmp_path.iterdir())


def test_remove_may_be_called_again(tmp_path: Path):
    folder = ScratchFolder("test", tmp_path)
    folder.remove()
    folder.remove()
    assert not folder.path.exists()
