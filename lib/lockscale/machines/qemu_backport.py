# SPDX-License-Identifier: MIT
"""A QEMU whose plugin interface is new enough: the machine's own, else the distribution's backport.

The backport is fetched and verified by apt itself, with a configuration of its own, and unpacked under
.cache: the machine's package sources and packages stay as they are, and no root is needed.
"""

import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import locked, need_free_space
from lockscale.programs import find
from lockscale.progress import progress

LEAST = (9, 1)
NEEDS = b"cpu_loop_exit_restore"  # exported by a QEMU with modules, as distributions build it
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
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
    done = _run([str(program), "--version"], 30)
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
        f"the QEMU in {UNPACKED} does not start: install the machine's own qemu-system-x86 too, which "
        f"brings the libraries that it needs; {STILL}"
    )


def _fetch() -> None:
    with tempfile.TemporaryDirectory(prefix="qemu-", dir=paths.CACHE) as scratch:
        room = Path(scratch)
        options = _private_apt(room)
        _apt(["apt-get", *options, "update"], "read the list of backports")
        suite = f"{_codename()}-backports"
        argv = ["apt-get", *options, "download", *(f"{name}/{suite}" for name in PACKAGES)]
        _apt(argv, "download QEMU from the backports", room)
        into = room / "unpacked"
        for package in sorted(room.glob("*.deb")):
            _apt(["dpkg-deb", "--extract", str(package), str(into)], f"unpack {package.name}")
        shutil.rmtree(UNPACKED, ignore_errors=True)
        into.rename(UNPACKED)


def _private_apt(room: Path) -> list[str]:
    """Options under which apt reads the backports too, and changes nothing of the machine."""
    mirror, name = _mirror(), _codename()
    source = room / "sources.list"
    signed = f"deb [signed-by={KEYRING}] {mirror}"
    source.write_text(f"{signed} {name} main\n{signed} {name}-backports main\n")
    for folder in ("lists/partial", "cache/archives/partial"):
        (room / folder).mkdir(parents=True)
    said = {
        "Dir::Etc::SourceList": source,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": room / "lists",
        "Dir::Cache": room / "cache",
        "APT::Sandbox::User": "",  # apt's own user may not write here
        "Acquire::Retries": 3,
    }
    return [word for key, value in said.items() for word in ("-o", f"{key}={value}")]


def can_fetch() -> bool:
    """Whether the distribution's backports answer now; nothing of them is kept."""
    try:
        release = f"{_mirror()}/dists/{_codename()}-backports/InRelease"
    except BadInput:
        return False
    with tempfile.TemporaryDirectory(prefix="lockscale-") as scratch:
        quick = [f"-oAcquire::{name}" for name in ("Retries=0", "http::Timeout=5", "https::Timeout=5")]
        argv = ["/usr/lib/apt/apt-helper", *quick, "download-file", release, f"{scratch}/InRelease"]
        return not _run(argv, 20).returncode


def _mirror() -> str:
    """Where this machine has its packages from: asked of apt, kept nowhere."""
    argv = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    found = _run([*argv, f"Codename: {_codename()}"], 60).stdout.split()
    if not found:
        raise BadInput(
            f"{WANTED}, and this machine has none and no Debian mirror to fetch it from: install one; {STILL}"
        )
    return found[0]


def _codename() -> str:
    said = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    return said.get("VERSION_CODENAME", "unknown")


def _apt(argv: Sequence[str], what: str, folder: Path | None = None) -> None:
    done = _run(argv, 900, folder)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
        # apt names the mirror, which is nobody's business
        last = re.sub(r"\w+://\S+", "the mirror", said[-1])
        raise BadInput(
            f"{WANTED}, and apt could not {what} ({last[:120]}): connect this machine or install it; {STILL}"
        )


def _run(
    argv: Sequence[str], timeout_s: float, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What a command said; one that is not there or does not end has failed by that name."""
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, cwd=folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(argv, 1, "", type(error).__name__)
