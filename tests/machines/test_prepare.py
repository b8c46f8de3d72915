# SPDX-License-Identifier: MIT
"""A machine is quietened as asked and put back, whoever dies; its /sys and /proc are folders here."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.machine import Completed, Machine, Step, Write
from lockscale.machines.noise import read, refuse_other_load
from lockscale.machines.prepare import (
    BOOT_ID,
    JOURNAL,
    Preparation,
    SettingChange,
    of_line,
    prepare,
    prepared,
    put_back,
)

CPUFREQ = "sys/devices/system/cpu/cpufreq"
FILES = {
    f"{CPUFREQ}/policy0/scaling_governor": "schedutil\n",
    f"{CPUFREQ}/policy1/scaling_governor": "powersave\n",
    f"{CPUFREQ}/policy0/scaling_available_governors": "performance schedutil\n",
    f"{CPUFREQ}/policy1/scaling_available_governors": "performance powersave\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/loadavg": "0.25 0.10 0.05 1/100 4711\n",
    "proc/mounts": "/dev/sda1 / ext4 rw,noatime 0 0\nproc /proc proc rw 0 0\n",
    "proc/7/comm": "fio\n",
    "proc/8/comm": "mkfs.ext4\n",
    "proc/9/comm": "bash\n",
    "proc/sys/kernel/random/boot_id": "boot-1\n",
    "proc/swaps": "Name Type Size Used Priority\n/dev/sda2 partition 100 4 -2\n/dev/sda3 partition 100 0 5\n",
    "units": "cron.service\ne2scrub_all.timer\nfstrim.timer\nirqbalance.service\nlockscale-trial.timer\n"
    "ssh.service\n",
}  # fmt: skip
SYSTEMCTL = """#!/bin/sh
cd "$ROOT"
case $1 in
list-units) kind=${2#--type=}; grep "[.]$kind\\$" units | sed 's/$/ loaded active running words/'; true ;;
list-timers) echo '[{"next": 1795305600000000, "unit": "fstrim.timer"}, {"next": null, "unit": "a.timer"}]' ;;
stop) grep -vFx -e "$2" units > kept; cp kept units ;;
start) echo "$2" >> units; sort -u units > kept; cp kept units ;;
esac
"""
SWAPOFF = '#!/bin/sh\ngrep -v "^$1 " "$ROOT/proc/swaps" > "$ROOT/kept"; cp "$ROOT/kept" "$ROOT/proc/swaps"\n'
SWAPON = """#!/bin/sh
priority=-2; [ "$1" = -p ] && { priority=$2; shift 2; }
echo "$1 partition 100 0 $priority" >> "$ROOT/proc/swaps"
"""
EVERYTHING = Preparation(
    governor="performance", turbo=False, thp="never", numa_balancing=False, swap=False, timers="stop",
    irqbalance=False,
)  # fmt: skip


class Dead(Exception):
    """The controller was killed."""


class Local(Machine):
    """This machine, with some commands of its own; it dies before command number `lives`."""

    def __init__(self, folder: Path, lives: int = 1000) -> None:
        self.lives = lives
        self.env = {**os.environ, "ROOT": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}"}

    def _run(self, argv: Sequence[str]) -> Completed:
        try:
            done = subprocess.run(list(argv), env=self.env, capture_output=True, text=True, timeout=60)
        except FileNotFoundError:
            return Completed(tuple(argv), 127, "", "not found")
        return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        assert not any(isinstance(step, Write) for step in steps)
        if not self.lives:  # one go: only reads are carried out together
            raise Dead
        self.lives -= 1
        return [self._run(step) for step in steps if not isinstance(step, Write)]


@pytest.fixture
def root(tmp_path: Path) -> str:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, text in (("systemctl", SYSTEMCTL), ("swapoff", SWAPOFF), ("swapon", SWAPON)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return str(tmp_path)


def state(root: str) -> dict[str, Any]:
    """What a person would look at: the settings' files, the swap devices and the units."""
    names = [name for name in FILES if "scaling_governor" in name or "turbo" in name]
    names += ["proc/sys/kernel/numa_balancing", "sys/kernel/mm/transparent_hugepage/enabled"]
    found: dict[str, Any] = {name: Path(root, name).read_text().split() for name in names}
    chosen = found[names[-1]]
    found[names[-1]] = [word.strip("[]") for word in chosen if len(chosen) == 1 or "[" in word]
    for name in ("proc/swaps", "units"):
        lines = [line.split() for line in Path(root, name).read_text().splitlines()[:20]]
        found[name] = sorted((line[0], line[-1]) for line in lines)
    return found


def test_everything_is_read(root: str):
    found = read(Local(Path(root)), root)
    assert found["governors"] == {"policy0": "schedutil", "policy1": "powersave"}
    assert found["turbo"] is True and found["thp"] == "madvise" and found["numa_balancing"] == 1
    assert found["swappiness"] == 60 and found["load_1min"] == 0.25
    assert found["swap"][1] == {"device": "/dev/sda3", "size_kib": 100, "used_kib": 0, "priority": 5}
    assert found["timers"] == ["e2scrub_all.timer", "fstrim.timer"], "never ours"
    assert found["next_timers"] == [{"unit": "fstrim.timer", "next_unix_s": 1795305600.0}]
    assert found["noisy_services"] == ["cron.service", "irqbalance.service"] and found["irqbalance"] is True
    assert found["file_systems"] == ["ext4"]  # not the names of volumes, nor where they are mounted
    assert found["benchmarks"] == ["fio", "mkfs.ext4"]
    with pytest.raises(BadInput, match=r"^the target already runs fio and mkfs.ext4: wait"):
        refuse_other_load(found)
    refuse_other_load(found | {"benchmarks": []})


def test_what_a_machine_does_not_say_is_null(tmp_path: Path):
    machine = Local(tmp_path)
    machine.env["PATH"] = "/nowhere"
    assert set(read(machine, str(tmp_path)).values()) == {None}
    with pytest.raises(BadInput, match="does not report its governors"):
        prepare(machine, Preparation(governor="performance"), str(tmp_path))


def test_boost_is_the_switch_where_there_is_no_intel_pstate(root: str):
    Path(root, "sys/devices/system/cpu/intel_pstate/no_turbo").unlink()
    boost = Path(root, CPUFREQ, "boost")
    boost.write_text("1\n")
    machine = Local(Path(root))
    with prepared(machine, Preparation(turbo=False), root):
        assert boost.read_text() == "0"
    assert boost.read_text() == "1"


def test_nothing_is_changed_that_is_not_asked(root: str):
    before = state(root)
    with prepared(Local(Path(root)), Preparation(), root) as said:
        assert said["changed"] == [] and state(root) == before
    assert not Path(root + JOURNAL).exists()


def test_everything_that_is_asked_is_set_and_put_back(root: str):
    before = state(root)
    with prepared(Local(Path(root)), EVERYTHING, root) as said:
        during = state(root)
        assert said["found"]["thp"] == "madvise" and len(said["changed"]) == 11
    assert state(root) == before and not Path(root + JOURNAL).exists()
    assert during[f"{CPUFREQ}/policy1/scaling_governor"] == ["performance"]
    assert during["sys/devices/system/cpu/intel_pstate/no_turbo"] == ["1"]
    assert during["sys/kernel/mm/transparent_hugepage/enabled"] == ["never"]
    assert during["proc/sys/kernel/numa_balancing"] == ["0"]
    assert during["proc/swaps"] == [("Name", "Priority")]
    assert [unit for unit, _ in during["units"]] == ["lockscale-trial.timer", "ssh.service"]


def test_a_failed_run_is_put_back_too(root: str):
    before = state(root)
    with pytest.raises(RunFailed, match="mid-run"), prepared(Local(Path(root)), EVERYTHING, root):
        raise RunFailed("mid-run")
    assert state(root) == before


@pytest.mark.slow
def test_a_controller_killed_before_any_command_leaves_what_the_next_one_puts_back(root: str):
    before, lives, ended = state(root), 0, False
    while not ended:
        machine = Local(Path(root), lives)
        try:
            prepare(machine, EVERYTHING, root)
            ended = True
        except Dead:
            lives += 1
        put_back(Local(Path(root)), root)
        assert state(root) == before, lives
    assert lives > 11, "before each of the eleven changes"


def test_putting_back_that_is_killed_is_taken_up_again(root: str):
    before = state(root)
    for lives in (0, 4, 9):
        prepare(Local(Path(root)), EVERYTHING, root)
        with pytest.raises(Dead):
            put_back(Local(Path(root), lives), root)
        put_back(Local(Path(root)), root)
        assert state(root) == before


def test_a_second_preparation_puts_the_first_back_before(root: str):
    before = state(root)
    prepare(Local(Path(root)), EVERYTHING, root)
    said = prepare(Local(Path(root)), Preparation(thp="always"), root)
    assert said["changed"] == ["/sys/kernel/mm/transparent_hugepage/enabled = always"]
    assert said["found"]["governors"]["policy0"] == "schedutil"
    put_back(Local(Path(root)), root)
    assert state(root) == before


def test_a_reboot_undoes_by_itself(root: str):
    prepare(Local(Path(root)), Preparation(thp="never"), root)
    Path(root + BOOT_ID).write_text("boot-2\n")
    Path(root, "sys/kernel/mm/transparent_hugepage/enabled").write_text("[always] madvise never\n")
    assert put_back(Local(Path(root)), root) == [] and not Path(root + JOURNAL).exists()
    assert "[always]" in Path(root, "sys/kernel/mm/transparent_hugepage/enabled").read_text()


def test_where_the_boot_cannot_be_told_the_journal_stays(root: str):
    """As where memory has run out, swap being off: its lines are not another boot's."""
    prepare(Local(root), EVERYTHING, root)
    Path(root + BOOT_ID).rename(f"{root}/away")
    with pytest.raises(RunFailed, match="boot_id"):
        put_back(Local(root), root)
    Path(f"{root}/away").rename(root + BOOT_ID)
    assert len(put_back(Local(root), root)) > 1 and not Path(root + JOURNAL).exists()


def test_a_change_is_on_the_disk_before_it_is_made(root: str):
    folder = Path(root + JOURNAL).parent
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way: no line can be written\n")
    with pytest.raises(RunFailed, match="did not accept"):
        prepare(Local(Path(root)), Preparation(thp="never"), root)
    assert "[madvise]" in Path(root, "sys/kernel/mm/transparent_hugepage/enabled").read_text()


def test_what_is_so_already_is_not_changed(root: str):
    said = prepare(Local(Path(root)), Preparation(thp="madvise", governor=None, turbo=True), root)
    assert said["changed"] == [] and not Path(root + JOURNAL).exists()


def test_the_line_of_a_change_is_synced_before_it_is_made(root: str):
    thp = f"{root}/sys/kernel/mm/transparent_hugepage/enabled"
    Path(root, "bin/sync").write_text(f'#!/bin/sh\necho "$1 $(cat {thp})" >> {root}/synced\n')
    Path(root, "bin/sync").chmod(0o755)
    prepare(Local(Path(root)), Preparation(thp="never"), root)
    assert Path(root, "synced").read_text().splitlines()[0] == f"{root}{JOURNAL} always [madvise] never"


def test_of_two_changes_of_one_setting_the_first_ones_old_value_is_put_back(root: str):
    """The last change is undone first."""
    target = "/sys/kernel/mm/transparent_hugepage/enabled"
    lines = [SettingChange("file", target, old, "").line("boot-1") for old in ("madvise", "always")]
    Path(root + JOURNAL).parent.mkdir(parents=True)
    Path(root + JOURNAL).write_text("".join(f"{line}\n" for line in lines))
    assert put_back(Local(Path(root)), root) == [f"{target} = always", f"{target} = madvise"]
    assert Path(root + target).read_text() == "madvise"


def test_a_torn_last_line_stands_for_a_change_that_was_not_made(root: str):
    prepare(Local(Path(root)), Preparation(thp="never"), root)
    with Path(root + JOURNAL).open("a") as stream:
        stream.write("boot-1\tfile\t/proc/sys/kern")
    assert len(put_back(Local(Path(root)), root)) == 1


def test_a_setting_that_does_not_hold_is_told(root: str):
    Path(root, "bin/systemctl").write_text(SYSTEMCTL.replace("cp kept units", "true"))
    with pytest.raises(RunFailed, match="without an error, but did not change it"):
        prepare(Local(Path(root)), Preparation(timers="stop"), root)


def test_what_cannot_be_put_back_stays_in_the_journal(root: str):
    prepare(Local(Path(root)), EVERYTHING, root)
    boot_id = Path(root, "bin/swapon").read_text()
    Path(root, "bin/swapon").write_text("#!/bin/sh\necho no such device >&2; exit 1\n")
    with pytest.raises(RunFailed, match=r"/dev/sda3 \(no such device\)"):
        put_back(Local(Path(root)), root)
    Path(root, "bin/swapon").write_text(boot_id)
    assert len(put_back(Local(Path(root)), root)) == 11


def test_a_governor_that_a_policy_lacks_is_refused_before_any_change(root: str):
    before = state(root)
    with pytest.raises(BadInput, match="policy0 has no governor powersave"):
        prepare(Local(Path(root)), Preparation(governor="powersave", thp="never"), root)
    assert state(root) == before


@pytest.mark.parametrize(
    "asked",
    [{"governor": "a b"}, {"governor": "$(reboot)"}, {"governor": "x\n"}, {"governor": "../x"}, {"thp": "on"},
     {"swap": True}, {"turbo": "no; reboot"}, {"timers": "mask"}, {"numa": False}, {"irqbalance": "off"}],
)  # fmt: skip
def test_a_hostile_or_unknown_wish_is_refused(asked: dict[str, Any]):
    with pytest.raises(pydantic.ValidationError):
        Preparation.model_validate(asked)


@pytest.mark.parametrize(
    "line",
    ["boot-1\tfile\t/etc/passwd\troot", "boot-1\tunit\tssh.service --force\tactive",
     "boot-1\tunit\t-H.timer\tactive", "boot-1\tunit\tlockscale-x.timer\tactive",
     "boot-1\tswap\t/dev/../etc/x\t1", "boot-1\tswap\t/dev/a b\t1", "boot-1\tswap\t/dev/sda2\t1 -a",
     "boot-1\tfile\t/sys/kernel/mm/transparent_hugepage/enabled\t$(reboot)",
     "boot-1\trun\treboot\tx", "boot-1", ""],
)  # fmt: skip
def test_a_journal_line_that_is_not_ours_runs_nothing(root: str, line: str):
    path = Path(root + JOURNAL)
    path.parent.mkdir(parents=True)
    path.write_text(f"boot-1\tfile\t/proc/sys/kernel/numa_balancing\t7\n{line}\n")
    with pytest.raises(RunFailed, match="did not write"):
        put_back(Local(Path(root)), root)
    assert Path(root, "proc/sys/kernel/numa_balancing").read_text() == "1\n" and path.exists()


@given(st.sampled_from(["file", "swap", "unit"]), st.text(max_size=30), st.text(max_size=8))
def test_a_line_that_is_written_is_read_as_the_same_change(kind: str, target: str, old: str):
    change = SettingChange(kind, target, old, "")
    try:
        line = change.line("boot-1")
    except BadInput:
        return
    assert of_line(line + "\n") == ("boot-1", change)
    assert "\n" not in line and " " not in line
