# SPDX-License-Identifier: MIT
"""The test server's disk image: Debian, built once from the archive that apt on this machine knows.

Kept under .cache/server-<key>; the key is the recipe. `image()` gives it, built again when broken.
"""

import hashlib
import json
import os
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import locked, need_free_space, write_json, write_text
from lockscale.programs import need
from lockscale.progress import progress
from server import boot_sector, qemu, recipe
from server.boot_sector import run

SETTLE_TIMEOUT_S = 900


@dataclass(frozen=True)
class Image:
    """A whole image: the disk, the key that opens every account, and the server's host key."""

    folder: Path

    @property
    def disk(self) -> Path:
        return self.folder / "server.qcow2"

    @property
    def identity_file(self) -> Path:
        return self.folder / "id_ed25519"

    @property
    def host_key(self) -> str:
        return str(json.loads((self.folder / "image.json").read_text())["host_key"])

    def is_whole(self) -> bool:
        """The record comes last in a build; the disk still has its size and its tables agree."""
        try:
            known = json.loads((self.folder / "image.json").read_text())
            if self.disk.stat().st_size != known["size_bytes"] or not self.identity_file.is_file():
                return False
            run(need("qemu-img"), "check", "-q", self.disk)
        except (OSError, ValueError, KeyError, RuntimeError):
            return False
        return True


def key() -> str:
    """The recipe's hash: packages, files and how the disk is laid out."""
    sources = (Path(recipe.__file__), Path(boot_sector.__file__), Path(__file__))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def image(accel: str) -> Image:
    """The image, from the cache when it is whole."""
    found = Image(paths.CACHE / f"server-{key()}")
    with locked(paths.CACHE / "server.lock", "the test server's image"):
        if not found.is_whole():
            shutil.rmtree(found.folder, ignore_errors=True)
            _build(found, accel)
    return found


def _build(made: Image, accel: str) -> None:
    if os.geteuid():
        raise BadInput("the test server's image can only be built as root: run the tests with sudo once")
    need_free_space(paths.CACHE, 3 * recipe.IMAGE_MIB, "the test server's image")
    made.folder.mkdir(parents=True)
    root, raw = made.folder / "root", made.folder / "server.raw"
    with progress("build the test server's image", 4) as shown:
        shown.update(0, "Debian packages")
        run(need("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", "lockscale", "-f", made.identity_file)
        _debootstrap(made, root)
        shown.update(1, "disk")
        disk_uuid = str(uuid.uuid4())
        _finish_root(root, disk_uuid)
        boot_sector.make_disk(raw, recipe.IMAGE_MIB, root, disk_uuid)
        host_key = (root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().strip()
        shutil.rmtree(root)
        shown.update(2, "first boot")
        _settle(made, raw, accel)
        shown.update(3, "compress")
        run(need("qemu-img"), "convert", "-O", "qcow2", raw, made.disk)
        raw.unlink()
    record = {"host_key": host_key, "size_bytes": made.disk.stat().st_size}
    write_json(made.folder / "image.json", record)


def _debootstrap(made: Image, root: Path) -> None:
    before, after = made.folder / "before", made.folder / "after"
    for folder, files in ((before, recipe.BEFORE_PACKAGES), (after, recipe.FILES)):
        for name, text in files.items():
            write_text(folder / name.lstrip("/"), text)
    shutil.copy(made.identity_file.with_suffix(".pub"), after / "authorized_key")
    write_text(after / "set-up", recipe.SET_UP)
    no_docs = [f"--dpkgopt=path-exclude=/usr/share/{kind}/*" for kind in ("doc", "man", "locale", "info")]
    # In a mount namespace: what a killed build leaves mounted on /dev and /proc is gone with it.
    run(
        need("unshare"), "--mount", "--propagation=private",
        need("mmdebstrap"), "--mode=root", "--variant=minbase", "--format=directory",
        "--dpkgopt=force-unsafe-io",
        f"--include={','.join(recipe.PACKAGES)}", *no_docs,
        f"--essential-hook=cp -r {before}/. \"$1\"",
        f"--customize-hook=cp -r {after}/. \"$1\"",
        "--customize-hook=chroot \"$1\" sh /set-up", "--customize-hook=rm \"$1/set-up\"",
        recipe.SUITE, root, "-", text=_sources(),
    )  # fmt: skip
    for folder in (before, after):
        shutil.rmtree(folder)


def _sources() -> str:
    """One line for each Debian archive of the suite that apt on this machine has read."""
    wanted = "$(CODENAME) deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    argv = ("indextargets", "--format", wanted, "Created-By: Packages", "Origin: Debian")
    listed = [line.split(" ", 1) for line in run(need("apt-get"), *argv).splitlines()]
    lines = sorted({line for codename, line in listed if codename.startswith(recipe.SUITE)})
    if not lines:
        raise BadInput(f"apt on this machine has read no Debian {recipe.SUITE} archive: run apt-get update")
    return "\n".join(lines) + "\n"


def _finish_root(root: Path, disk_uuid: str) -> None:
    release = next((root / "boot").glob("vmlinuz-*")).name.removeprefix("vmlinuz-")
    write_text(root / "etc/fstab", f"UUID={disk_uuid} / ext4 errors=remount-ro 0 1\n")
    write_text(root / "boot/grub/grub.cfg", recipe.first_grub_cfg(release, disk_uuid))


def _settle(made: Image, raw: Path, accel: str) -> None:
    """Boot once: the server installs its own GRUB and powers itself off."""
    console = made.folder / "console.log"
    machine = qemu.Qemu(qemu.Hardware(accel=accel), (qemu.Disk(raw, qemu.SYSTEM_SERIAL),), console)
    machine.start()
    try:
        machine.wait_for_end(SETTLE_TIMEOUT_S)
    finally:
        machine.kill()
    if "+ systemctl --no-block poweroff" not in console.read_text(errors="replace"):
        raise RuntimeError(f"the server's first boot did not finish: see {console}")
