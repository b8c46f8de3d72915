# SPDX-License-Identifier: MIT
"""Every rule of what may be formatted, on what lsblk, wipefs and the kernel say of a disk."""

import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput, RunFailed
from lockscale.filesystems import FIRST, FS_TYPES, FsType, tools_of
from lockscale.machines import disk_look
from lockscale.machines.disk_guard import REASONS, NamedDisk, device_to_format, reasons_against
from lockscale.machines.disk_look import parse
from lockscale.machines.format import Formatting, formatting
from lockscale.machines.machine import Completed, Machine
from lockscale.machines.server_facts import needs
from lockscale.programs import find

SIZE = 960_197_124_096
DISK = NamedDisk(Path("/dev/disk/by-id/nvme-SSD_S4EVNX0R"), "S4EVNX0R", SIZE)
TOKEN = "NX0R-960GB"
OURS = {"type": "ext4", "label": "lockscale", "usage": "filesystem"}


def row(kname: str = "sdb", **changed: Any) -> dict[str, Any]:
    return {
        "kname": kname, "maj:min": "8:16", "serial": "S4EVNX0R", "size": SIZE, "type": "disk", "ro": False,
        "rm": False, **changed,
    }  # fmt: skip


def text(
    *rows: dict[str, Any], signatures: Sequence[dict[str, Any]] = (OURS,), probed: int = 0, **parts: Any
) -> str:
    """What the script prints of /dev/sdb, with some parts said otherwise: text or (status, text)."""
    said: dict[str, Any] = {
        "lacks": "",
        "link": "../../sdb",
        "device": "/dev/sdb",
        "devices": json.dumps({"blockdevices": rows or [row()]}),
        "block": "",
        "mounts": "",
        "swaps": "Filename\tType\tSize\tUsed\tPriority",
        "holders": "",
        "loops": "",
        "openers": "",
        "serial": "",
        "signatures": (probed, json.dumps({"signatures": signatures}, indent=1)),
        "reads": "",
        "takes": "",
        "typed": "0",
        **parts,
    }
    whole = ((name, *(said[name] if isinstance(said[name], tuple) else (0, said[name]))) for name in said)
    return "".join(f"{words}\n== {name} {status}\n" for name, status, words in whole)


def reasons(
    *rows: dict[str, Any], disk: NamedDisk = DISK, token: str | None = None, **said: Any
) -> list[str]:
    return reasons_against(disk, parse(text(*rows, **said)), token)


def test_the_named_disk_with_our_mark_may_be_formatted():
    assert reasons() == []
    assert reasons(serial="S4EVNX0R") == []
    assert reasons(row(), row("nvme0c0n1")) == [], "a path of a multipath NVMe disk is no second disk"


def test_two_whole_nvme_disks_of_one_serial_are_two_disks():
    (why,) = reasons(row(), row("nvme1n1"))
    assert why == "nvme1n1 has the same serial"


def test_a_file_without_a_serial_names_no_disk_though_a_disk_has_none_either():
    assert "the target file gives no serial" in reasons(row(serial=None), disk=replace(DISK, serial=""))


def test_a_blank_disk_takes_the_typed_token_once():
    assert reasons(signatures=(), token=TOKEN) == []
    assert reasons(signatures=(), typed="1") == []
    (why,) = reasons(signatures=())
    assert "--token" in why and TOKEN not in why
    for wrong in ("", "NX0R", "960GB-NX0R", TOKEN.lower(), "nx0r-961GB"):
        assert "token is wrong" in " ".join(reasons(signatures=(), token=wrong))
        assert "token is wrong" in " ".join(reasons(token=wrong)), "also where none is needed"


def test_a_disposable_image_takes_no_token_but_every_other_rule_holds():
    ours = replace(DISK, disposable=True)
    assert reasons(disk=ours, signatures=()) == []
    assert reasons(disk=ours, signatures=({"type": "xfs", "usage": "filesystem"},))


PART = row("sdb1", type="part", serial=None)
ONE = {  # one rule each: how the disk differs from the right one, and what is said
    "partition": ("not a whole disk", {"rows": [row(type="part")]}, "is a partition, not"),
    "loop": ("not a whole disk", {"rows": [row(type="loop")]}, "is a loop"),
    "serial": ("wrong serial", {"rows": [row(serial="S4EVNX0S")]}, "serial is 'S4EVNX0S'"),
    "no serial": ("wrong serial", {"rows": [row(serial=None)]}, "serial is ''"),
    "stale udev": ("wrong serial", {"serial": "OTHER"}, "the kernel says OTHER"),
    "twice": ("two disks with the same serial", {"rows": [row(), row("sdc")]}, "sdc has the same serial"),
    "size": ("wrong size", {"rows": [row(size=SIZE + 512)]}, f"{SIZE + 512} bytes"),
    "read-only": ("read-only", {"rows": [row(ro=True)]}, "read-only"),
    "read-only, old lsblk": ("read-only", {"rows": [row(ro="1", rm="0", size=str(SIZE))]}, "read-only"),
    "removable": ("removable", {"rows": [row(rm=True)]}, "removable"),
    "root": ("the system's disk", {"mounts": "/dev/md0 /"}, "running system is on it: /dev/md0 on /"),
    "boot": ("the system's disk", {"mounts": "/dev/sdb1 /boot/efi"}, "/dev/sdb1 on /boot/efi"),
    "mounted": ("mounted", {"mounts": "/dev/sdb /mnt/a\\040b"}, r"mounted on /mnt/a\040b"),
    "swap": ("swap", {"swaps": "Filename\n/dev/sdb partition 1 0 -2"}, "sdb is swap"),
    "partitions": ("has partitions", {"rows": [row(children=[PART])]}, "partitions: sdb1"),
    "lvm": ("held by another device", {"rows": [row(children=[row("dm-0", type="lvm")])]}, "by dm-0 (lvm)"),
    "mpath": ("held by another device", {"rows": [row(children=[row("dm-1", type="mpath")])]}, "(mpath)"),
    "bcache": ("held by another device", {"holders": "bcache0"}, "held by bcache0"),
    "looped": ("behind a loop device", {"loops": "loop3"}, "loop3 is a loop device on it"),
    "open": ("open", {"openers": "4711 qemu-system-x86"}, "process 4711 (qemu-system-x86) has it open"),
    "unreadable": ("unreadable", {"reads": (1, "dd: x\nInput/output error")}, "read: Input/output error"),
    "unprobed": ("unreadable", {"probed": 1}, "wipefs fails"),
    "f2fs": ("carries a signature", {"signatures": [{"type": "f2fs", "label": "lockscale"}]}, "f2fs sig"),
    "xfs": ("carries a signature", {"signatures": [{"type": "xfs", "label": "other"}]}, "an xfs sig"),
    "LVM2": ("carries a signature", {"signatures": [{"type": "LVM2_member"}]}, "LVM physical volume"),
    "gpt": ("carries a signature", {"signatures": [{"type": "gpt", "usage": "partition-table"}]}, "a gpt p"),
    "ext4": ("carries a signature", {"signatures": [{**OURS, "label": "other"}]}, "an ext4 signature"),
    "two": ("carries a signature", {"signatures": [OURS, {"type": "zfs_member"}]}, "ZFS pool member"),
    "unknown": ("unreadable", {"openers": (1, "")}, "openers cannot be determined"),
    "exclusive": ("mkfs refuses it", {"takes": (1, "it is in use by the system")}, "in use by the system"),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE)
def test_one_reason_is_enough(case: str):
    rule, differs, said = ONE[case]
    changed = dict(differs)
    assert rule in REASONS
    found = reasons(*changed.pop("rows", ()), **changed)
    assert len(found) == 1 and said in found[0], found


def test_every_rule_of_the_table_is_met_by_a_case():
    assert {rule for rule, _, _ in ONE.values()} | {"token"} == set(REASONS)


def test_every_reason_is_told_at_once():
    found = reasons(row(size=1, ro=True, children=[PART]), mounts="/dev/sdb1 /a\n/dev/sdb1 /b")
    assert len(found) == 5


def test_a_swap_partition_and_a_mounted_volume_are_found_below_their_layers():
    volume = row("dm-0", type="lvm", serial=None)
    found = reasons(row(children=[row("sdb1", type="part", children=[volume])]),
                    swaps="Filename\n/dev/dm-0 partition 1 0 -2")  # fmt: skip
    assert "dm-0 is swap" in found and "it is held by dm-0 (lvm)" in found


class Printer(Machine):
    """A machine that prints one text, whatever is asked, and keeps what was asked."""

    def __init__(self, *printed: str) -> None:
        self.printed = list(printed)
        self.asked: list[Sequence[str]] = []

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        self.asked.append(argv)
        return Completed(tuple(argv), 0, self.printed.pop(0), "")


@pytest.mark.parametrize(
    "by_id",
    ["/dev/sdb", "/dev/disk/by-id/", "/dev/disk/by-id/..", "/dev/disk/by-id/../../sdb", "by-id/x",
     "/dev/disk/by-id/a b", "/dev/disk/by-id/a\n", "/dev/disk/by-uuid/x", "-n", ""],
)  # fmt: skip
def test_a_name_that_may_move_to_another_disk_is_refused_unasked(by_id: str):
    machine = Printer()
    with pytest.raises(BadInput, match="by-id"):
        device_to_format(machine, replace(DISK, by_id=Path(by_id)))
    assert not machine.asked


@pytest.mark.parametrize(
    ("link", "device", "block", "said"),
    [(1, "", 1, "does not exist"), (1, "/dev/disk/by-id/x", 1, "does not exist"),
     (1, "/dev/sdb", 0, "is not a link"), (0, "/dev/sdz", 1, "leads to /dev/sdz"),
     (0, "/dev/sdz", 0, "leads to /dev/sdz")],
)  # fmt: skip
def test_a_name_that_leads_to_no_disk_is_refused(link: int, device: str, block: int, said: str):
    (why,) = reasons(link=(link, ""), device=device, block=(block, ""))
    assert said in why


def test_what_cannot_be_read_is_one_sentence():
    cut = text()[: text().index("== takes")]
    for printed in ("", cut, "== link 0\n", text().replace("blockdevices", "x"), text().replace("{", "")):
        with pytest.raises(RunFailed, match="cannot be parsed"):
            device_to_format(Printer(printed), DISK)
    with pytest.raises(BadInput, match=r"2\.31"):
        device_to_format(Printer(text(devices=(1, ""))), DISK)
    with pytest.raises(BadInput, match="lacks awk find,"):
        device_to_format(Printer(text(lacks="awk\nfind")), DISK)


@settings(max_examples=50)
@given(st.text(alphabet=st.characters(codec="ascii"), max_size=60), st.sampled_from(["mounts", "openers"]))
def test_hostile_names_end_in_one_printable_sentence(words: str, part: str):
    printed = text(**{part: f"1 {words.replace('== ', '')} x"})
    with pytest.raises(BadInput) as refused:
        device_to_format(Printer(printed), DISK)
    assert str(refused.value).isprintable()


def test_a_dry_run_shows_every_command_and_runs_none():
    machine = Printer(text(signatures=()))
    planned = formatting(machine, DISK, ["-O", "^orphan_file"], "240M", TOKEN)
    record, mkfs = planned.dry_run()
    assert disk_look.TOKENS_TYPED in record and "'S4EVNX0R 960197124096'" in record
    assert mkfs == "mkfs.ext4 -q -F -L lockscale -O '^orphan_file' /dev/sdb 240M"
    assert len(machine.asked) == 1


@pytest.mark.parametrize(
    "options",
    [["-d", "/etc"], ["-L", "other"], ["-qLother"], ["-Lother"], ["-z", "undo"], ["-n"], ["-t", "ext2"],
     ["--"], ["-"]],
)  # fmt: skip
def test_an_option_that_mkfs_is_not_given_is_refused_unasked(options: list[str]):
    machine = Printer()
    with pytest.raises(BadInput, match=r"none of those that lockscale gives mkfs\.ext4"):
        formatting(machine, DISK, options)
    assert not machine.asked


@pytest.mark.parametrize("options", [["/dev/sda"], ["-J", "device=LABEL=x"]])
def test_an_option_that_reaches_beyond_the_disk_is_refused_unasked(options: list[str]):
    machine = Printer()
    with pytest.raises(BadInput, match="beyond the disk"):
        formatting(machine, DISK, options)
    with pytest.raises(BadInput, match="not a file system size"):
        formatting(machine, DISK, size="-Lother")
    assert not machine.asked


class Here(Printer):
    """This machine."""

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        done = subprocess.run(list(argv), capture_output=True, text=True, timeout=60)
        return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)


@pytest.fixture
def planned(inside: Path) -> Formatting:
    """A command that writes, planned for what the link `named` leads to when it was looked at."""
    for name in ("judged", "other"):
        (inside / name).write_text("kept\n")
    (inside / "named").symlink_to("judged")
    named = replace(DISK, by_id=inside / "named")
    seen = disk_look.look(Here(), str(named.by_id), named.record, FIRST).text
    device = str(inside / "judged")
    command = ("sh", "-c", 'echo written > "$1"', "sh", device)
    return Formatting(named, device, command, hashlib.sha256(seen.encode()).hexdigest(), False, FIRST)


def test_the_disk_that_was_judged_is_written(planned: Formatting, inside: Path):
    assert planned.carry_out(Here()) == shlex.join(planned.command)
    assert (inside / "judged").read_text() == "written\n" and (inside / "other").read_text() == "kept\n"


@pytest.mark.parametrize("target", ["other", None, "nothing"])
def test_a_name_that_moved_since_writes_nothing(planned: Formatting, inside: Path, target: str | None):
    (inside / "named").unlink()
    if target:
        (inside / "named").symlink_to(target)
    with pytest.raises(RunFailed, match="changed while it was checked"):
        planned.carry_out(Here())
    assert {(inside / name).read_text() for name in ("judged", "other")} == {"kept\n"}
    assert not (inside / "nothing").exists()


def test_a_command_that_fails_is_told_with_its_last_words(planned: Formatting):
    failing = replace(planned, command=("sh", "-c", "echo first >&2; echo no space >&2; exit 3"))
    with pytest.raises(RunFailed, match="ended with 3: no space"):
        failing.carry_out(Here())


@pytest.mark.parametrize("fs", [fs for fs in FS_TYPES.values() if fs.on_disk], ids=lambda fs: fs.name)
def test_the_script_is_plain_sh(fs: FsType):
    for shell in ("dash", "bash"):
        script = disk_look.look_function(fs)
        done = subprocess.run([shell, "-n", "-c", script], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("fs", [fs for fs in FS_TYPES.values() if fs.on_disk], ids=lambda fs: fs.name)
def test_the_studys_own_mkfs_is_tried_and_writes_nothing(fs: FsType, tmp_path: Path):
    if not find(fs.mkfs((), "", "", "")[0]):
        pytest.skip(f"{fs.package} is not installed")
    image = tmp_path / "image"
    with image.open("wb") as stream:
        stream.truncate(400 << 20)
    tried = ["sh", "-c", disk_look.look_function(fs) + "device=$1; lacks; takes", "sh"]
    done = subprocess.run([*tried, str(image)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert image.stat().st_blocks == 0, "the file is still one hole"
    done = subprocess.run([*tried, str(tmp_path / "nothing")], capture_output=True, text=True)
    assert done.returncode == 1 and "in use by the system: No such file" in done.stdout


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of which stat(1), first on the PATH, says that it has the disk 8:10 open."""
    named = "open('/proc/self/comm', 'w').write('\u6570\u636e'); print(); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", named], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    process.stdout.readline()
    stat = tmp_path / "stat"
    stat.write_text(f"#!/bin/sh\necho block special file 8:10 /proc/{process.pid}/fd/3\n")
    stat.chmod(0o755)
    yield process
    process.kill()
    process.communicate()


def looked(function: str, first_on_path: Path) -> tuple[int, str]:
    """How one function of the script ends for the disk 8:10, and what it says."""
    env = {**os.environ, "PATH": f"{first_on_path}:{os.environ['PATH']}", "LC_ALL": "C"}
    script = f"{disk_look.look_function(FIRST)}numbers=8:10 tree=8:16; {function}"
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_process_has_the_disk_open_whatever_it_is_called(opened: subprocess.Popen[str], tmp_path: Path):
    assert looked("openers", tmp_path) == (0, f"{opened.pid} \n")
    opened.kill()
    opened.wait()
    assert looked("openers", tmp_path) == (0, "")


@pytest.mark.parametrize(("function", "tool"), [("openers", "find"), ("openers", "stat"), ("mounts", "cat")])
def test_a_tool_that_cannot_be_started_has_not_found_nothing(function: str, tool: str, tmp_path: Path):
    assert looked(function, tmp_path) == (0, "")
    (tmp_path / tool).write_text("#!/bin/sh\nexit 126\n")
    (tmp_path / tool).chmod(0o755)
    assert looked(function, tmp_path) == (1, "")


def test_a_label_is_not_ours_without_its_odd_bytes():
    script = f"{disk_look.look_function(FIRST)}parts() {{ printf 'lockscale\\303\\251\\n'; }}; look"
    done = subprocess.run(["sh", "-c", script], capture_output=True)
    assert done.stdout == b"lockscale??\n"


def test_a_server_is_asked_for_the_tools_of_the_studys_file_system():
    assert set(tools_of(FS_TYPES["ext4"])) == {"mkfs.ext4", "dumpe2fs", "e2fsck"}
    assert tools_of(FS_TYPES["xfs"]) == dict.fromkeys(("mkfs.xfs", "xfs_db", "xfs_repair"), "xfsprogs")
    assert tools_of(FS_TYPES["btrfs"]) == dict.fromkeys(("mkfs.btrfs", "btrfs"), "btrfs-progs")
    assert tools_of(FS_TYPES["tmpfs"]) == {}
    machine = Printer("0\n", "/usr/bin/there\n" * 8 + "absent\n" * 3)
    lines = list(needs("my-server", machine, FS_TYPES["xfs"]))
    assert [line.fix for line in lines[-3:]] == ["install xfsprogs on my-server"] * 3
    assert machine.asked[-1][-3:] == ["mkfs.xfs", "xfs_db", "xfs_repair"]


def test_the_script_says_of_a_name_without_a_disk_that_there_is_none(inside: Path):
    with pytest.raises(BadInput, match="does not exist"):
        device_to_format(Here(), replace(DISK, by_id=Path("/dev/disk/by-id/$(touch${IFS}hurt)'\"`x`")))
    (inside / "to-nothing").symlink_to(inside / "nothing")
    (inside / "to-a-file").symlink_to(__file__)
    for name in ("to-nothing", "to-a-file"):
        (why,) = reasons_against(DISK, disk_look.look(Here(), str(inside / name), DISK.record, FIRST))
        assert "leads to" in why
    assert sorted(path.name for path in inside.iterdir()) == ["to-a-file", "to-nothing"]
