# SPDX-License-Identifier: MIT
"""Whether a kernel's configuration covers the server it is for, told before anything is installed."""

import functools
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lockscale.errors import printable
from lockscale.kernels.build import build_folder
from lockscale.kernels.config import read_config
from lockscale.kernels.server_config import Device, Driver, ServerConfig, ServerFacts
from lockscale.kernels.source import find_source, version_in

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
NEEDED, UNKNOWN = True, False
Finding = tuple[bool, str]
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


@dataclass(frozen=True)
class _Config:
    values: Mapping[str, str]
    options_of: OptionsOf

    def on(self, option: str) -> bool:
        return self.values.get(option) in ("y", "m")

    def built_in(self, options: Iterable[str]) -> bool:
        return any(self.values.get(option) == "y" for option in options)


def check_coverage(
    facts: ServerFacts, config: ServerConfig, watchdog: str | None = None, source: str | None = None
) -> Coverage:
    """`coverage` of a configuration in the tree that its kernel is built from."""
    with build_folder(find_source(source)) as (tree, room):
        return coverage(facts, config.text, options_of_modules(tree), version_in(room), watchdog)


def coverage(
    facts: ServerFacts, config: str, options_of: OptionsOf, version: str, watchdog: str | None = None
) -> Coverage:
    """What `config`, a .config of Linux `version`, lacks for the server to start and to be reached.

    options_of: module -> options, of the tree that is built (module_options). watchdog: the module of
    the watchdog that the boot guard relies on.
    """
    has = _Config(read_config(config), options_of)
    found = [
        *_boot(facts, has),
        *_package(facts),
        *_consoles(facts, has),
        *_root(facts, has, version),
        *_mounted(facts, has, version),
        *_network(facts, has, version),
        *_guard(watchdog, has, version),
    ]
    return Coverage(_sentences(NEEDED, found), _sentences(UNKNOWN, found))


def _sentences(wanted: bool, found: list[Finding]) -> tuple[str, ...]:
    """Each once; what the server said of itself must not steer a terminal."""
    said = dict.fromkeys(sentence for needed, sentence in found if needed is wanted)
    return tuple(printable(sentence, LONGEST) for sentence in said)


def _boot(facts: ServerFacts, has: _Config) -> Iterator[Finding]:
    """What the firmware and the boot loader ask for, and what the first program finds."""
    yield from _option("CONFIG_DEVTMPFS", "udev on the server", has)
    if facts.efi:
        yield from _option("CONFIG_EFI_STUB", "the server is started by EFI and", has)
        if facts.secure_boot is None:
            yield UNKNOWN, "whether Secure Boot is on cannot be read: a kernel of ours is unsigned"
    if facts.secure_boot:
        yield NEEDED, "Secure Boot is on, and a kernel of ours is unsigned: turn it off in the firmware"
    if _initrd_names_root(facts) and not facts.has_initrd:
        yield NEEDED, f"root={facts.asked_root} needs an initrd, and the running kernel has none in /boot"
    elif facts.has_initrd:
        yield from _option("CONFIG_BLK_DEV_INITRD", "the server starts with an initrd, which", has)


def _initrd_names_root(facts: ServerFacts) -> bool:
    return facts.asked_root.startswith(NAMED_BY_INITRD)


def _package(facts: ServerFacts) -> Iterator[Finding]:
    if not facts.package_architecture:
        yield NEEDED, "the server has no dpkg, and the kernel comes as a Debian package"
    elif facts.package_architecture != "amd64" or facts.architecture != "x86_64":
        machine = f"{facts.architecture} with packages for {facts.package_architecture}"
        yield NEEDED, f"the server is {machine}, and kernels are built for x86_64 alone"


def _consoles(facts: ServerFacts, has: _Config) -> Iterator[Finding]:
    for console in facts.consoles:
        option = next((SERIAL[kind] for kind in SERIAL if console.startswith(kind)), None)
        if option:
            yield from _option(option, f"the server's console {console}", has)
    if not facts.consoles:
        yield UNKNOWN, "the server's console is not known: if a kernel panics, nobody may see why"


def _option(option: str, what: str, has: _Config) -> Iterator[Finding]:
    if not has.on(option):
        yield NEEDED, f"{what} needs {option}, which the configuration has not"


def _root(facts: ServerFacts, has: _Config, version: str) -> Iterator[Finding]:
    """Everything between the boot loader and the root file system."""
    early = not facts.has_initrd
    if not facts.disks:
        yield UNKNOWN, f"which disk holds the server's root ({facts.root}) is not known"
    for disk in facts.disks:
        yield from _device(disk, "root disk", has, version, early)
    if "part" in facts.layers:
        yield from _tables(facts, has)
    for layer in facts.layers:
        if layer not in LAYERS:
            yield UNKNOWN, f"which module makes the layer {layer} under the server's root is not known"
        elif LAYERS[layer]:
            yield from _module(
                LAYERS[layer], f"the layer {layer} under the server's root", has, version, early
            )
    for kind in facts.file_systems[:1]:
        yield from _module(_module_of(kind), f"the root file system ({kind})", has, version, early)
    if not facts.file_systems:
        yield UNKNOWN, f"the file system of the server's root ({facts.root}) is not known"


def _tables(facts: ServerFacts, has: _Config) -> Iterator[Finding]:
    for table in facts.partition_tables or ("",):
        if table in TABLES:
            yield from _option(TABLES[table], f"the partition table ({table}) of the root disk", has)
        else:
            yield UNKNOWN, f"which option reads the partition table ({table}) of the root disk is not known"


def _module_of(file_system: str) -> str:
    kind = file_system.partition(".")[0]  # fuse.sshfs
    return FILE_SYSTEM_MODULES.get(kind, kind)


def _mounted(facts: ServerFacts, has: _Config, version: str) -> Iterator[Finding]:
    """A file system of fstab that cannot be mounted stops systemd on its way to ssh."""
    for kind in facts.file_systems[1:]:
        if _module_of(kind) in has.options_of:
            yield from _module(_module_of(kind), f"a file system that is mounted ({kind})", has, version)
        else:
            yield UNKNOWN, f"{kind} is mounted and no part of Linux {version}: can the server do without it?"


def _network(facts: ServerFacts, has: _Config, version: str) -> Iterator[Finding]:
    if not facts.network:
        yield UNKNOWN, "through which network interface the server is reached is not known"
    for card in facts.network:
        yield from _device(card, "network interface", has, version)
    for layer in facts.network_layers:
        if layer in NETWORK_LAYERS:
            yield from _module(NETWORK_LAYERS[layer], f"the server's {layer} interface", has, version)
        else:
            yield UNKNOWN, f"which module makes the server's interface of kind {layer!a} is not known"


def _guard(watchdog: str | None, has: _Config, version: str) -> Iterator[Finding]:
    if watchdog:
        yield from _module(watchdog, "the watchdog that guards the boot", has, version)


def _device(device: Device, what: str, has: _Config, version: str, early: bool = False) -> Iterator[Finding]:
    if not device.drivers:
        yield UNKNOWN, f"the driver of the {what} {device.name} is not known: look whether it is on"
    for driver in device.drivers:
        yield from _driver(driver, f"the {what} {device.name}", has, version, early)


def _driver(driver: Driver, what: str, has: _Config, version: str, early: bool) -> Iterator[Finding]:
    name = driver.module or driver.name.replace("-", "_")
    if not driver.module and driver.name in BUILT_IN:
        yield from _option(BUILT_IN[driver.name], what, has)
    elif driver.module or name in has.options_of:
        yield from _module(name, what, has, version, early)
    else:
        yield (
            UNKNOWN,
            f"{what} has the driver {driver.name!a}, built into the server's kernel: its option is not known",
        )


def _module(name: str, what: str, has: _Config, version: str, early: bool = False) -> Iterator[Finding]:
    """`early`: it must be built in, because no initrd could bring it."""
    options = sorted(has.options_of.get(name, ()))
    if not options:
        yield NEEDED, f"{what} needs the module {name!a}, which is no part of Linux {version}"
    elif not any(has.on(option) for option in options):
        yield NEEDED, f"{what} needs {name} ({' or '.join(options)}), which the configuration has not"
    elif early and not has.built_in(options):
        yield NEEDED, f"{what} needs {name} built in ({options[0]}=y): the server starts without an initrd"
