# SPDX-License-Identifier: MIT
"""What brings a server back from a kernel that hangs before user space could.

A panic reboots by itself, and a timer of systemd ends a boot that nobody reaches. Neither runs in a kernel
that hangs before user space: only something outside the kernel helps there. More kinds (a BMC's watchdog,
IPMI power) have to give the same five things.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from lockscale.machines.machine import Machine


class Guard(Protocol):
    """`timeout_s`: when it resets a server that does not tend it; None for never."""

    @property
    def timeout_s(self) -> int | None: ...

    def reasons_against(self, server: Machine, release: str) -> Iterator[str]:
        """Why it cannot guard the kernel `release` on this server."""
        ...

    @property
    def grub_commands(self) -> tuple[str, ...]:
        """What arms it, before GRUB starts the kernel."""
        ...

    @property
    def kernel_arguments(self) -> tuple[str, ...]:
        """What makes the kernel on trial tend it."""
        ...

    @property
    def module(self) -> str | None:
        """Its driver, which Debian's list of unwanted modules keeps from loading by itself."""
        ...


@dataclass(frozen=True)
class NoGuard:
    """Nothing: a kernel that hangs before user space waits for a person."""

    timeout_s: int | None = None
    module: str | None = None

    def reasons_against(self, server: Machine, release: str) -> Iterator[str]:
        yield from ()

    @property
    def grub_commands(self) -> tuple[str, ...]:
        return ()

    @property
    def kernel_arguments(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class I6300esb:
    """Intel 6300ESB watchdog, as QEMU has it: GRUB arms and locks it, so no kernel can disarm it.

    Registers and the unlocking sequence: drivers/watchdog/i6300esb.c. Two equal stages run one after
    the other, counted at about 1 kHz in twenty bits.
    """

    timeout_s: int = 180
    module: str = "i6300esb"

    def reasons_against(self, server: Machine, release: str) -> Iterator[str]:
        found, driver = server.run_all(
            [
                ["sh", "-c", "grep -lsx 0x25ab /sys/bus/pci/devices/*/device"],
                ["grep", "-sE", "^CONFIG_I6300ESB_WDT=[ym]$", f"/boot/config-{release}"],
            ]
        )
        if not found.stdout.strip():
            yield "the server has no i6300esb watchdog (PCI 8086:25ab): choose another guard"
        if driver.status:
            yield f"Linux {release} has no driver for it and would be reset: set CONFIG_I6300ESB_WDT"

    @property
    def grub_commands(self) -> tuple[str, ...]:
        stage = hex(self.timeout_s << 9)
        unlock = ("write_word 0x${wdt}c 0x80", "write_word 0x${wdt}c 0x86")
        return (
            "insmod setpci",
            "insmod memrw",
            "insmod regexp",
            "setpci -d 8086:25ab -v bar 10.l",
            # GRUB cannot add: the registers lie in sixteen bytes, so the last digit is free.
            "regexp --set 1:wdt '^(.*)0$' $bar",
            "setpci -d 8086:25ab 60.w=3",
            *unlock,
            f"write_dword 0x${{wdt}}0 {stage}",
            *unlock,
            f"write_dword 0x${{wdt}}4 {stage}",
            *unlock,
            "write_word 0x${wdt}c 0x300",
            "setpci -d 8086:25ab 68.b=3",
        )

    @property
    def kernel_arguments(self) -> tuple[str, ...]:
        # The driver sets the timer anew when it loads, by default to 30 s (esb_initdevice).
        return (f"i6300esb.heartbeat={self.timeout_s}", f"systemd.watchdog_sec={self.timeout_s // 2}")
