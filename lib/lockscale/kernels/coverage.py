# SPDX-License-Identifier: MIT
"""Whether a kernel's configuration covers the server it is for, told before anything is installed."""

import functools
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lockscale.errors import printable
from lockscale.kernels.build import build_folder
from lockscale.kernels.config import read_config
from lockscale.kernels.server_config import Device, Driver, ServerConfig, ServerFacts
from lockscale.kernels.source import Source, find_source, version_in

GIVES = re.compile(r"^obj-\$\((CONFIG_\w+)(?::m=y)?\)[ \t]*[:+]?=(.*)$", re.MULTILINE)


@functools.cache
def options_of_modules(tree: Path) -> Mapping[str, frozenset[str]]:
    """Module as sysfs spells it -> the options of which any one gives it. Once per process: seconds."""
    found: dict[str, set[str]] = defaultdict(set)
    for folder, _, files in os.walk(tree):
        for name in {"Makefile", "Kbuild"} & set(files):
            for module, option in modules_in(Path(folder, name).read_text(errors="replace")):
                found[module].add(option)
    return {module: frozenset(options) for module, options in found.items()}


def modules_in(makefile: str) -> list[tuple[str, str]]:
    """(module, option) of each `obj-$(CONFIG_X) += name.o`."""
    lines = GIVES.findall(makefile.replace("\\\n", " "))
    return [
        (word.removesuffix(".o").replace("-", "_"), option)
        for option, words in lines
        for word in words.split()
        if word.endswith(".o") and "/" not in word
    ]


OptionsOf = Mapping[str, frozenset[str]]
LONGEST = 300  # characters of a sentence

# Drivers that no Makefile knows by the name that sysfs gives them, where no module is named.
BUILT_IN = {"pcieport": "CONFIG_PCIEPORTBUS", "sd": "CONFIG_BLK_DEV_SD"}
TABLES = {"dos": "CONFIG_MSDOS_PARTITION", "gpt": "CONFIG_EFI_PARTITION"}
# Kinds of block device and of network interface -> the module behind them. What stands for itself has none.
LAYERS = {
    "part": "", "disk": "", "lvm": "dm_mod", "dm": "dm_mod", "crypt": "dm_crypt", "mpath": "dm_multipath",
    "linear": "linear", "raid0": "raid0", "raid1": "raid1", "raid10": "raid10", "raid4": "raid456",
    "raid5": "raid456", "raid6": "raid456",
}  # fmt: skip
NETWORK_LAYERS = {"bond": "bonding", "vlan": "8021q", "bridge": "bridge", "team": "team"}
FILE_SYSTEM_MODULES = {"ext2": "ext4", "ext3": "ext4", "fuseblk": "fuse", "nfs4": "nfs"}
SERIAL = {
    "ttyS": "CONFIG_SERIAL_8250_CONSOLE",
    "hvc": "CONFIG_HVC_DRIVER",
    "ttyAMA": "CONFIG_SERIAL_AMBA_PL011_CONSOLE",
}
NAMED_BY_INITRD = ("UUID=", "LABEL=", "/dev/mapper/", "/dev/disk/", "/dev/md", "ZFS=", "zfs")


@dataclass(frozen=True)
class Coverage:
    """lacks: one sentence for each thing that would keep the server from coming back. not_known: what
    could not be found out, so that a person has to look."""

    lacks: tuple[str, ...]
    not_known: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.lacks


def check_coverage(
    facts: ServerFacts,
    config: ServerConfig,
    watchdog: str | None = None,
    source: Source | None = None,
) -> Coverage:
    """`coverage` of a configuration in the tree that its kernel is built from."""
    with build_folder(source or find_source()) as (tree, room):
        return coverage(facts, config.text, options_of_modules(tree), version_in(room), watchdog)


def coverage(
    facts: ServerFacts, config: str, options_of: OptionsOf, version: str, watchdog: str | None = None
) -> Coverage:
    """What `config`, a .config of Linux `version`, lacks for the server to start and to be reached.

    options_of: module -> options, of the tree that is built (options_of_modules). watchdog: the module of
    the watchdog that the boot guard relies on.
    """
    look = _Look(facts, read_config(config), options_of, version)
    look.at_boot()
    look.at_package()
    look.at_consoles()
    look.at_root()
    look.at_mounts()
    look.at_network()
    if watchdog:
        look.module(watchdog, "the watchdog that guards the boot")
    # Each once; what the server said of itself must not steer a terminal.
    lacks, unknown = (
        tuple(printable(one, LONGEST) for one in dict.fromkeys(said)) for said in (look.lacks, look.unknown)
    )
    return Coverage(lacks, unknown)


class _Look:
    """A server beside a configuration; the sentences of a Coverage as they are found."""

    def __init__(
        self, facts: ServerFacts, values: Mapping[str, str], options_of: OptionsOf, version: str
    ) -> None:
        self.facts, self.values, self.options_of = facts, values, options_of
        self.linux = f"Linux {version}"
        self.lacks: list[str] = []
        self.unknown: list[str] = []

    def option(self, option: str, what: str) -> None:
        if self.values.get(option) not in ("y", "m"):
            self.lacks.append(f"{what} needs {option}, which the configuration lacks")

    def module(self, name: str, what: str, early: bool = False) -> None:
        """`early`: it must be built in, because no initrd could bring it."""
        options = sorted(self.options_of.get(name, ()))
        values = {self.values.get(option) for option in options}
        if not options:
            self.lacks.append(f"{what} needs the module {name!a}, which is not part of {self.linux}")
        elif not values & {"y", "m"}:
            asked = " or ".join(options)
            self.lacks.append(f"{what} needs {name} ({asked}), which the configuration lacks")
        elif early and "y" not in values:
            built_in = f"{name} built in ({options[0]}=y)"
            self.lacks.append(f"{what} needs {built_in}: the server starts without an initrd")

    def device(self, device: Device, what: str, early: bool = False) -> None:
        if not device.drivers:
            self.unknown.append(f"the driver of the {what} {device.name} is not known: check that it is on")
        for driver in device.drivers:
            self._driver(driver, f"the {what} {device.name}", early)

    def _driver(self, driver: Driver, what: str, early: bool) -> None:
        name = driver.module or driver.name.replace("-", "_")
        if not driver.module and driver.name in BUILT_IN:
            self.option(BUILT_IN[driver.name], what)
        elif driver.module or name in self.options_of:
            self.module(name, what, early)
        else:
            built_in = f"the driver {driver.name!a}, built into the server's kernel"
            self.unknown.append(f"{what} has {built_in}: its option is not known")

    def at_boot(self) -> None:
        """What the firmware and the boot loader ask for, and what the first program finds."""
        facts = self.facts
        self.option("CONFIG_DEVTMPFS", "udev on the server")
        if facts.efi:
            self.option("CONFIG_EFI_STUB", "the server is started by EFI and")
            if facts.secure_boot is None:
                self.unknown.append("whether Secure Boot is on cannot be read: a kernel of ours is unsigned")
        if facts.secure_boot:
            self.lacks.append(
                "Secure Boot is on, and a kernel of ours is unsigned: turn it off in the firmware"
            )
        if facts.has_initrd:
            self.option("CONFIG_BLK_DEV_INITRD", "the server starts with an initrd, which")
        elif facts.asked_root.startswith(NAMED_BY_INITRD):
            self.lacks.append(
                f"root={facts.asked_root} needs an initrd, and the running kernel has none in /boot"
            )

    def at_package(self) -> None:
        packages, machine = self.facts.package_architecture, self.facts.architecture
        if not packages:
            self.lacks.append("the server has no dpkg, and the kernel comes as a Debian package")
        elif packages != "amd64" or machine != "x86_64":
            what = f"{machine} with packages for {packages}"
            self.lacks.append(f"the server is {what}, and kernels are built for x86_64 only")

    def at_consoles(self) -> None:
        for console in self.facts.consoles:
            for kind, option in SERIAL.items():
                if console.startswith(kind):
                    self.option(option, f"the server's console {console}")
        if not self.facts.consoles:
            self.unknown.append(
                "the server's console is not known: if a kernel panics, its messages may be lost"
            )

    def at_root(self) -> None:
        """Everything between the boot loader and the root file system."""
        facts, early = self.facts, not self.facts.has_initrd
        if not facts.disks:
            self.unknown.append(f"the disk of the server's root ({facts.root}) is not known")
        for disk in facts.disks:
            self.device(disk, "root disk", early)
        for table in (facts.partition_tables or ("",)) if "part" in facts.layers else ():
            what = f"the partition table ({table}) of the root disk"
            if table in TABLES:
                self.option(TABLES[table], what)
            else:
                self.unknown.append(f"the option for {what} is not known")
        for layer in facts.layers:
            what = f"the layer {layer} under the server's root"
            if layer not in LAYERS:
                self.unknown.append(f"the module of {what} is not known")
            elif LAYERS[layer]:
                self.module(LAYERS[layer], what, early)
        for kind in facts.file_systems[:1]:
            self.module(_module_of(kind), f"the root file system ({kind})", early)
        if not facts.file_systems:
            self.unknown.append(f"the file system of the server's root ({facts.root}) is not known")

    def at_mounts(self) -> None:
        """A file system of fstab that cannot be mounted stops systemd on its way to ssh."""
        for kind in self.facts.file_systems[1:]:
            if _module_of(kind) in self.options_of:
                self.module(_module_of(kind), f"a file system that is mounted ({kind})")
            else:
                no_part = f"{kind} is mounted and not part of {self.linux}"
                self.unknown.append(f"{no_part}: can the server do without it?")

    def at_network(self) -> None:
        if not self.facts.network:
            self.unknown.append("the network interface through which the server is reached is not known")
        for card in self.facts.network:
            self.device(card, "network interface")
        for layer in self.facts.network_layers:
            if layer in NETWORK_LAYERS:
                self.module(NETWORK_LAYERS[layer], f"the server's {layer} interface")
            else:
                self.unknown.append(f"the module of the server's interface of kind {layer!a} is not known")


def _module_of(file_system: str) -> str:
    kind = file_system.partition(".")[0]  # fuse.sshfs
    return FILE_SYSTEM_MODULES.get(kind, kind)
