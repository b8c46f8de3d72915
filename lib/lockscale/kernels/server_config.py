# SPDX-License-Identifier: MIT
"""A server's kernel configuration: the server's own, our fragment on top, nothing that was not asked for."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import expanded, sha256_of_json, write_text
from lockscale.kernels.base import RATE, Kind, kind_for
from lockscale.kernels.build import build_folder
from lockscale.kernels.config import (
    VALUE,
    not_taken,
    read_config,
    refuse_malformed,
    refuse_unknown,
    spin_lock_kind,
)
from lockscale.kernels.logged_command import make_in, run_step
from lockscale.kernels.mail import read_text
from lockscale.kernels.source import Source, compiler, find_source, version_in
from lockscale.programs import need

MODULE = re.compile(r"^(\w+)\b", re.ASCII | re.MULTILINE)


@dataclass(frozen=True)
class Driver:
    """A driver as sysfs names it; `module` is empty when it is built into the server's kernel."""

    name: str
    module: str = ""


@dataclass(frozen=True)
class Device:
    """A disk or network interface, and the drivers from it up to its bus.

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
    package_architecture: str

    @property
    def modules(self) -> tuple[str, ...]:
        """The loaded modules, each once and in order of name."""
        return tuple(sorted(set(MODULE.findall(self.lsmod)) - {"Module"}))


Mode = Literal["localmodconfig", "full", "file"]

GUEST, SERVER = "guest.config", "server.config"
MODULE_NAME = re.compile(r"[\w-]+", re.ASCII)
LINES_OF_A_CONFIGURE = 20  # only scales the progress bar


@dataclass(frozen=True)
class ServerConfig:
    """The finished text of a .config, and what it was made from."""

    text: str
    kind: str
    mode: Mode
    server_release: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def spin_lock(self) -> str:
        """The kind of spin lock if a hypervisor of the configuration's kind runs it; without one, and on
        SMP, it is queued. A guest under another one, such as QEMU's emulator, has test-and-set under
        PARAVIRT: the lock event counters tell."""
        return spin_lock_kind(self.text)


def server_config(
    facts: ServerFacts,
    chosen: Literal["localmodconfig", "full"] | Path = "localmodconfig",
    keep: Sequence[str] = (),
    kind: str = RATE,
    source: Source | None = None,
    study: str = "",
) -> ServerConfig:
    """The configuration of a kernel for this server, made once for the same facts, source and compiler.

    localmodconfig: of the server's modules those that are loaded, and `keep` (a watchdog's, say). full:
    all of them, some 4000. A path: that file in place of the server's own. An option that the file did
    not know takes its default. source: the base's if none is given. study: its own options go on top.
    """
    found = source or find_source()
    wanted = of_servers(kind_for(study, kind, found.line))
    if isinstance(chosen, Path):
        given = Given(read_text(expanded(str(chosen))), f"the configuration {str(chosen)!a}")
    else:
        given = Given(facts.config, f"the configuration of the server's Linux {facts.release!a}")
    own, modules = own_options(given), loaded(facts, keep) if chosen == "localmodconfig" else None
    parts = {
        "source": found.sha256,
        "own": own,
        "modules": modules,
        "fragment": wanted.sha256,
        "compiler": compiler(),
    }
    kept = paths.BUILD_CACHE / "configs" / f"{sha256_of_json(parts)[:16]}.config"
    if not kept.is_file():
        write_text(kept, _configured(given.called, own, modules, wanted, found))
    mode: Mode = "file" if isinstance(chosen, Path) else chosen
    return ServerConfig(kept.read_text(), kind, mode, facts.release)


@dataclass(frozen=True)
class Given:
    """The configuration that a kernel starts from, and what sentences call it."""

    text: str
    called: str


def of_servers(kind: Kind) -> Kind:
    """The same kind of build with the fragment for servers in place of those for guests."""
    ours = [path for path in kind.configs if path not in kind.guest_configs]
    configs = [path.with_name(SERVER) if path.name == GUEST else path for path in ours]
    return replace(kind, configs=tuple(configs))


def own_options(given: Given) -> dict[str, str]:
    """Option -> value of a kernel's own configuration; refuse what is no plain value."""
    own = read_config(given.text)
    for name, value in own.items():
        if not VALUE.fullmatch(value):
            raise BadInput(
                f"{given.called} says {name}={value[:60]!a}, which is not a valid value: fix it there"
            )
    if "CONFIG_BLOCK" not in own:
        raise BadInput(
            f"{given.called} is not a kernel configuration (it has no CONFIG_BLOCK): put that "
            f"kernel's own there"
        )
    return own


def loaded(facts: ServerFacts, keep: Sequence[str]) -> list[str]:
    """The server's loaded modules and those that are to be kept; refuse a name that is none."""
    for name in keep:
        if not MODULE_NAME.fullmatch(name):
            raise BadInput(f"{name[:60]!a} is not the name of a kernel module: write it as lsmod prints it")
    return sorted({*facts.modules, *(name.replace("-", "_") for name in keep)})


def _configured(
    called: str, own: dict[str, str], modules: list[str] | None, kind: Kind, source: Source
) -> str:
    """The text of .config; all questions that the server's file leaves open are answered by default."""
    refuse_malformed(kind)
    with build_folder(source) as (tree, room):
        objects = room / "objects-configure"
        objects.mkdir(exist_ok=True)
        final = objects / ".config"

        def make(*targets: str) -> None:
            argv = make_in(tree, objects, *targets)
            run_step(argv, "configure the server's kernel", LINES_OF_A_CONFIGURE, objects / "config.log")

        final.write_text(written(own))
        make("olddefconfig")
        if modules is not None:
            need("perl")
            listing = objects / "lsmod.txt"
            listing.write_text("Module Size Used by\n" + "".join(f"{name} 0 0\n" for name in modules))
            listing.chmod(0o644)  # the kernel's script would run one that is executable
            make("localmodconfig", f"LSMOD={listing}")
        final.write_text(written({**read_config(final.read_text()), **read_config(kind.fragment)}))
        make("olddefconfig")
        version = version_in(room)
        refuse_unknown(kind, tree, version)
        if lines := refused(kind.fragment, final.read_text()):
            raise BadInput(
                f"{lines[0]} does not work with {called} in Linux {version} ({len(lines)} such line(s)): a "
                f"dependency is off there, or the option is gone"
            )
        return final.read_text()


def written(options: dict[str, str]) -> str:
    """Options as scripts/kconfig writes them."""
    lines = (f"# {k} is not set" if v == "n" else f"{k}={v}" for k, v in options.items())
    return "".join(f"{line}\n" for line in lines)


def refused(fragment: str, config: str) -> list[str]:
    """The lines of a fragment that a configuration does not hold; a text that is not there is empty."""
    got = read_config(config)
    return [line for line in not_taken(fragment, config) if not line.endswith('=""') or line[:-3] in got]
