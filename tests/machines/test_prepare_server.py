# SPDX-License-Identifier: MIT
"""On a real server: its noise is read, quietened as asked, and put back, also after a power cut."""

from typing import Any

import pytest

from lockscale.machines.machine import must
from lockscale.machines.noise import read
from lockscale.machines.prepare import JOURNAL, Preparation, prepare, prepared, put_back
from lockscale.machines.ssh import SshMachine
from server.machine import Server

pytestmark = [pytest.mark.guest, pytest.mark.long]
ASKED = Preparation(thp="never", swap=False, timers="stop")
SETTINGS = ("thp", "timers", "noisy_services")


def settings(found: dict[str, Any]) -> dict[str, Any]:
    """What is compared: the next time of a timer and the load move by themselves."""
    return {**{name: found[name] for name in SETTINGS}, "swap": [row["device"] for row in found["swap"]]}


def test_noise_is_quietened_and_put_back(server: Server):
    swap = server.disks["SMALL01"].by_id
    with SshMachine(server.host) as machine:
        must(machine, ["sh", "-ec", f"mkswap -q {swap}; swapon -p 5 {swap}"])
        try:
            before = read(machine)
            assert before["governors"] is None and before["turbo"] is None, "QEMU has neither"
            assert before["thp"] in ("always", "madvise") and before["timers"] and before["next_timers"]
            assert before["swap"][0]["priority"] == 5 and before["load_1min"] is not None
            with prepared(machine, ASKED) as said:
                during = read(machine)
                assert said["found"]["thp"] == before["thp"] and len(said["changed"]) >= 3
            after = read(machine)
            assert (during["thp"], during["swap"], during["timers"]) == ("never", [], [])
            assert settings(after) == settings(before) and after["swap"][0]["priority"] == 5
            assert machine.run(["test", "-e", JOURNAL]).status == 1
        finally:
            machine.run(["sh", "-c", f"swapoff {swap}; wipefs -q -a {swap}"])


def test_after_a_power_cut_the_journal_is_void_and_the_settings_are_back(server: Server):
    with SshMachine(server.host) as machine:
        put_back(machine)
        before = read(machine)
        prepare(machine, ASKED)
        assert read(machine)["thp"] == "never"
        must(machine, ["test", "-s", JOURNAL])
    server.power_cycle()
    with SshMachine(server.host) as machine:
        assert put_back(machine) == []
        assert read(machine)["thp"] == before["thp"]
        assert machine.run(["test", "-e", JOURNAL]).status == 1
