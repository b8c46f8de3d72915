# SPDX-License-Identifier: MIT
"""What a server says of itself, as far as its kernel's configuration depends on it."""

import re
from dataclasses import dataclass

MODULE = re.compile(r"^(\w+)\b", re.ASCII | re.MULTILINE)


@dataclass(frozen=True)
class Driver:
    """A driver as sysfs names it; `module` is empty when it is built into the server's kernel."""

    name: str
    module: str = ""


@dataclass(frozen=True)
class Device:
    """A disk, network interface or watchdog, and the drivers from it up to its bus.

    No drivers: sysfs does not say, as for a device that another one stands for.
    """

    name: str
    drivers: tuple[Driver, ...] = ()


@dataclass(frozen=True)
class ServerFacts:
    """One server, while its own kernel runs.

    release, architecture: of uname. config: its /boot/config-<release>. lsmod: lines whose first word
    is a loaded module. root: what is mounted at /. asked_root: the root= of the kernel's command line.
    layers: the kinds of block device between root's file system and its disks (part, lvm, crypt, raid1),
    as lsblk calls them. file_systems: of everything mounted from a device, root's first. network_layers:
    bond, vlan, bridge. consoles: as /sys/class/tty/console/active lists them. secure_boot: None when it
    cannot be read. package_architecture: of dpkg; empty where there is none.
    """

    release: str
    architecture: str
    config: str
    lsmod: str
    root: str
    asked_root: str
    layers: tuple[str, ...]
    partition_tables: tuple[str, ...]
    disks: tuple[Device, ...]
    file_systems: tuple[str, ...]
    network: tuple[Device, ...]
    network_layers: tuple[str, ...]
    efi: bool
    secure_boot: bool | None
    has_initrd: bool
    consoles: tuple[str, ...]
    watchdogs: tuple[Device, ...]
    package_architecture: str

    @property
    def modules(self) -> tuple[str, ...]:
        """The loaded modules, each once and in order of name."""
        return tuple(sorted(set(MODULE.findall(self.lsmod)) - {"Module"}))
