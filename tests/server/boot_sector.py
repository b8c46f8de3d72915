# SPDX-License-Identifier: MIT
"""A bootable disk image without loop devices: one partition, its file system, and GRUB for BIOS."""

import shutil
import subprocess
from pathlib import Path

from lockscale.programs import need

SECTOR = 512
FIRST_SECTOR = 2048
BOOT_CODE_BYTES = 440  # what lies before the disk's id and the partition table
MODULES = Path("/usr/lib/grub/i386-pc")
IN_CORE = ("biosdisk", "part_msdos", "ext2")


def run(*argv: str | Path, text: str | None = None) -> str:
    """A command of the build; its last words when it fails."""
    done = subprocess.run([str(a) for a in argv], input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{argv[0]} ended with {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


def make_disk(image: Path, size_mib: int, root: Path, uuid: str) -> None:
    """Write the folder `root` as the only, bootable partition of a new raw image."""
    _copy_modules(root / "boot/grub/i386-pc")
    image.unlink(missing_ok=True)
    with image.open("wb") as stream:
        stream.truncate(size_mib << 20)
    run(need("sfdisk"), "--quiet", image, text=f"label: dos\nstart={FIRST_SECTOR}, type=83, bootable\n")
    size_kib = (size_mib << 10) - (FIRST_SECTOR * SECTOR >> 10)
    offset = FIRST_SECTOR * SECTOR
    extra = f"offset={offset},lazy_itable_init=0,lazy_journal_init=0"
    run(need("mkfs.ext4"), "-q", "-F", "-U", uuid, "-E", extra, "-d", root, image, f"{size_kib}k")
    _write_grub(image)


def _copy_modules(folder: Path) -> None:
    """grub-install writes them again in the server; the first boot has only these."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in ("*.mod", "*.lst"):
        for module in MODULES.glob(pattern):
            shutil.copy(module, folder)


def _write_grub(image: Path) -> None:
    """Boot code into sector 0, the core image into the sectors behind it."""
    core = image.with_name("core.img")
    prefix = "(hd0,msdos1)/boot/grub"
    run(need("grub-mkimage"), "-O", "i386-pc", "-p", prefix, "-o", core, *IN_CORE)
    if core.stat().st_size > (FIRST_SECTOR - 1) * SECTOR:
        raise RuntimeError("GRUB's core image does not fit before the first partition")
    with image.open("r+b") as stream:
        stream.write((MODULES / "boot.img").read_bytes()[:BOOT_CODE_BYTES])
        stream.seek(SECTOR)
        stream.write(core.read_bytes())
    core.unlink()
