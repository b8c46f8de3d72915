# SPDX-License-Identifier: MIT
"""The kernels that this project put on a server: install, list, remove; the default stays what it is."""

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.boot_watchdog import forget_trials
from lockscale.machines.grub import PINNED, disarm, forget_custom, pin_default, read_grub, unpin_default
from lockscale.machines.machine import Machine, must, must_all
from lockscale.machines.ssh import SshMachine

# uname -r: our mark and the series' hash
OURS = re.compile(r"[0-9][0-9A-Za-z.+~]*-lockscale-[0-9A-Za-z.+~-]+")
PARCEL = "/var/tmp"
INSTALL_S = 1800  # dpkg makes the initrd: minutes on an emulated server
PACKAGE_MIB = 400  # modules and an initrd with all of them
UNPACKED = 4  # times the size of its package: modules, which it holds compressed
STATE = "--showformat=${db:Status-Status}"
OUR_PACKAGES = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\\n"]
OUR_PACKAGES += ["linux-image-*-lockscale-*"]
UNPACKING = ".dpkg-new"  # behind the name of each file until dpkg has all of them


@dataclass(frozen=True)
class OnServer:
    """A kernel of ours in /boot; `package` when dpkg put it there, and is_whole when dpkg came to its end."""

    release: str
    package: str | None
    is_running: bool
    is_default: bool
    is_whole: bool = True


def install_package(server: SshMachine, release: str, deb: Path) -> None:
    """Install a package of ours: the kernel's own scripts in it make the initrd and the menu entry.

    One that cannot be installed, or is interrupted, is taken off again, as dpkg and apt would refuse all
    else meanwhile, and so is one that became the default; where it would have been the first of ours, the
    default is saved as it was found.
    """
    parcel = f"{PARCEL}/{deb.name}"
    before = _ready_for(server, release, -(-deb.stat().st_size >> 20))
    install = ["env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "--install", parcel]
    try:
        server.put(deb, parcel)
        must(server, install, timeout_s=INSTALL_S)
        grub = read_grub(server)
        grub.entry_of(release)
        if grub.default.release != before or not grub.is_pinned:
            raise RunFailed(
                f"installing {release} made Linux {grub.default.release} the server's default: look at "
                f"GRUB_DEFAULT in /etc/default/grub there"
            )
    except BaseException:
        with contextlib.suppress(BadInput, RunFailed):  # why it was not installed is what is told
            _roll_back(server, release)
        raise
    finally:
        server.run(["rm", "-f", parcel])


def _purge(package: str) -> list[str]:
    """What takes a package off, a half-installed one too."""
    return ["dpkg", "--purge", "--force-remove-reinstreq", package]


def _roll_back(server: Machine, release: str) -> bool:
    """Take off what there is of a kernel that was not installed whole; without any of ours, the pin too.

    False where dpkg refuses, as while another one is still installing it: then the pin is needed.
    """
    if server.run(_purge(_package_of(release)), timeout_s=INSTALL_S).status:
        return False
    _remove_files(server, release)
    if not installed_kernels(server):
        unpin_default(server)
    return True


def _package_of(release: str) -> str:
    """What kernels/package.py calls it."""
    return f"linux-image-{release}"


def _ready_for(server: SshMachine, release: str, package_mib: int) -> str:
    """The default kernel's release, saved by name. Nothing is written on a server that cannot go back."""
    if not OURS.fullmatch(release):
        raise BadInput(f"{release!r} does not contain -lockscale-: only lockscale's kernels are installed")
    needed_mib = {"/boot": PACKAGE_MIB, "/lib/modules": UNPACKED * package_mib, PARCEL: package_mib}
    free = must(server, ["df", "--output=avail", "-BM", *needed_mib]).split()[1:]
    for (folder, least_mib), said in zip(needed_mib.items(), free, strict=True):
        if (free_mib := int(said.rstrip("M"))) < least_mib:
            raise BadInput(
                f"the server's {folder} has {free_mib} MiB free, a kernel needs {least_mib}: remove old "
                f"ones with `lockscale target kernels NAME`"
            )
    grub = read_grub(server)
    pin_default(server, grub)
    return str(grub.default.release)


def installed_kernels(server: Machine) -> list[OnServer]:
    """Every kernel of ours in the server's /boot."""
    listing, uname = must_all(server, [["ls", "/boot"], ["uname", "-r"]])
    default, found = read_grub(server).default.release, []
    for name in listing.stdout.split():
        release = name.removeprefix("vmlinuz-")
        if name != release and OURS.fullmatch(release) and not release.endswith(UNPACKING):
            package, is_whole = _owner(server, release)
            is_running, is_default = release == uname.stdout.strip(), release == default
            found.append(OnServer(release, package, is_running, is_default, is_whole))
    return found


def _owner(server: Machine, release: str) -> tuple[str | None, bool]:
    """The package that brought a kernel, if any, and whether dpkg came to its end with it.

    A dpkg that was killed has an image in /boot before it has the list of the package's files.
    """
    owner = server.run(["dpkg-query", "--search", f"/boot/vmlinuz-{release}"])
    package = _package_of(release) if owner.status else owner.stdout.partition(":")[0]
    state = server.run(["dpkg-query", "--show", STATE, package])
    return (package, state.stdout.strip() == "installed") if state.status == 0 else (None, True)


def purge_torn(server: SshMachine) -> list[str]:
    """Take off each kernel of ours whose package is half-installed, and packages that were sent; releases.

    What a removal that was cut short has left to do is done, too.
    """
    sent = ["-name", "*linux-image-*-lockscale-*.deb*", "-delete"]
    server.run(["find", PARCEL, "-maxdepth", "1", "-type", "f", *sent])
    torn = [kernel.release for kernel in installed_kernels(server) if not kernel.is_whole]
    for release in torn:
        remove_kernel(server, release)
    torn += [release for release in _without_image(server) if _roll_back(server, release)]
    is_ours_there = installed_kernels(server) or _without_image(server)
    if not is_ours_there and server.run(["test", "-e", PINNED]).status == 0:
        _forget(server)
        unpin_default(server)
    return torn


def _without_image(server: Machine) -> list[str]:
    """Kernels of ours whose package dpkg began to unpack, and was killed before their images had names."""
    said = (line.split() for line in server.run(OUR_PACKAGES).stdout.splitlines())
    whole = ("installed", "not-installed", "config-files")
    torn = [name.removeprefix(_package_of("")) for name, state in said if state not in whole]
    return [release for release in torn if OURS.fullmatch(release)]


def remove_kernel(server: SshMachine, release: str) -> None:
    """Remove one of ours, never the one that runs or that boots by default.

    With the last one goes what was kept for them: the default is then saved as it was found.
    """
    ours = installed_kernels(server)
    found = next((kernel for kernel in ours if kernel.release == release), None)
    if found is None:
        raise BadInput(
            f"the server has no lockscale kernel {release!r}: `lockscale target kernels NAME` lists them"
        )
    if found.is_running or found.is_default:
        how = "runs" if found.is_running else "is the default"
        raise BadInput(f"Linux {release} {how} on the server: it is not removed")
    if found.package:
        must(server, _purge(found.package), timeout_s=INSTALL_S)
    _remove_files(server, release)
    _forget(server)
    if ours == [found]:
        unpin_default(server)


def _remove_files(server: Machine, release: str) -> None:
    """What no package has, or what a dpkg or an update-initramfs that was killed left."""
    files = [f"/boot/{kind}-{release}" for kind in ("vmlinuz", "initrd.img", "config", "System.map")]
    files += [f"/boot/initrd.img-{release}.new", *(f"{file}{UNPACKING}" for file in files)]
    must_all(server, [["rm", "-f", *files], ["rm", "-rf", f"/lib/modules/{release}"]])


def _forget(server: Machine) -> None:
    """The menu without kernels that are gone, and nothing of a trial: the last may have been of one."""
    must(server, ["update-grub"], timeout_s=INSTALL_S)
    disarm(server)
    forget_custom(server)
    forget_trials(server)
