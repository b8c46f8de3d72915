# SPDX-License-Identifier: MIT
"""What came of a kernel on trial is one sentence, from what the server says afterwards."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.boot_watchdog import ASKED, I6300esb, NoWatchdog
from lockscale.machines.server_boot import UNLOAD_KEXEC, boot_once, go_home
from machines.told_server import NEW, OLD, SOUND, ToldServer

GUARD = I6300esb(timeout_s=120)
TRIAL_COMMAND_LINE = "root=/dev/vda1 ro panic=10 lockscale.trial"
NOTES = "04000000 14000000 03000000 474e5500" + "ab" * 20  # one GNU build-id note (elf(5), Nhdr)


@dataclass(frozen=True)
class Built:
    release: str = NEW
    build_id: str = "ab" * 20


READY = SOUND | {
    f"grub-reboot lockscale-trial-{NEW}": "",
    "grub-editenv - list": f"saved_entry=old\nnext_entry=lockscale-trial-{NEW}\n",
    "sync": "",
    "date +%s": "1000\n",
    "mkdir -p /var/lib/lockscale": "",
    "systemctl daemon-reload": "",
    "systemd-run --quiet --on-active=1s --timer-property=AccuracySec=100ms systemctl reboot": "",
    "sh -c grep -lsx 0x25ab /sys/bus/pci/devices/*/device": "/sys/bus/pci/devices/0000:00:04.0/device\n",
    f"grep -sE ^CONFIG_I6300ESB_WDT=[ym]$ /boot/config-{NEW}": "CONFIG_I6300ESB_WDT=y\n",
}
ON_TRIAL = {
    "grub-editenv - list": "saved_entry=old\n",
    "cat /proc/cmdline": f"{TRIAL_COMMAND_LINE}\n",
    "uname -r": f"{NEW}\n",
    "od -A n -v -t x1 /sys/kernel/notes": f" {NOTES}\n",
    "systemctl is-active lockscale-trial.timer": "active\n",
    "systemctl start lockscale-home.timer": "",
    "systemctl is-active lockscale-home.timer": "active\n",
    "systemctl stop lockscale-trial.timer": "",
}
HOME = {
    "grub-editenv - list": "saved_entry=old\nnext_entry=\n",  # GRUB empties what it took
    "cat /proc/cmdline": "root=UUID=A ro\n",
    "uname -r": f"{OLD}\n",
    "cat /var/lib/lockscale/trial": "asked\n",
    "grep ^btime /proc/stat": "btime 1040\n",
}


def test_the_right_kernel_is_asserted_confirmed_and_left_again():
    server = ToldServer(READY, [ON_TRIAL, HOME])
    assert boot_once(server, Built(), GUARD, 60) == "ab" * 20
    assert server.asked[-1] == "systemctl stop lockscale-trial.timer"
    go_home(server, 60)
    assert server.booted == 2
    go_home(server, 60)
    assert server.booted == 2


@pytest.mark.parametrize(
    ("loaded", "note", "is_unloaded"),
    [("1", "asked", True), ("0", "asked", False), ("1", "user-space", False)],
)
def test_a_kernel_that_was_loaded_for_a_trial_that_never_began_is_not_started_by_the_next_reboot(
    tmp_path: Path, loaded: str, note: str, is_unloaded: bool
):
    server = ToldServer(READY | HOME)
    go_home(server, 60)
    assert any(line.startswith(f"sh -c {UNLOAD_KEXEC}") for line in server.asked) and server.booted == 0
    script = UNLOAD_KEXEC.replace("/sys/kernel/kexec_loaded", str(tmp_path / "loaded"))
    (tmp_path / "loaded").write_text(f"{loaded}\n")
    (tmp_path / "note").write_text(f"{note}\n")
    (tmp_path / "kexec").write_text(f'#!/bin/sh\necho "$*" > {tmp_path}/asked\n')
    (tmp_path / "kexec").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", script, "sh", ASKED, str(tmp_path / "note")], env=env, check=False)
    assert (tmp_path / "asked").exists() == is_unloaded


@pytest.mark.parametrize(
    "said, sentence",
    [
        ({}, f"Linux {NEW} panicked before user space: it reset the server 40 s after"),
        ({"cat /var/lib/lockscale/trial": "user-space\n"}, f"Linux {NEW} panicked in user space"),
        (
            {"cat /var/lib/lockscale/trial": "unreached\n"},
            "could not be reached over the network within 60 s",
        ),
        ({"grep ^btime /proc/stat": "btime 1130\n"}, "hangs before user space: the guard reset it, 130 s"),
        (
            {
                "grub-editenv - list": f"next_entry=lockscale-trial-{NEW}\n",
                "grub-editenv - unset next_entry": "",
            },
            "was never started: the reboot bypassed GRUB",
        ),
    ],
    ids=["panic", "panic in user space", "no network", "hang", "bypassed GRUB"],
)
def test_a_kernel_that_nobody_reached_is_named(said: dict[str, str], sentence: str):
    server = ToldServer(READY, [HOME | said])
    with pytest.raises(RunFailed) as failed:
        boot_once(server, Built(), GUARD, 60)
    assert sentence in str(failed.value)
    assert str(failed.value).endswith(f"; the server is back on Linux {OLD}")


@pytest.mark.parametrize(
    "built, sentence",
    [
        (Built(build_id="cd" * 20), "build-id abab"),
        (Built(build_id="ab" * 19 + "ac"), "build-id abab"),
        (Built(release=f"{NEW}-other"), f"runs Linux {NEW}"),
    ],
)
def test_the_wrong_kernel_is_named_and_left(built: Built, sentence: str):
    more = {
        f"grub-reboot lockscale-trial-{built.release}": "",
        "grub-editenv - list": f"saved_entry=old\nnext_entry=lockscale-trial-{built.release}\n",
        "cat /boot/grub/grub.cfg": SOUND["cat /boot/grub/grub.cfg"].replace(NEW, built.release),
    }
    server = ToldServer(READY | more, [ON_TRIAL, HOME])
    with pytest.raises(RunFailed, match=sentence) as failed:
        boot_once(server, built, NoWatchdog(), 60)
    assert str(failed.value).endswith(f"; the server is back on Linux {OLD}")
    assert server.booted == 2


def test_a_hang_without_a_guard_says_what_to_do():
    with pytest.raises(RunFailed, match=f"power-cycle it, and it boots Linux {OLD}"):
        boot_once(ToldServer(READY), Built(), NoWatchdog(), 60)


def test_a_guard_that_cannot_guard_and_the_default_kernel_are_refused():
    without_driver = {key: text for key, text in READY.items() if "I6300ESB" not in key}
    with pytest.raises(BadInput, match="lacks the watchdog's driver"):
        boot_once(ToldServer(without_driver), Built(), GUARD, 60)
    with pytest.raises(BadInput, match="default kernel"):
        boot_once(ToldServer(READY), Built(release=OLD), NoWatchdog(), 60)
    with pytest.raises(BadInput, match="armed by GRUB"):
        boot_once(ToldServer(READY), Built(), GUARD, 60, method="kexec")


def test_grub_arms_two_equal_stages_and_locks_them():
    """120 s are two stages of 60 x 1024 counts at 1 kHz (drivers/watchdog/i6300esb.c)."""
    commands = GUARD.grub_commands
    assert "write_dword 0x${wdt}0 0xf000" in commands
    assert "write_dword 0x${wdt}4 0xf000" in commands
    assert commands[-1] == "setpci -d 8086:25ab 68.b=3"


def test_a_server_that_runs_a_kernel_of_its_own_by_hand_is_never_rebooted():
    """As after an upgrade of its default: where it would come back, it would not be as it was."""
    server = ToldServer(READY | {"uname -r": "6.1.0-57-amd64\n", "cat /proc/cmdline": "root=UUID=A ro\n"})
    for work in (lambda: go_home(server, 60), lambda: boot_once(server, Built(), NoWatchdog(), 60)):
        with pytest.raises(BadInput, match=rf"runs Linux 6\.1\.0-57-amd64, .* its default, {OLD}: reboot it"):
            work()
    assert server.booted == 0 and not server.written


def test_an_interrupt_waits_for_the_reboot_that_it_met():
    """Only a server that is reached can be taken home."""

    class Interrupted(ToldServer):
        def reconnect(self, timeout_s: float, *, after: str | None = None) -> None:
            if self.booted == 0 and "met" not in self.written:
                self.written["met"] = "an interrupt"
                raise KeyboardInterrupt
            super().reconnect(timeout_s, after=after)

    server = Interrupted(READY, [ON_TRIAL, HOME])
    with pytest.raises(KeyboardInterrupt):
        boot_once(server, Built(), NoWatchdog(), 60)
    assert server.booted == 1
    go_home(server, 60)
    assert server.booted == 2


def test_what_was_armed_and_never_rebooted_is_disarmed_on_the_way_home():
    """Else the administrator's next reboot would be the trial."""
    unset = "grub-editenv - unset next_entry"
    running = {"cat /proc/cmdline": "root=UUID=A ro\n", unset: ""}
    server = ToldServer({key: text for key, text in READY.items() if key != "date +%s"} | running)
    with pytest.raises(RunFailed, match="date"):
        boot_once(server, Built(), NoWatchdog(), 60)
    go_home(server, 60)
    assert server.asked.count(unset) == 1 and server.booted == 0


RESTART = next(line for line in READY if line.startswith("systemd-run"))


def test_what_a_load_left_is_on_the_disk_before_anything_is_armed_and_before_the_reboot():
    server = ToldServer(READY, [ON_TRIAL])
    boot_once(server, Built(), NoWatchdog(), 60)
    armed, restarted = (server.asked.index(line) for line in (f"grub-reboot lockscale-trial-{NEW}", RESTART))
    assert "sync" in server.asked[:armed] and server.asked[restarted - 1] == "sync"


def test_the_default_is_saved_by_its_name_before_a_trial():
    unsaved = READY | {
        "grub-editenv - list": f"next_entry=lockscale-trial-{NEW}\n",
        "grub-set-default old": "",
    }
    server = ToldServer(unsaved, [ON_TRIAL])
    boot_once(server, Built(), NoWatchdog(), 60)
    assert server.asked.index("grub-set-default old") < server.asked.index(RESTART)


def test_a_trial_of_the_default_kernel_itself_is_left_too():
    """It has the arguments of a trial: its timers and a panic would end it."""
    not_armed = {"grub-editenv - list": "saved_entry=old\n", "cat /proc/cmdline": f"{TRIAL_COMMAND_LINE}\n"}
    server = ToldServer(READY | not_armed, [HOME])
    go_home(server, 60)
    assert server.booted == 1


def test_a_server_that_came_back_on_neither_kernel_is_told():
    server = ToldServer(READY | ON_TRIAL, [HOME | {"uname -r": "6.6.6\n"}])
    with pytest.raises(
        RunFailed, match=f"came back on Linux 6.6.6, not on its default {OLD}: check its GRUB configuration"
    ):
        go_home(server, 60)


def test_that_ssh_answers_is_no_reboot():
    """Only another boot than the one that was asked to end counts."""
    waited: list[str | None] = []

    class Waited(ToldServer):
        def reconnect(self, timeout_s: float, *, after: str | None = None) -> None:
            waited.append(after)
            super().reconnect(timeout_s, after=after)

    server = Waited(READY, [ON_TRIAL, HOME])
    boot_once(server, Built(), NoWatchdog(), 60)
    go_home(server, 60)
    assert waited == ["0", "1"]


def test_a_trial_without_its_timer_is_left():
    server = ToldServer(READY, [{k: v for k, v in ON_TRIAL.items() if "is-active" not in k}, HOME])
    with pytest.raises(RunFailed, match=r"the trial's timer does not run .* back on Linux"):
        boot_once(server, Built(), NoWatchdog(), 60)


def test_a_trial_starts_with_what_ends_it():
    """A panic resets; both units are started by the kernel's own arguments; the timer has the boot's time."""
    server = ToldServer(READY, [ON_TRIAL])
    boot_once(server, Built(), NoWatchdog(), 77)
    (linux,) = [line for line in (server.custom or "").splitlines() if "vmlinuz" in line]
    wants = [f"systemd.wants=lockscale-trial{unit}" for unit in (".timer", "-reached.service")]
    words = linux.split()
    assert {"panic=10", "oops=panic", "hung_task_panic=1", "softlockup_panic=1", *wants} <= set(words)
    assert "OnBootSec=77s\n" in server.written["/etc/systemd/system/lockscale-trial.timer"]
