# SPDX-License-Identifier: MIT
"""Ask a server for what its kernel's configuration depends on. Nothing on it is changed."""

from collections.abc import Iterable, Mapping

from lockscale.errors import BadInput
from lockscale.kernels.server_config import Device, ServerFacts
from lockscale.machines.machine import Machine, must_all
from lockscale.machines.server_devices import Block, below_root, devices_of, interfaces, mounts_in, said
from lockscale.machines.server_kernels import OURS

EFI_VARIABLES = "/sys/firmware/efi/efivars"
SECURE_BOOT = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
CONSOLES = "/sys/class/tty/console/active"
BLOCK, NET, WATCHDOG = "/sys/class/block/", "/sys/class/net/", "/sys/class/watchdog/"


def server_facts(machine: Machine) -> ServerFacts:
    """The facts of a server whose own kernel runs; BadInput when that keeps no configuration."""
    steps = [["uname", "-r"], ["uname", "-m"], ["cat", "/proc/cmdline"]]
    release, architecture, cmdline = (one.stdout.strip() for one in must_all(machine, steps))
    if OURS.fullmatch(release):
        raise BadInput(f"the server runs {release!a}, a kernel of ours: start its own first")
    root, file_systems = mounts_in(said(machine, ["findmnt", "--json", "--real", "--nofsroot"]))
    blocks = below_root(machine, root)
    cards, network_layers = interfaces(machine)
    devices = _devices(machine, [one.name for one in blocks if one.is_disk], cards)
    return ServerFacts(
        release=release,
        architecture=architecture,
        config=_config(machine, release),
        lsmod=said(machine, ["cat", "/proc/modules"]),  # there is none in a kernel without modules
        root=root,
        asked_root=_asked_root(cmdline),
        layers=_unique(one.type for one in blocks if not one.is_disk),
        partition_tables=_tables(blocks),
        disks=devices[BLOCK],
        file_systems=file_systems,
        network=devices[NET],
        network_layers=network_layers,
        efi=machine.run(["test", "-d", "/sys/firmware/efi"]).status == 0,
        secure_boot=_secure_boot(machine),
        has_initrd=_has_initrd(machine, release),
        consoles=tuple(said(machine, ["cat", CONSOLES]).split()),
        watchdogs=devices[WATCHDOG],
        package_architecture=said(machine, ["dpkg", "--print-architecture"]).strip(),
    )


def _devices(machine: Machine, disks: list[str], cards: list[str]) -> Mapping[str, tuple[Device, ...]]:
    """The devices of each class, asked for in one go."""
    watchdogs = said(machine, ["ls", WATCHDOG]).split()
    asked = {BLOCK: disks, NET: cards, WATCHDOG: watchdogs}
    paths = [folder + name for folder, names in asked.items() for name in names]
    found = dict(zip(paths, devices_of(machine, paths), strict=True))
    return {folder: tuple(found[folder + name] for name in names) for folder, names in asked.items()}


def _config(machine: Machine, release: str) -> str:
    places = [["cat", f"/boot/config-{release}"], ["cat", f"/lib/modules/{release}/config"]]
    for argv in [*places, ["zcat", "/proc/config.gz"]]:
        if text := said(machine, argv):
            return text
    raise BadInput(
        f"the server keeps no configuration of its Linux {release!a}, neither in /boot/config-* nor in "
        "/proc/config.gz: install its kernel's own package again"
    )


def _asked_root(cmdline: str) -> str:
    """The last root= of a kernel's command line, as the kernel takes it."""
    asked = [word.removeprefix("root=") for word in cmdline.split() if word.startswith("root=")]
    return asked[-1].strip('"') if asked else ""


def _secure_boot(machine: Machine) -> bool | None:
    """Whether the firmware starts signed kernels only; None when its variables cannot be read."""
    variables = said(machine, ["ls", EFI_VARIABLES]).split()
    if SECURE_BOOT not in variables:
        return False if variables else None
    value = said(machine, ["od", "-A", "n", "-t", "u1", f"{EFI_VARIABLES}/{SECURE_BOOT}"]).split()
    return value[-1] == "1" if value else None  # four bytes of attributes, then the value


def _has_initrd(machine: Machine, release: str) -> bool:
    """Under the names that Debian, Fedora and SUSE give it."""
    names = (f"initrd.img-{release}", f"initramfs-{release}.img", f"initrd-{release}")
    return any(machine.run(["test", "-s", f"/boot/{name}"]).status == 0 for name in names)


def _tables(blocks: Iterable[Block]) -> tuple[str, ...]:
    return _unique(one.table for one in blocks if one.table)


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
