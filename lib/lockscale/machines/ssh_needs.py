# SPDX-License-Identifier: MIT
"""What a server lacks before it can be a target: a way to it, a way to root, the tools of every run."""

from collections.abc import Iterator
from dataclasses import dataclass

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.machine import Machine
from lockscale.machines.ssh_host import HostKeyRefused, LoginRefused, Unreachable

# What every run on a server uses, whatever tool it measures with.
TOOLS = {
    "lsblk": "util-linux",
    "wipefs": "util-linux",
    "sync": "coreutils",
    "od": "coreutils",
    "mke2fs": "e2fsprogs",
    "dumpe2fs": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "mount": "mount",
    "dpkg": "dpkg",
    "update-grub": "grub2-common",
    "grub-reboot": "grub2-common",
}
_WHERE = 'for tool; do command -v "$tool" || echo absent; done'


@dataclass(frozen=True)
class Check:
    """One line of the doctor: `fix` is what to do when it is not ok."""

    name: str
    ok: bool
    found: str
    fix: str = ""


def not_reached(name: str, error: BadInput | RunFailed) -> Iterator[Check]:
    """The lines for a server `name` that `error` keeps us from: which of the steps to it fails."""
    if isinstance(error, LoginRefused) and "sudo" in str(error):
        yield Check(f"{name} is reached", True, "by ssh, its host key known")
        yield Check(f"{name} lets root in", False, "no", str(error))
        return
    why: dict[type, str] = {
        HostKeyRefused: "its host key is not accepted",
        LoginRefused: "it does not let us in",
        Unreachable: "it does not answer",
    }
    found = why.get(type(error), "no")
    yield Check(f"{name} is reached", False, found, str(error))


def needs(name: str, machine: Machine) -> Iterator[Check]:
    """The lines for a server that is reached."""
    yield Check(f"{name} is reached", True, "by ssh, its host key known")
    uid = machine.run(["id", "-u"]).stdout.strip()
    fix = "" if uid == "0" else f"log in as root, or let sudo on {name} ask for no password"
    yield Check(f"{name} lets root in", uid == "0", f"uid {uid}", fix)
    answers = machine.run(["sh", "-c", _WHERE, "sh", *TOOLS]).stdout.splitlines()
    for (tool, package), where in zip(TOOLS.items(), answers, strict=True):
        there = where != "absent"
        yield Check(f"{tool} on {name}", there, where, "" if there else f"install {package} on {name}")
