# SPDX-License-Identifier: MIT
"""notebooks/targets/*.yaml as typed models: a guest, a server reached by ssh, or this machine as it is.

Whatever reaches a command line or a path is held to the characters that such a name may have.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pydantic

from lockscale.errors import BadInput
from lockscale.files import expanded
from lockscale.machines.prepare import Preparation
from lockscale.yaml_text import NAME, Strict, spelt


def _whole_path(folder: str) -> str:
    """`folder`, which must begin at / or at this user's home; ValueError is pydantic's."""
    if not folder.startswith(("/", "~/")):
        raise ValueError("write the absolute path, which begins with / or ~/")
    if not folder.isprintable():
        raise ValueError("it contains a control character: write the path without it")
    if ".." in Path(folder).parts:
        raise ValueError("it goes up by ..: write the path without it")
    return folder


Name = Annotated[str, spelt(*NAME, 64)]
Count = Annotated[int, pydantic.Field(gt=0, strict=True)]
BootTime = Annotated[int, pydantic.Field(gt=0, le=86400, strict=True)]  # a unit of systemd is told of it
Memory = Annotated[int, pydantic.Field(gt=0, le=1 << 20, strict=True)]  # of a guest, in MiB: up to 1 TiB
Host = Annotated[
    str,
    spelt(
        r"[A-Za-z0-9_:][A-Za-z0-9_.:%-]*",
        "write a host's name, its address or its alias in ~/.ssh/config",
        253,
    ),
]
User = Annotated[str, spelt(r"[A-Za-z_][A-Za-z0-9_.-]*", "write the name of the server's user", 32)]
Port = Annotated[int, pydantic.Field(ge=1, le=65535, strict=True)]
ById = Annotated[
    str,
    spelt(
        r"/dev/disk/by-id/[A-Za-z0-9_][A-Za-z0-9_.:+-]*",
        "write the disk's persistent name: /dev/disk/by-id/..., as `ls /dev/disk/by-id` shows",
    ),
]
Serial = Annotated[
    str,
    spelt(r"[A-Za-z0-9_.:+-]+", "write the serial number, as `lsblk -o NAME,SERIAL` shows", 64),
]
Key = Annotated[str, spelt(r"[^\x00-\x1f\x7f]+", "write the path of a file")]
Folder = Annotated[str, pydantic.Field(max_length=4096), pydantic.AfterValidator(_whole_path)]
Config = Annotated[
    str,
    spelt(
        r"localmodconfig|full|~?/[^\x00-\x1f\x7f]+",
        "write full, localmodconfig, or the path of a kernel's configuration, which begins with / or ~/",
    ),
]


class _AnyTarget(Strict):
    """What every target has."""

    name: Name

    def public(self) -> dict[str, Any]:
        """What provenance says of it."""
        return self.model_dump(mode="json")


class TargetDisk(Strict):
    """A guest's only disk that may be formatted."""

    serial: Annotated[str, spelt(r"[A-Za-z0-9_.-]+", "write letters, digits, ., - and _", 20)]
    size_mib: Annotated[int, pydantic.Field(ge=64, le=1 << 24, strict=True)]  # up to 16 TiB: ext4's in 4 KiB


class QemuTarget(_AnyTarget):
    """A guest on this machine, booted anew for each step."""

    kind: Literal["qemu"]
    disposable: pydantic.StrictBool
    memory_mib: Memory
    boot_timeout_s: BootTime
    disk: TargetDisk


Nanoseconds = Annotated[float, pydantic.Field(ge=0.001, le=1_000_000_000)]  # the machine counts whole ps


class Price(Strict):
    """What something costs in ns, the range in which published measurements of it lie, and whose they are."""

    ns: Nanoseconds
    low_ns: Nanoseconds
    high_ns: Nanoseconds
    source: Annotated[
        str, pydantic.Field(min_length=10), spelt(r"[^\x00-\x1f\x7f-\x9f]*", "write one line of text", 600)
    ]

    @pydantic.model_validator(mode="after")
    def _in_its_range(self) -> "Price":
        if not self.low_ns <= self.ns <= self.high_ns:
            raise ValueError(f"{self.ns} ns is not between {self.low_ns} and {self.high_ns} ns")
        return self


class Prices(Strict):
    """Of a machine in virtual time: lib/manycore/machine.h says what each is."""

    instruction: Price
    pause: Price
    atomic: Price
    near_line: Price
    far_line: Price
    io: Price
    tsc: Price
    wake: Price


class MemoryDisk(Strict):
    """The disk of a machine in virtual time: null_blk in the guest's memory."""

    size_mib: Annotated[int, pydantic.Field(ge=64, le=65536, strict=True)]
    completion_ns: Annotated[int, pydantic.Field(gt=0, lt=1_000_000_000, strict=True)]
    queues: Annotated[int, pydantic.Field(gt=0, le=64, strict=True)]


HALF_QUANTUM = "half_quantum"


def _option(price: str) -> str:
    """The plugin's name of a price."""
    short = {"instruction": "insn", "near_line": "near", "far_line": "far"}
    return f"{short.get(price, price)}_ps"


class ManycoreTarget(_AnyTarget):
    """A guest of many CPUs in virtual time: what its CPUs, lines and disk cost is all that it is.

    quantum_ns: how far CPUs may be apart that share nothing. order_ns: how far those that do. live_ns: for
    how long after it moved a line counts as shared.
    """

    kind: Literal["manycore"]
    disposable: pydantic.StrictBool
    memory_mib: Memory
    boot_timeout_s: BootTime
    most_cpus: Annotated[int, pydantic.Field(ge=1, le=64, strict=True)]
    cpus_per_socket: Annotated[int, pydantic.Field(ge=1, le=64, strict=True)]
    quantum_ns: Annotated[float, pydantic.Field(ge=0.01, le=100_000)]
    order_ns: Annotated[float, pydantic.Field(ge=0, le=1000)]
    live_ns: Annotated[float, pydantic.Field(ge=0.01, le=1_000_000)]
    prices: Prices
    disk: MemoryDisk

    @property
    def plugin_options(self) -> dict[str, int]:
        """The machine as the plugin is told of it: picoseconds, and CPUs a socket."""
        prices = {_option(name): price.ns for name, price in self.prices}
        said = {**prices, "quantum_ps": self.quantum_ns, "slack_ps": self.order_ns, "live_ps": self.live_ns}
        return {**{name: round(1000 * ns) for name, ns in said.items()}, "per_socket": self.cpus_per_socket}

    @property
    def settings(self) -> dict[str, tuple[str, int]]:
        """By name, the plugin's option of which a booted machine can take another value, and that value.

        In the order in which the plugin is told them: a guest asks for the first by 1.
        """
        found = {HALF_QUANTUM: ("quantum_ps", round(1000 * self.quantum_ns / 2))}
        for name, price in self.prices:
            for end, ns in (("low", price.low_ns), ("high", price.high_ns)):
                found[f"{name}.{end}"] = (_option(name), round(1000 * ns))
        return found


class ServerDisk(Strict):
    """The server's only disk that may be formatted; all three have to be true of it."""

    by_id: ById
    serial: Serial
    size_bytes: Count


class ServerBoot(Strict):
    """How a kernel is booted once, and what brings the server back from one that hangs.

    config: what its kernel is configured from: the server's own /boot/config, whole or with the modules
    that are loaded, or a file on this machine.
    """

    method: Literal["grub", "kexec"] = "grub"
    guard: Literal["none", "i6300esb"] = "none"
    boot_timeout_s: BootTime = 600
    config: Config = "full"

    @property
    def start(self) -> Literal["localmodconfig", "full"] | Path:
        """`config` for who makes the kernel's configuration from it."""
        if self.config == "localmodconfig":
            return "localmodconfig"
        return "full" if self.config == "full" else Path(self.config)


class SshTarget(_AnyTarget):
    """A server. `virtual`: it is a virtual machine, so its rows are of origin qemu or vm, not hardware."""

    kind: Literal["ssh"]
    disposable: pydantic.StrictBool
    virtual: pydantic.StrictBool
    host: Host
    user: User | None = None
    port: Port | None = None
    identity_file: Key | None = None
    known_hosts: Key | None = None
    disk: ServerDisk
    boot: ServerBoot
    prepare: Preparation = Preparation()

    def public(self) -> dict[str, Any]:
        """What provenance says of it: nothing that says where the server is or how it is entered."""
        private = {"host", "user", "port", "identity_file", "known_hosts"}
        shown = self.model_dump(
            mode="json", exclude={**dict.fromkeys(private, True), "disk": {"by_id", "serial"}}
        )
        if isinstance(self.boot.start, Path):
            shown["boot"]["config"] = "a file"
        return shown


class LocalTarget(_AnyTarget):
    """This machine under the kernel that it runs: workloads only, in a folder of their own."""

    kind: Literal["local"]
    disposable: Literal[False] = False
    folder: Folder | None = None

    def public(self) -> dict[str, Any]:
        """What provenance says of it; the folder is this user's own."""
        return self.model_dump(mode="json", exclude={"folder"})

    @property
    def room(self) -> Path | None:
        """Where loads make their folder; None: where temporary files go. BadInput for no home folder."""
        return expanded(self.folder) if self.folder else None


Target = QemuTarget | ManycoreTarget | SshTarget | LocalTarget
BootsGuests = QemuTarget | ManycoreTarget
OneTarget = TypeVar("OneTarget", QemuTarget, ManycoreTarget, SshTarget, LocalTarget, Target)


class TargetFile(pydantic.RootModel[Annotated[Target, pydantic.Field(discriminator="kind")]]):
    """One target file; its `kind` decides which."""


def with_disk(target: OneTarget, size_mib: int | None) -> OneTarget:
    """`target` with a guest's disk of that size, where its own is smaller; a server's disk is what it is."""
    if size_mib is None or not isinstance(target, BootsGuests) or target.disk.size_mib >= size_mib:
        return target
    return target.model_copy(update={"disk": target.disk.model_copy(update={"size_mib": size_mib})})


def guest_target(target: Target) -> QemuTarget:
    """`target` as one that boots guests in real time. Raises BadInput for any other."""
    if not isinstance(target, QemuTarget):
        raise BadInput(
            f"target {target.name} is of kind {target.kind}, and this boots guests in real time: "
            f"name a target of kind qemu"
        )
    return target
