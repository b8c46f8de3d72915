# SPDX-License-Identifier: MIT
"""Between the last look and mkfs: the disk that was judged is written to and no other, whatever moves."""

import hashlib
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.filesystems import FIRST
from lockscale.machines import disk_look
from lockscale.machines.format import CHANGED, RECORD, Formatting, formatting
from lockscale.machines.machine import Completed, Machine
from machines.test_disk_rules import DISK, TOKEN, text

WRITES = 'echo written > "$1"'


class Here(Machine):
    """This machine; `moved` changes its script, as what happens there in the middle of it would."""

    def __init__(self, moved: Callable[[str], str] = str) -> None:
        self.moved = moved

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        words = [*argv[:2], self.moved(argv[2]), *argv[3:]]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)


def planned(folder: Path, script: str = WRITES) -> Formatting:
    """A command that writes, planned for what the link `named` leads to when it was looked at."""
    named = replace(DISK, by_id=folder / "named")
    seen = disk_look.look(Here(), str(named.by_id), named.record, FIRST).text
    command = ("sh", "-c", script, "sh", str(folder / "judged"))
    sha256 = hashlib.sha256(seen.encode()).hexdigest()
    return Formatting(named, str(folder / "judged"), command, sha256, False, FIRST)


@pytest.fixture
def disks(inside: Path) -> Path:
    for name in ("judged", "other"):
        (inside / name).write_text("kept\n")
    (inside / "named").symlink_to("judged")
    return inside


def test_a_disk_that_takes_the_name_while_mkfs_runs_is_not_written(disks: Path):
    """mkfs is given the held file, whatever its name means meanwhile."""
    planned(disks, f"mv judged away; mv other judged; {WRITES}").carry_out(Here())
    assert (disks / "away").read_text() == "written\n" and (disks / "judged").read_text() == "kept\n"


def test_a_name_that_moves_away_and_back_writes_nothing(disks: Path):
    """The held file is then of another disk, though every look finds the right one."""
    plan = planned(disks)
    (disks / "named").unlink()
    (disks / "named").symlink_to("other")

    def back(script: str) -> str:
        assert script.count("\nnow=$(") == 1
        return script.replace("\nnow=$(", "\nln -sfn judged named\nnow=$(")

    with pytest.raises(RunFailed, match="changed while it was checked"):
        plan.carry_out(Here(back))
    assert {(disks / name).read_text() for name in ("judged", "other")} == {"kept\n"}


def test_a_disk_of_which_another_thing_is_said_now_is_not_written(disks: Path):
    plan = planned(disks)

    def told(script: str) -> str:
        return script.replace("part lacks lacks", "part news echo news; part lacks lacks")

    with pytest.raises(RunFailed, match="changed while it was checked"):
        plan.carry_out(Here(told))
    assert (disks / "judged").read_text() == "kept\n"


class Told(Machine):
    """Says one text a look; what else it is asked succeeds, and is kept."""

    def __init__(self, *looks: str) -> None:
        self.looks, self.asked = list(looks), []

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        self.asked.append(list(argv))
        says = self.looks.pop(0) if argv[2].endswith('look "$@"') else ""
        return Completed(tuple(argv), 0, says, "")


FRESH, TYPED = text(signatures=()), text(signatures=(), typed="1")


def test_a_disk_is_looked_at_again_after_its_token_was_written_down():
    machine = Told(FRESH, TYPED)
    formatting(machine, DISK, token=TOKEN).carry_out(machine)
    _, record, _, mkfs = machine.asked
    assert record[:3] == ["sh", "-c", RECORD] and record[-1] == DISK.record
    assert mkfs[6] == hashlib.sha256(TYPED.encode()).hexdigest()
    assert mkfs[7:] == ["mkfs.ext4", "-q", "-F", "-L", "lockscale", "/proc/self/fd/9"]


def test_what_came_onto_it_meanwhile_is_found_then():
    machine = Told(FRESH, text(signatures=(), typed="1", mounts="/dev/sdb /mnt"))
    plan = formatting(machine, DISK, token=TOKEN)
    with pytest.raises(BadInput, match="is mounted on /mnt"):
        plan.carry_out(machine)


def test_a_disk_with_our_mark_has_nothing_written_down():
    machine = Told(text())
    formatting(machine, DISK).carry_out(machine)
    assert len(machine.asked) == 2


@pytest.mark.parametrize("status", [CHANGED, 90])
def test_a_change_is_told_as_one_and_no_failure_of_mkfs(status: int):
    class Changes(Told):
        def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
            done = super().run(argv)
            return done if done.stdout else replace(done, status=status)

    machine = Changes(text())
    with pytest.raises(RunFailed, match="changed while it was checked, try again"):
        formatting(machine, DISK).carry_out(machine)


def recorded(folder: Path, line: str) -> list[str]:
    """The record after `line` was written, and what was synced then."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/sync").write_text(f'#!/bin/sh\necho "$*" >> {folder}/synced\n')
    (folder / "bin/sync").chmod(0o755)
    env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", RECORD, "sh", f"{folder}/kept/disks", line], env=env, check=True)
    return (folder / "kept/disks").read_text().splitlines()


def test_a_token_is_written_down_once_and_is_on_the_disk_before_mkfs(tmp_path: Path):
    for line in (f"x{DISK.record}0", DISK.record, DISK.record):  # one holds the other's
        kept = recorded(tmp_path, line)
    assert kept == [f"x{DISK.record}0", DISK.record]
    assert (tmp_path / "synced").read_text().splitlines() == [f"{tmp_path}/kept/disks {tmp_path}/kept"] * 3


@pytest.mark.parametrize(("line", "count"), [(DISK.record, "1"), (f"x{DISK.record}0", "0")])
def test_the_token_of_another_disk_whose_name_holds_this_ones_does_not_count(
    tmp_path: Path, line: str, count: str
):
    (tmp_path / "disks").write_text(f"{line}\n")
    (asks,) = [row.strip() for row in disk_look.look_function(FIRST).splitlines() if "part typed" in row]
    asks = asks.replace("part typed ", "").replace(disk_look.TOKENS_TYPED, f"{tmp_path}/disks")
    done = subprocess.run(["sh", "-c", asks, "sh", "", DISK.record], capture_output=True, text=True)
    assert done.stdout.strip() == count


def test_a_mount_is_found_by_the_number_of_its_device():
    root = next(
        row.split() for row in Path("/proc/self/mountinfo").read_text().splitlines() if " / / " in row
    )
    ask = disk_look.look_function(FIRST) + "tree=$1; mounts"
    done = subprocess.run(["sh", "-c", ask, "sh", root[2]], capture_output=True, text=True)
    assert "/" in [row.split()[-1] for row in done.stdout.splitlines()]
    done = subprocess.run(["sh", "-c", ask, "sh", "9999:9999"], capture_output=True, text=True)
    assert done.stdout == ""
