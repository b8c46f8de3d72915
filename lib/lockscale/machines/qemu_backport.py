# SPDX-License-Identifier: MIT
"""A QEMU whose plugin interface is new enough: the machine's own, else the distribution's backport.

The backport is fetched and verified by apt itself and unpacked under .cache.
"""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockscale import paths
from lockscale.apt_download import backports, run_or_fail, suite_answers, unpacked_packages
from lockscale.errors import BadInput
from lockscale.files import locked, need_free_space
from lockscale.programs import find
from lockscale.progress import progress

LEAST = (9, 1)
NEEDS = b"cpu_loop_exit_restore"  # exported by a QEMU with modules, as distributions build it
PACKAGES = ("qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios")
UNPACKED = paths.CACHE / "qemu"
UNPACKED_MIB = 300
WANTED = f"target manycore needs QEMU {'.'.join(map(str, LEAST))} or newer with plugins"
STILL = "target qemu, simulation, audits and fits work without it"


@dataclass(frozen=True)
class Qemu:
    """A QEMU: its program, its version, the folders of its firmware."""

    program: Path
    version: str
    firmware: tuple[Path, ...] = ()

    @property
    def options(self) -> list[str]:
        """What it has to be told where it does not lie where it was built for."""
        return [word for folder in self.firmware for word in ("-L", str(folder))]


def version_of(program: Path) -> str | None:
    """What `program --version` says, as "10.0.2"; None where it does not run."""
    done = run_or_fail([str(program), "--version"], 30)
    found = re.match(r"QEMU emulator version (\d+\.\d+\.\d+)", done.stdout)
    return found[1] if found and not done.returncode else None


def is_enough(program: Path, version: str) -> bool:
    """Whether it is new enough and exports what a machine in virtual time needs of it."""
    return tuple(map(int, version.split(".")[:2])) >= LEAST and NEEDS in program.read_bytes()


def _enough(program: Path, firmware: Sequence[Path] = ()) -> Qemu | None:
    version = version_of(program)
    if version is None or not is_enough(program, version):
        return None
    return Qemu(program, version, tuple(folder for folder in firmware if folder.is_dir()))


def installed() -> Qemu | None:
    """The machine's own, where it is enough."""
    where = find("qemu-system-x86_64")
    return _enough(Path(where)) if where else None


def unpacked() -> Qemu | None:
    """The backport, where an earlier call unpacked it."""
    firmware = [
        share / name for share in (UNPACKED / "usr/share", Path("/usr/share")) for name in ("qemu", "seabios")
    ]
    return _enough(UNPACKED / "usr/bin/qemu-system-x86_64", firmware)


def known_qemu() -> Qemu | None:
    """The QEMU that find_qemu() would take without fetching anything."""
    return installed() or unpacked()


def find_qemu() -> Qemu:
    """A QEMU that is enough, fetched where this machine has none. Raises BadInput in one sentence."""
    if known := known_qemu():
        return known
    paths.CACHE.mkdir(parents=True, exist_ok=True)
    with locked(paths.CACHE / "qemu.lock", "the QEMU in .cache"):
        if known := unpacked():
            return known
        need_free_space(paths.CACHE, UNPACKED_MIB, "the distribution's newer QEMU")
        with progress("fetch the distribution's newer QEMU"):
            _fetch()
    if known := unpacked():
        return known
    raise BadInput(
        f"the QEMU in {UNPACKED} does not start: also install the distribution's qemu-system-x86, which "
        f"brings the libraries it needs; {STILL}"
    )


def _fetch() -> None:
    with unpacked_packages(PACKAGES, backports(), paths.CACHE, WANTED, STILL) as unpacked:
        shutil.rmtree(UNPACKED, ignore_errors=True)
        unpacked.rename(UNPACKED)


def can_fetch() -> bool:
    """Whether the distribution's backports answer now; nothing of them is kept."""
    return suite_answers(backports())
