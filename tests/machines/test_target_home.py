# SPDX-License-Identifier: MIT
"""A server goes home though its controller never comes back: by itself, and by `lockscale target home`."""

import os
import re
import subprocess
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from command import Lockscale
from lockscale.errors import RunFailed
from lockscale.machines import boot_watchdog
from lockscale.machines.boot_watchdog import ALONE_MIN, HEARD, HOME_TIMER, NoWatchdog, prepare_trial
from lockscale.machines.server_boot import boot_once
from lockscale.machines.server_lock import ServerLock
from lockscale.measure import server_recovery
from lockscale.study.file import load_target
from loopback_sshd import Sshd
from machines.test_boot import HOME, ON_TRIAL, READY, Built
from machines.told_server import NEW, OLD, ToldServer, files_in_boot

START, STOP = f"systemctl start {HOME_TIMER}", f"systemctl stop {boot_watchdog.TIMER}"
STATE = f"dpkg-query --show --showformat=${{db:Status-Status}} linux-image-{NEW}"


def unit(name: str) -> str:
    """A unit as it is written on a server."""
    server = ToldServer(READY)
    prepare_trial(server, NoWatchdog(), 60)
    return server.written[f"{boot_watchdog.UNITS}/{name}"]


def test_a_trial_that_was_reached_is_never_without_a_timer_that_ends_it():
    server = ToldServer(READY, [ON_TRIAL])
    boot_once(server, Built(), NoWatchdog(), 60)
    assert server.asked.index(START) < server.asked.index(STOP) and HEARD in server.written
    for failed in (START, f"systemctl is-active {HOME_TIMER}"):
        server = ToldServer(READY, [{line: said for line, said in ON_TRIAL.items() if line != failed}, HOME])
        with pytest.raises(RunFailed, match="the server is back on Linux"):
            boot_once(server, Built(), NoWatchdog(), 60)
        assert STOP not in server.asked


@pytest.mark.parametrize(
    ("heard_min", "reboots"),
    [(0, False), (ALONE_MIN - 2, False), (ALONE_MIN + 2, True), (None, True), (-60, True)],
)
def test_a_trial_goes_home_once_its_controller_falls_silent(
    tmp_path: Path, heard_min: int | None, reboots: bool
):
    """None: a controller that ended between the two timers; -60: the server's clock was set back since."""
    said = unit("lockscale-home.service")
    assert "ConditionKernelCommandLine=lockscale.trial" in said  # never on the server's own kernel
    command = re.search(r"ExecStart=/bin/sh -c '(.*)'", said)[1].replace(HEARD, str(tmp_path / "heard"))
    if heard_min is not None:
        (tmp_path / "heard").touch()
        then_s = time.time() - 60 * heard_min
        os.utime(tmp_path / "heard", (then_s, then_s))
    (tmp_path / "systemctl").write_text(f'#!/bin/sh\necho "$*" > {tmp_path}/asked\n')
    (tmp_path / "systemctl").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", command], env=env, check=True, stderr=subprocess.DEVNULL)
    asked = tmp_path / "asked"
    assert asked.exists() == reboots and (not reboots or asked.read_text().endswith("reboot\n"))


def test_it_looks_again_and_again():
    looks = f"OnActiveSec={boot_watchdog.LOOK_S}s\nOnUnitActiveSec={boot_watchdog.LOOK_S}s"
    assert looks in unit(HOME_TIMER)


@pytest.mark.slow
def test_a_controller_that_holds_the_server_is_heard_and_no_other_file_is_made(sshd: Sshd, tmp_path: Path):
    heard, nothing = tmp_path / "heard", tmp_path / "not-on-trial"
    heard.touch()
    os.utime(heard, (0, 0))
    for file in (heard, nothing):
        lock = ServerLock(sshd.host(), None, "{}", 600, str(tmp_path), silent_s=2, heard=str(file))
        lock.take()
        time.sleep(2)
        lock.release()
    assert heard.stat().st_mtime > time.time() - 60 and not nothing.exists()


LEFT = {
    "a trial": [ON_TRIAL],
    "a trial that was reached": [ON_TRIAL | {"cat " + HEARD: ""}],
    "its own kernel": [HOME],
    "a package cut short": [
        HOME
        | {
            "ls /boot": f"vmlinuz-{NEW}\nvmlinuz-{OLD}\n",
            STATE: "half-installed",
            f"dpkg --purge --force-remove-reinstreq linux-image-{NEW}": "",
            "update-grub": "",
        }
    ],
}


@pytest.mark.parametrize("left", LEFT)
def test_target_home_brings_a_server_home_from_whatever_was_left(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, left: str
):
    (found,) = LEFT[left]
    server = ToldServer(READY | {"ls /boot": f"vmlinuz-{OLD}\n"} | found, [HOME])
    monkeypatch.setattr(server, "end_others", lambda: server.asked.append("end others"), raising=False)
    monkeypatch.setattr(server_recovery, "machine_of", lambda _: nullcontext(server))
    units = [f"{boot_watchdog.UNITS}/{name}" for name in boot_watchdog._UNITS]
    for line in (["rm", "-f", *files_in_boot(NEW)], ["rm", "-rf", f"/lib/modules/{NEW}"]):
        server.answers[" ".join(line)] = ""
    server.answers[" ".join(["rm", "-f", boot_watchdog.NOTE, *units])] = ""

    @contextmanager
    def held(*_, **__):
        yield SimpleNamespace(keep=lambda: None, take=lambda: None)

    monkeypatch.setattr(server_recovery, "server_lock", held)
    told = lockscale("target", "home", "example-server", "--json")
    assert told.status == 0, told.err
    assert told.value["release"] == OLD and server.asked[0] == "end others"
    torn = left == "a package cut short"
    assert told.value["taken_off"] == ([NEW] if torn else [])
    assert server.booted == (1 if found is ON_TRIAL or "reached" in left else 0)
    assert any(line.startswith("dpkg --purge") for line in server.asked) == torn
    assert any(line.startswith("find /var/tmp ") and line.endswith(" -delete") for line in server.asked)


def test_an_interrupt_after_which_the_server_does_not_come_home_says_both(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    """The sentence, and the log: a notebook that was interrupted hands no error on."""
    comes_home = iter([None, RunFailed("the server is off")])

    def go_home(*_: object) -> None:
        if failed := next(comes_home):
            raise failed

    quiet = nullcontext(SimpleNamespace(end_others=lambda: 0))
    for name, put in {"server_lock": lambda *_, **__: quiet, "machine_of": lambda _: quiet}.items():
        monkeypatch.setattr(server_recovery, name, put)
    monkeypatch.setattr(server_recovery, "_boot_own_kernel", go_home)
    monkeypatch.setattr(server_recovery, "refuse_other_kind", lambda *_: None)
    with (
        pytest.raises(RunFailed, match=r"^interrupted; besides, the server is off$"),
        server_recovery.on_own_kernel(load_target("example-server"), "target boot"),
    ):
        raise KeyboardInterrupt
    assert capfd.readouterr().err == "| the server is off\n"
