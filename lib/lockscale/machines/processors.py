# SPDX-License-Identifier: MIT
"""Fewer processors for a while: the others are taken offline, and come back with the next boot at latest."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lockscale.errors import BadInput
from lockscale.machines.machine import Machine, Write, must, must_all

ONLINE = "/sys/devices/system/cpu/online"


def parse_cpus(text: str) -> list[int]:
    """The processors of a kernel's list, as "0-3,8". Raises BadInput for a text that is none."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text.strip(), re.ASCII):
        raise BadInput(f"the target's {ONLINE} says no list of processors")
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def online(machine: Machine) -> list[int]:
    """The numbers of the processors that run."""
    return parse_cpus(must(machine, ["cat", ONLINE]))


@contextmanager
def only(machine: Machine, cpus: int) -> Iterator[None]:
    """The first `cpus` processors run, the others are offline until the end.

    After a failure they stay offline: the machine may be gone, and a reboot brings them back. Raises
    BadInput where the machine has fewer.
    """
    running = online(machine)
    if cpus > len(running):
        raise BadInput(f"the study asks for {cpus} CPUs and the target has {len(running)}: ask for fewer")
    switches = [f"/sys/devices/system/cpu/cpu{n}/online" for n in running[cpus:]]
    must_all(machine, [*(Write(path, "0") for path in reversed(switches)), ["true"]], timeout_s=300)
    yield
    must_all(machine, [*(Write(path, "1") for path in switches), ["true"]], timeout_s=300)
