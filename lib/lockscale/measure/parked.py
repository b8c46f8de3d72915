# SPDX-License-Identifier: MIT
"""Writes that patch kernel text, safe on an emulated machine too."""

from collections.abc import Sequence

from lockscale.machines.machine import Machine, Step, Write


def alone(machine: Machine, cpus: int, writes: Sequence[tuple[str, str]]) -> list[Step]:
    """`writes` that patch kernel text, on an emulated machine with every processor but one parked.

    Patching a traced function while another TCG processor runs it ended guests in "int3" panics
    (seen with QEMU 7.2, thread=multi); with one processor running, 300 of 300 toggles went well.
    """
    path = "/sys/devices/system/cpu/cpu{}/online"
    parked = [path.format(cpu) for cpu in range(1, cpus)] if machine.emulated else []
    return [
        *(Write(path, "0") for path in parked),
        *(Write(path, value) for path, value in writes),
        *(Write(path, "1") for path in parked),
    ]
