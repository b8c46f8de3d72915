# SPDX-License-Identifier: MIT
"""A kernel tree whose `make` takes a second: one C file, one module, and a builddeb of its own."""

import shutil
from pathlib import Path

from lockscale import paths

# `conf` answers as the kernel's does: what was written last stands, and nothing asks.
MAKEFILE = r"""
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 99
EXTRAVERSION =
srctree := $(CURDIR)
REL = 6.12.99$(LOCALVERSION)
LOG = echo $@ LSMOD=$(LSMOD) >> $(O)/steps
olddefconfig: ; @$(LOG)
localmodconfig: ; @$(LOG); cp $(LSMOD) $(O)/lsmod.seen; sed -i '/=m$$/d' $(O)/.config
bzImage:
	@$(LOG); mkdir -p $(O)/arch/x86/boot
	gcc -nostdlib -static -Wl,--build-id=sha1,-e,0 '-DREL="$(REL)"' -o $(O)/vmlinux $(srctree)/fs/a.c
	objcopy --rename-section .note.gnu.build-id=.notes $(O)/vmlinux
	cp $(srctree)/boot.img $(O)/arch/x86/boot/bzImage
	echo map > $(O)/System.map
modules:
	@$(LOG); cp $(srctree)/mod.c $(O)/mod.o; echo mod.o > $(O)/modules.order
run-command:
	@$(LOG); cd $(O) && $(patsubst +%,%,$(KBUILD_RUN_COMMAND))
"""
BASE = 'const char release[] = REL " 1";\n'
BUILDDEB = """#!/bin/sh -e
release=${1#linux-image-}
mkdir -p debian/$1/boot debian/$1/DEBIAN debian/$1/lib/modules/$release
cp arch/x86/boot/bzImage debian/$1/boot/vmlinuz-$release
cp .config debian/$1/boot/config-$release
cp mod.o debian/$1/lib/modules/$release/mod.ko
printf '#!/bin/sh\\nexit 0\\n' > debian/$1/DEBIAN/postinst
chmod 755 debian/$1/DEBIAN/postinst
"""


def toy_tree(folder: Path) -> Path:
    """The tree, which knows every option that kernel-patches/server.config wants off."""
    tree = folder / "toy-linux"
    (tree / "fs").mkdir(parents=True)
    (tree / "scripts/package").mkdir(parents=True)
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "Kbuild").write_text("obj-$(CONFIG_VIRTIO_BLK) += virtio_blk.o\n")
    fragments = (paths.ROOT / "kernel-patches" / f"{name}.config" for name in ("server", "observe"))
    lines = [line for path in fragments for line in path.read_text().splitlines()]
    off = [line.removeprefix("CONFIG_").removesuffix("=n") for line in lines if line.endswith("=n")]
    (tree / "Kconfig").write_text("".join(f"config {name}\n\tbool\n" for name in off))
    (tree / "fs/a.c").write_text(BASE)
    (tree / "mod.c").write_text("module\n")
    (tree / "boot.img").write_bytes(bytes(0x202) + b"HdrS" + bytes(2000))
    builddeb = tree / "scripts/package/builddeb"
    builddeb.write_text(BUILDDEB)
    builddeb.chmod(0o755)
    return tree


def series_of(name: str, patch: str) -> None:
    """Series s/<name> of one patch, or of none."""
    folder = paths.KERNEL_PATCHES / "s" / name
    folder.mkdir(parents=True)
    (folder / "series").write_text("0001-x.patch\n" if patch else "")
    if patch:
        (folder / "0001-x.patch").write_text(patch)


def own_patches() -> None:
    """The fragments in a folder that tests may write to."""
    for name in ("base.toml", "guest.config", "observe.config", "lockstat.config", "server.config"):
        shutil.copy(paths.ROOT / "kernel-patches" / name, paths.KERNEL_PATCHES)
