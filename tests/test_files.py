# SPDX-License-Identifier: MIT
"""Files are whole or absent, on a full disk too."""

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.files import (
    append_line,
    expanded,
    hold_lock,
    locked,
    need_free_space,
    need_place_for_file,
    need_place_for_folder,
    sha256_of,
    sha256_of_json,
    write_bytes,
    write_json,
    write_text,
)
from lockscale.paths import for_all_users
from small_disk import run_on_small_disk

HOLD = """
import sys
from pathlib import Path
from lockscale.files import locked
with locked(Path(sys.argv[1]), "the lock"):
    print("held", flush=True)
    sys.stdin.read()
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole_and_its_folder_made(inside: Path):
    path = inside / "a" / "b.txt"
    write_text(path, "old")
    write_text(path, "µs")
    assert path.read_bytes() == "µs".encode()
    assert names(path.parent) == ["b.txt"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(inside: Path):
    path = inside / "rows.csv"
    write_bytes(path, b"old")
    with pytest.raises(TypeError):
        write_bytes(path, "not bytes")
    assert path.read_bytes() == b"old"
    assert names(inside) == ["rows.csv"]


def test_what_a_killed_writer_left_goes_with_the_next_and_a_living_ones_stays(inside: Path):
    writer = (
        "import os, signal\nfrom pathlib import Path\nfrom lockscale.files import write_text\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\nwrite_text(Path('rows[1].csv'), 'half')\n"
    )
    subprocess.run([sys.executable, "-c", writer], cwd=inside, check=False)
    (left,) = names(inside)
    assert left.startswith(".rows[1].csv.")
    living = f".rows[1].csv.{os.getppid()}.part"
    for other in (living, ".other.csv.999999999.part"):
        (inside / other).write_text("half")
    write_text(inside / "rows[1].csv", "whole")
    assert names(inside) == sorted([living, ".other.csv.999999999.part", "rows[1].csv"])


def test_a_write_follows_no_link_that_a_guest_put_into_the_folder_it_shares(inside: Path):
    (inside / "shared").mkdir()
    (inside / "mine").write_text("mine")
    (inside / "shared" / f".job.1.{os.getpid()}.part").symlink_to(inside / "mine")
    write_text(inside / "shared" / "job.1", "true")
    assert (inside / "mine").read_text() == "mine" and names(inside / "shared") == ["job.1"]


def test_who_reads_the_old_file_goes_on_reading_it_whole(inside: Path):
    write_text(inside / "rows.csv", "old")
    with (inside / "rows.csv").open() as reader:
        write_text(inside / "rows.csv", "new and longer")
        assert reader.read() == "old"


def test_a_value_that_is_no_json_leaves_the_old_file(inside: Path):
    path = inside / "provenance.json"
    write_json(path, {"seed": 1})
    with pytest.raises(TypeError):
        write_json(path, {"seed": object()})
    assert json.loads(path.read_text()) == {"seed": 1}


def test_lines_are_appended_in_order(inside: Path):
    for line in ("first", "second"):
        append_line(inside / "new" / "journal.jsonl", line)
    assert (inside / "new" / "journal.jsonl").read_text() == "first\nsecond\n"


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, list[str]]]:
    """Each folder that is synced, with the names that are in it then."""
    found: list[tuple[Path, list[str]]] = []

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            found.append((path, names(path)))

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def test_what_is_written_is_synced_before_it_takes_the_name_or_is_called_done(
    inside: Path, monkeypatch: pytest.MonkeyPatch
):
    """What fsync is given is the file itself, with all of its content, and then its folder."""
    found: list[bytes | None] = []

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}")
        found.append(None if path.is_dir() else path.read_bytes())

    monkeypatch.setattr(os, "fsync", fsync)
    write_bytes(inside / "rows.csv", b"new" * 9)
    assert found == [b"new" * 9, None]
    for line, content in (("first", b"first\n"), ("second", b"first\nsecond\n")):
        found.clear()
        append_line(inside / "journal", line)
        assert found[0] == content


def test_a_disk_that_fails_is_named_and_a_line_that_it_did_not_take_is_not_there(
    inside: Path, monkeypatch: pytest.MonkeyPatch
):
    def fails(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    append_line(inside / "journal", "first")
    write_text(inside / "rows.csv", "old")
    monkeypatch.setattr(os, "fsync", fails)
    for write in (append_line, write_text):
        with pytest.raises(OSError, match=f"Input/output error: '{inside}'"):
            write(inside / {append_line: "journal", write_text: "rows.csv"}[write], "new")
    assert (inside / "journal").read_text() == "first\n" and (inside / "rows.csv").read_text() == "old"


def test_a_lock_for_all_users_follows_no_link(inside: Path):
    """In a folder that everybody writes to, a link of somebody's would lead to any file of ours."""
    (inside / "precious").write_text("kept")
    (inside / "lock").symlink_to("precious")
    with pytest.raises(OSError), hold_lock(inside / "lock", "me", str, for_all=True):
        pass
    assert (inside / "precious").read_text() == "kept"


def test_whatever_another_user_filled_the_lock_of_the_machine_with_is_one_sentence(inside: Path):
    (inside / "lock").write_bytes(b"\xff" * 10**6)
    with (inside / "lock").open() as others:
        fcntl.flock(others, fcntl.LOCK_EX)
        with pytest.raises(BadInput, match=r"^in use by 4096$"):
            hold_lock(inside / "lock", "me", lambda it: f"in use by {len(it)}", for_all=True).__enter__()


def test_the_lock_of_the_machine_lies_where_every_user_writes(inside: Path, monkeypatch: pytest.MonkeyPatch):
    """Root writes to any folder, and TMPDIR may be another one for each user."""
    monkeypatch.setattr(tempfile, "tempdir", str(inside / "of-one-user"))
    roots, everybodys = inside / "roots", inside / "everybodys"
    for folder, mode in ((roots, 0o755), (everybodys, 0o1777)):
        folder.mkdir()
        folder.chmod(mode)
    assert for_all_users("nowhere", str(roots), str(everybodys)) == everybodys
    assert for_all_users(str(roots)) == inside / "of-one-user"


def test_on_a_full_disk_every_command_begins_all_the_same(inside: Path, monkeypatch: pytest.MonkeyPatch):
    """Then no folder for temporary files is to be had, and what needs none does not ask for one."""

    def full() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", full)
    inside.chmod(0o1777)
    assert for_all_users(str(inside)) == inside


def test_the_name_of_a_new_file_is_on_disk_as_its_content_is(inside: Path, synced):
    write_bytes(inside / "a" / "b" / "rows.csv", b"x")
    assert (inside, ["a"]) in synced and (inside / "a", ["b"]) in synced
    assert synced[-1] == (inside / "a" / "b", ["rows.csv"])
    append_line(inside / "run" / "journal", "first")
    assert synced[-1] == (inside / "run", ["journal"]) and (inside, ["a", "run"]) in synced
    known = len(synced)
    append_line(inside / "run" / "journal", "second")
    assert len(synced) == known  # its name is there already
    write_bytes(inside / "run" / "journal", b"new")
    assert synced[known:] == [(inside / "run", ["journal"])]


def test_a_file_system_that_syncs_no_folder_is_written_to(inside: Path, monkeypatch: pytest.MonkeyPatch):
    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "fsync", fsync)
    write_bytes(inside / "x", b"x")
    assert (inside / "x").read_bytes() == b"x"


def test_a_home_folder_that_is_not_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/somewhere")
    assert expanded("~/x") == Path("/somewhere/x") and expanded("/~x") == Path("/~x")
    with pytest.raises(BadInput, match="'~no-such-user/x' does not begin with a home folder of this machine"):
        expanded("~no-such-user/x")


def test_sha256_agrees_with_coreutils(inside: Path):
    path = inside / "x"
    path.write_bytes(os.urandom(100_000))
    oracle = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True)
    assert sha256_of(path) == oracle.stdout.split()[0]


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans())))
def test_a_content_key_does_not_depend_on_the_order_of_keys(value):
    assert sha256_of_json(dict(reversed(value.items()))) == sha256_of_json(value)
    assert sha256_of_json({"in": value}) != sha256_of_json(value)


def test_a_second_holder_is_told_who_the_first_is_and_since_when(
    inside: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LOCKSCALE_NAME", "Ada\x1b[1mL")
    lock = inside / "room" / "lock"
    argv = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        who = rf"Ada\?\[1mL since \d{{4}}-\d\d-\d\dT[\d:]+Z \(process {holder.pid}\)"
        with pytest.raises(BadInput, match=rf"^the lock is in use by {who}: wait until it ends$"):
            locked(lock, "the lock").__enter__()
        holder.stdin.close()


def test_who_waits_for_a_lock_has_it_after_its_first_holder(tmp_path: Path):
    path, had = tmp_path / "lock", []

    def waits() -> None:
        with locked(path, "it", wait=True):
            had.append("second")

    second = threading.Thread(target=waits)
    with locked(path, "it"):
        second.start()
        second.join(0.5)
        had.append("first")
    second.join()
    assert had == ["first", "second"]


def test_a_lock_that_is_only_looked_at_is_not_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As by `lockscale study list` in the moment in which a run begins: it is over while the run waits."""
    path, slept = tmp_path / "lock", list[float]()
    path.touch()
    with path.open() as looks:
        fcntl.flock(looks, fcntl.LOCK_SH)
        monkeypatch.setattr(time, "sleep", lambda s: slept.append(s) or fcntl.flock(looks, fcntl.LOCK_UN))
        with locked(path, "it"):
            assert len(slept) == 1


def test_another_full_disk_is_not_taken_for_the_disk_of_the_lock(tmp_path: Path):
    """The lock of this machine is in /run/lock: there is nothing to free."""
    with pytest.raises(OSError, match="/elsewhere/"), locked(tmp_path / "lock", "it"):
        raise OSError(errno.ENOSPC, "No space left on device", "/elsewhere/console.log")


def test_a_lock_is_free_again_after_its_holder_was_killed(inside: Path):
    argv = [sys.executable, "-c", HOLD, "lock"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        holder.stdout.readline()
        holder.kill()
    with locked(inside / "lock", "the lock"):
        assert f"(process {os.getpid()})" in (inside / "lock").read_text()


def test_more_than_the_disk_has_is_refused_before_the_first_byte(inside: Path):
    need_free_space(inside / "not" / "there" / "yet", 0, "nothing")
    with pytest.raises(BadInput, match=r"^a kernel needs 1000000000 MiB but the disk of .* MiB free: free"):
        need_free_space(inside / "not" / "there" / "yet", 10**9, "a kernel")
    assert not names(inside)


def test_a_place_that_cannot_be_written_is_refused_before_the_work(inside: Path):
    need_place_for_file(inside / "x.html")
    need_place_for_folder(inside / "a" / "b")
    with pytest.raises(BadInput, match=r"no folder .*/a: create it first"):
        need_place_for_file(inside / "a" / "x.html")
    (inside / "file").touch()
    with pytest.raises(BadInput, match=r"because .*/file is a file: name another folder"):
        need_place_for_folder(inside / "file" / "b")
    assert {path.name for path in inside.iterdir()} == {"file"}
    for need in (need_place_for_file, need_place_for_folder):
        with pytest.raises(
            BadInput, match=r"^/proc/x cannot be written because the folder /proc is not writable"
        ):
            need(Path("/proc/x"))  # which root may write to, by its modes


def test_on_a_full_disk_the_old_file_stays_whole_and_one_sentence_says_what_to_free(inside: Path):
    said = run_on_small_disk(
        inside,
        64,
        """
        import os
        from pathlib import Path
        from lockscale.files import append_line, write_bytes
        path, journal = Path("rows.csv").resolve(), Path("journal.jsonl").resolve()
        write_bytes(path, b"old")
        append_line(journal, "first")
        print(refused(write_bytes, path, b"x" * 100_000))
        print(refused(append_line, journal, "x" * 100_000))
        print(path.read_text(), journal.read_text().strip(), sorted(os.listdir()))
        append_line(journal, "second")
        print(journal.read_text().split())
        """,
    )
    free = ": free some space or set LOCKSCALE_CACHE and "
    assert said[0].startswith(f"the disk under {inside} is full, so that rows.csv is not written{free}")
    assert said[1].startswith(f"the disk under {inside} is full{free}")
    assert said[2:] == ["old first ['journal.jsonl', 'rows.csv']", "['first', 'second']"]


def test_on_a_disk_with_no_room_for_a_name_the_sentence_is_the_same(inside: Path):
    said = run_on_small_disk(
        inside,
        64,
        """
        from pathlib import Path
        from lockscale.files import append_line, locked, write_bytes
        try:
            for n in range(100):
                Path(f"{n}").touch()
        except OSError:
            pass
        for call in (
            lambda: write_bytes(Path("new/rows.csv"), b"x"),
            lambda: append_line(Path("new/journal"), "x"),
            lambda: locked(Path("new/lock"), "it").__enter__(),
        ):
            print(refused(call), Path("new").exists())
        """,
    )
    assert len(said) == 3
    assert all(": free some space" in line and line.endswith("False") for line in said)
    assert said[0].count("is full, so that rows.csv is not written") == 1
