# SPDX-License-Identifier: MIT
"""notebooks/targets/*.yaml as typed models: a guest, a server reached by ssh, or this machine as it is.

Whatever reaches a command line or a path is held to the characters that such a name may have.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from lockscale.errors import BadInput
from lockscale.files import expanded
from lockscale.spelling import NAME, spelt
from lockscale.targets.prepare import Preparation


def _whole_path(folder: str) -> str:
    """`folder`, which must begin at / or at this user's home; ValueError is pydantic's."""
    if not folder.startswith(("/", "~/")):
        raise ValueError("write the whole path, which begins with / or with ~/")
    if not folder.isprintable():
        raise ValueError("a control character is in it: write the path without")
    return folder


Name = Annotated[str, spelt(*NAME, 64)]
Count = Annotated[int, pydantic.Field(gt=0, strict=True)]
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
        "write the disk's name that stays: /dev/disk/by-id/..., as `ls /dev/disk/by-id` shows",
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
        "write full, localmodconfig, or the path of a kernel's configuration, which begins with / or with ~/",
    ),
]


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class TargetDisk(_Strict):
    """A guest's only disk that may be formatted."""

    serial: Annotated[str, spelt(r"[A-Za-z0-9_.-]+", "write letters, digits, ., - and _", 20)]
    size_mib: Annotated[int, pydantic.Field(ge=64, strict=True)]


class QemuTarget(_Strict):
    """A guest on this machine, booted anew for each step."""

    name: Name
    kind: Literal["qemu"]
    disposable: Annotated[bool, pydantic.Field(strict=True)]
    memory_mib: Count
    boot_timeout_s: Count
    disk: TargetDisk

    def public(self) -> dict[str, Any]:
        """What provenance says of it."""
        return self.model_dump(mode="json")


class ServerDisk(_Strict):
    """The server's only disk that may be formatted; all three have to be true of it."""

    by_id: ById
    serial: Serial
    size_bytes: Count


class ServerBoot(_Strict):
    """How a kernel is booted once, and what brings the server back from one that hangs.

    config: what its kernel is configured from: the server's own /boot/config, whole or with the modules
    that are loaded, or a file on this machine.
    """

    method: Literal["grub", "kexec"] = "grub"
    guard: Literal["none", "i6300esb"] = "none"
    boot_timeout_s: Count = 600
    config: Config = "full"

    @property
    def start(self) -> Literal["localmodconfig", "full"] | Path:
        """`config` for who makes the kernel's configuration from it."""
        if self.config == "localmodconfig":
            return "localmodconfig"
        return "full" if self.config == "full" else Path(self.config)


class SshTarget(_Strict):
    """A server. `virtual`: it is a virtual machine, so its rows are of origin qemu, not hardware."""

    name: Name
    kind: Literal["ssh"]
    disposable: Annotated[bool, pydantic.Field(strict=True)]
    virtual: Annotated[bool, pydantic.Field(strict=True)]
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


class LocalTarget(_Strict):
    """This machine under the kernel that it runs: workloads only, in a folder of their own."""

    name: Name
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


Target = QemuTarget | SshTarget | LocalTarget


class TargetFile(pydantic.RootModel[Annotated[Target, pydantic.Field(discriminator="kind")]]):
    """One target file, told apart by its `kind`."""


def guest_target(target: Target) -> QemuTarget:
    """`target` as one that boots guests. Raises BadInput for a server or this machine."""
    if not isinstance(target, QemuTarget):
        raise BadInput(
            f"target {target.name} is of kind {target.kind}: this boots guests, name one of kind qemu"
        )
    return target
