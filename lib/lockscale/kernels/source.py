# SPDX-License-Identifier: MIT
"""The kernel source: the distribution's tarball by default, the user's tarball or tree by option."""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from lockscale import paths
from lockscale.apt_download import unpacked_packages
from lockscale.errors import BadInput, RunFailed
from lockscale.files import (
    expanded,
    full_disk_is_one_sentence,
    locked,
    need_free_space,
    sha256_of,
    write_json,
)
from lockscale.kernels.base import Base, base, chosen_line
from lockscale.kernels.logged_command import run_step
from lockscale.programs import need
from lockscale.progress import progress

VARIABLE = "LOCKSCALE_KERNEL_SOURCE"
TARBALL_MIB = 400  # the package of 160 MiB, and what it holds
UNPACKED_MIB = 2500  # 6.12 takes 1.7 GiB, the objects of one config 0.3 GiB
_ADDRESS = re.compile(r"://|^[A-Za-z][\w+.-]*:/|^[^/~.][^/]*@|^[^/~.].*:.*@")  # of a web page, of ssh
FILES_IN_A_TREE = 93_000  # only scales the progress bar
# As kbuild has it, which builds in no other folder from such a tree.
NOT_CLEAN = (".config", "include/config", "arch/x86/include/generated")
_REFUSED: dict["Source", str] = {}  # source -> the sentence that refused it


@dataclass(frozen=True)
class Source:
    """Where the source is and what it is: sha256 of the tarball, or of a tree's whole content.

    line: of the base that it has to be of; empty for the process's own.
    """

    path: Path
    sha256: str
    line: str = ""

    @property
    def is_tree(self) -> bool:
        return self.path.is_dir()


def refuse_address(said: str) -> str:
    """Why `said` is no path of a kernel source, or nothing; what it says is not repeated.

    An address is never fetched, may hold a password, and would be kept in every run's provenance.
    """
    if _ADDRESS.search(said):
        return "this looks like a URL, and nothing is downloaded: give the path of a tarball or tree"
    return "" if said.isprintable() else "it contains a control character: give the path of a tarball or tree"


def find_source(override: str | None = None, line: str = "") -> Source:
    """The source to build from: `override`, else LOCKSCALE_KERNEL_SOURCE, else the package of the base.

    line: of the base, which is the process's own where none is named.
    """
    said = override or os.environ.get(VARIABLE)
    whose = "kernel_source of the study's file or of -p" if override else VARIABLE
    if said and (why := refuse_address(said)):
        raise BadInput(f"{whose}: {why}")
    path = expanded(said).resolve() if said else _packaged(base(line))
    if why := _no_source(path):
        raise BadInput(f"{whose}: {why}" if said else f"{why}, or apt-get install {base(line).package}")
    return Source(path, _sha256_of(path, *_state_of(path)), chosen_line(line))


def to_fetch() -> Base | None:
    """The base whose package find_source() would fetch now, if it would."""
    wanted = base()
    there = os.environ.get(VARIABLE) or wanted.tarball.exists() or _kept(wanted).is_file()
    return None if there or wanted.suite is None else wanted


def _kept(wanted: Base) -> Path:
    return paths.CACHE / "sources" / wanted.tarball.name


def _packaged(wanted: Base) -> Path:
    """The tarball of a base's package, fetched from its suite where this machine has none."""
    if wanted.tarball.exists() or wanted.suite is None:
        return wanted.tarball
    kept = _kept(wanted)
    if kept.is_file():
        return kept
    paths.CACHE.mkdir(parents=True, exist_ok=True)
    with locked(paths.CACHE / "sources.lock", "the kernel sources in .cache", wait=True):
        if kept.is_file():
            return kept
        need_free_space(paths.CACHE, TARBALL_MIB, f"the package {wanted.package}")
        with (
            progress(f"fetch {wanted.package} of {wanted.suite}"),
            unpacked_packages(
                [wanted.package],
                wanted.suite,
                paths.CACHE,
                f"base {wanted.line} needs the package {wanted.package} of {wanted.suite}",
                f"LOCKSCALE_KERNEL_SOURCE names a {wanted.line}.y source of your own",
            ) as unpacked,
        ):
            kept.parent.mkdir(exist_ok=True)
            (unpacked / wanted.tarball.relative_to("/")).replace(kept)
    return kept


def _no_source(path: Path) -> str:
    """Why `path` is neither a kernel's tarball nor its tree, or nothing."""
    if not path.exists():
        return f"the kernel source {path} does not exist: give a kernel tarball or tree"
    if path.is_dir():
        if not (path / "Kbuild").is_file():
            return f"{path} is not a kernel tree (it has no Kbuild file): give its top folder"
        if made := next((name for name in NOT_CLEAN if (path / name).exists()), ""):
            how = "run `make mrproper` in it, or give a clean copy"
            return f"a kernel was built in {path} ({made} is there): {how}"
        return ""
    if path.is_file() and tarfile.is_tarfile(path):
        return ""
    return f"{path} is neither a tarball nor a folder: give a kernel tarball or tree"


def _state_of(path: Path) -> tuple[int | bytes, ...]:
    """What changes with a tarball or tree: sizes and times of change, which a writer cannot set back."""
    if not path.is_dir():
        now = path.stat()
        return now.st_ino, now.st_size, now.st_mtime_ns
    listing = hashlib.sha256()
    for one in _files_of(path):
        now = one.stat()
        listing.update(os.fsencode(f"{one.relative_to(path)}\0{now.st_size} {now.st_ctime_ns}\0"))
    return (listing.digest(),)


@functools.cache
def _sha256_of(path: Path, *_state: int | bytes) -> str:
    """Hashed once per process as long as it is the same; each step of a check asks for it."""
    if not path.is_dir():
        return sha256_of(path)
    whole = hashlib.sha256()
    for one in _files_of(path):
        whole.update(os.fsencode(f"{one.relative_to(path)} {sha256_of(one)}\n"))
    return whole.hexdigest()


def _files_of(tree: Path) -> list[Path]:
    """The plain files of a tree without those of git, in one order."""
    paths_in = sorted(p for p in tree.rglob("*") if ".git" not in p.relative_to(tree).parts)
    return [p for p in paths_in if p.is_file() and not p.is_symlink()]


def room_of(source: Source) -> Path:
    """The folder in which everything of this source is built."""
    return paths.BUILD_CACHE / source.sha256[:16]


def refuse_folder(folder: Path) -> None:
    """Refuse a folder in which no kernel can be built, before anything is put there."""
    if re.search(r"[\s:,]", str(folder)):
        raise BadInput(
            f"{str(folder)!r} contains a space, colon or comma, which kernel builds refuse: move it"
        )


def unpacked(source: Source, into: Path) -> Path:
    """The pristine tree of `source` below `into`, unpacked on the first call.

    A source of the wrong version is unpacked once per process, however many arms ask for it.
    """
    tree, half = into / "src", into / "src.part"
    if tree.is_dir():
        return tree
    if source in _REFUSED:
        raise BadInput(_REFUSED[source])
    refuse_folder(into.parent)
    need_free_space(into, UNPACKED_MIB, "unpacking and building a kernel")
    shutil.rmtree(half, ignore_errors=True)
    try:
        _unpack(source, half, into / "unpack.log")
        try:
            version = _version_of(half, source)
        except BadInput as error:
            _REFUSED[source] = str(error)
            raise
        write_json(into / "tree.json", {"version": version, "sha256": source.sha256})
        sync_below(half)  # a power cut would leave files of no length under the name that it gets
        half.rename(tree)
    finally:
        shutil.rmtree(half, ignore_errors=True)
    return tree


def sync_below(folder: Path) -> None:
    """Whatever is in it is on disk, as is all else on its file system."""
    subprocess.run([need("sync"), "--file-system", str(folder)], check=False)


def _unpack(source: Source, half: Path, log: Path) -> None:
    with full_disk_is_one_sentence(half.parent):
        half.mkdir(parents=True)
    if source.is_tree:
        # without git's folder, which is larger than the tree and no part of its hash
        tops = sorted(str(one) for one in source.path.iterdir() if one.name != ".git")
        argv = ["cp", "-a", "-v", "--reflink=auto", *tops, str(half)]
    else:
        argv = [need("tar"), "--extract", "--verbose", "--strip-components=1"]
        argv += ["--no-same-owner", f"--file={source.path}", f"--directory={half}"]
        need("xz")
    try:
        run_step(argv, "unpack the kernel source", FILES_IN_A_TREE, log)
    except RunFailed as error:
        raise BadInput(f"{source.path} is not a complete kernel tarball or tree: {error}") from None


def version_in(room: Path) -> str:
    """The version of the tree that was unpacked in `room`."""
    return str(json.loads((room / "tree.json").read_text())["version"])


def _version_of(tree: Path, source: Source) -> str:
    """`make kernelversion`, refused when it is not of the line that the patches are made for."""
    try:
        text = (tree / "Makefile").read_text(errors="replace")
    except FileNotFoundError:
        raise BadInput(f"{source.path} is not a kernel: it has no Makefile at its top") from None
    found = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", text, re.MULTILINE))
    version = ".".join(found.get(k, "?") for k in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))
    line = base(source.line).line
    if not version.startswith(line + "."):
        raise BadInput(
            f"{source.path} is Linux {version}, but the series are for {line}.y: give a {line}.y source, "
            f"or name another base with --base"
        )
    return version


def compiler() -> str:
    """The compiler's and linker's own first lines, a part of every kernel's cache key."""
    lines = []
    for tool in ("gcc", "ld"):
        done = subprocess.run([need(tool), "--version"], capture_output=True, text=True, check=True)
        lines.append(done.stdout.splitlines()[0])
    return "; ".join(lines)
