# SPDX-License-Identifier: MIT
"""Build an arm's kernel once: the cache key is base, series, config and compiler.

All arms of one base share a tree and its objects, so a further arm compiles only what its series
touches. The tree is put back to pristine before each series goes in.
"""

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import (
    holder,
    locked,
    sha256_of,
    sha256_of_json,
    sync_folder,
    write_bytes,
    write_json,
    write_text,
)
from lockscale.kernels.base import RATE, Kind, kind_for
from lockscale.kernels.build_cache import RECORD, is_recorded, keep_files, kept_record
from lockscale.kernels.config import configure, spin_lock_kind
from lockscale.kernels.identity import build_id_of, code_sha256
from lockscale.kernels.logged_command import make_in, run_step
from lockscale.kernels.series import Series, apply_beside, with_on_top
from lockscale.kernels.source import (
    Source,
    compiler,
    find_source,
    room_of,
    sync_below,
    unpacked,
    version_in,
)
from lockscale.programs import need
from lockscale.progress import tell, told_if_long

LINES_OF_A_BUILD, LINES_OF_A_FURTHER_ARM = 1600, 90  # only scale the progress bar
FIXED = {  # so that the same input gives the same build-id
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
    "KBUILD_BUILD_USER": "lockscale",
    "KBUILD_BUILD_HOST": "lockscale",
    "KBUILD_BUILD_VERSION": "1",
}

TOOLS = ("gcc", "ld", "make", "flex", "bison", "bc", "perl")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
TIMES = "times.json"  # beside the record: how long the build took decides nothing
K = TypeVar("K", bound="Kernel")


@dataclass(frozen=True)
class Kernel:
    """A built kernel and everything that decided it."""

    key: str
    version: str
    release: str
    build_id: str
    series: str
    series_sha256: str
    source_sha256: str
    config_sha256: str
    compiler: str
    spin_lock: str
    kind: str = RATE

    @property
    def folder(self) -> Path:
        return paths.KERNEL_CACHE / self.key

    @property
    def image(self) -> Path:
        return self.folder / "bzImage"

    @property
    def code_sha256(self) -> str:
        """What the kernel is but for its release and build-id, which differ with every series."""
        return code_sha256(self.image, self.release, self.build_id)

    @property
    def build_seconds(self) -> float:
        """How long its build took when it was built, compiling and linking alone."""
        return float(json.loads((self.folder / TIMES).read_text())["build_seconds"])


def build(series: Series, source: str | None = None, kind: str = RATE) -> Kernel:
    """The kernel of `series` for one kind of use, from the cache when it was built before."""
    found, wanted = find_source(source, series.base), kind_for(series.study, kind, series.base)
    whole = with_on_top(series, wanted.on_top)
    key = key_of(whole, found, wanted.sha256)

    def compiled(tree: Path, room: Path) -> Kernel:
        return _compile(whole, found, key, wanted, tree, room)

    cached = partial(cached_kernel, key)
    return cached_or_built(cached, compiled, paths.KERNEL_CACHE / key, TOOLS, whole, found)


def cached_or_built(
    cached: Callable[[], K | None],
    compiled: Callable[[Path, Path], K],
    folder: Path,
    tools: Iterable[str],
    whole: Series,
    source: Source,
) -> K:
    """What `cached` finds, or is built with `tools` in a tree with the series in it, and kept in `folder`.

    compiled: of the tree and the room beside it. What another process built while we waited for the tree is
    taken, but where something damaged is kept, that is built anew.
    """
    if kernel := cached():
        return kernel
    for tool in tools:
        need(tool)
    was_damaged = is_recorded(folder)
    with build_folder(source) as (tree, room):
        if not was_damaged and (kernel := cached()):
            return kernel
        with series_in(whole, tree, room), _whole_objects(room):
            return compiled(tree, room)


@contextlib.contextmanager
def _whole_objects(room: Path) -> Iterator[None]:
    """What a build leaves to the next is on disk; where the machine itself ended amid one, its objects go.

    They may have no length then, and for make what is newer than its source is whole.
    """
    builds, boot = room / "builds", BOOT_ID.read_text()
    if builds.exists() and builds.read_text() != boot:
        tell("the last kernel build did not end before this machine went down: its objects are made again")
        for objects in room.glob("objects*"):
            shutil.rmtree(objects)
    write_text(builds, boot)
    try:
        yield
    finally:
        sync_below(room)
        builds.unlink(missing_ok=True)


def key_of(whole: Series, source: Source, config_sha256: str) -> str:
    """What a kernel is kept under: of all that decides it."""
    parts = {
        "source": source.sha256,
        "series": whole.sha256,
        "config": config_sha256,
        "compiler": compiler(),
        "fixed": FIXED,
    }
    return sha256_of_json(parts)[:16]


def built_before(series: Series) -> Kernel | None:
    """The kernel of `series` that gives rates, if it is in the cache; nothing is built."""
    kind = kind_for(series.study, RATE, series.base)
    return cached_kernel(key_of(series, find_source(None, series.base), kind.sha256))


def cached_kernel(key: str) -> Kernel | None:
    """The kernel kept under `key`, if its record and its image are whole."""
    return kept_in(paths.KERNEL_CACHE / key, Kernel)


def kept_in(folder: Path, kind: type[K]) -> K | None:
    """The kernel that keep() put into a folder, unless its record or one of its files is gone or damaged."""
    record = kept_record(folder)
    try:
        return kind(**record) if record else None
    except TypeError:  # another version's, with other keys
        return None


def newest(kernels: Iterable[Kernel]) -> Kernel:
    """The one that was built last."""
    return max(kernels, key=lambda kernel: kernel.image.stat().st_mtime)


def cached_kernels(kind: str | None = None) -> list[Kernel]:
    """Every kernel in the cache, or those of one kind."""
    folders = sorted(path.parent for path in paths.KERNEL_CACHE.glob(f"*/{RECORD}"))
    kernels = [kernel for folder in folders if (kernel := kept_in(folder, Kernel))]
    return [kernel for kernel in kernels if kind in (None, kernel.kind)]


@contextlib.contextmanager
def build_folder(source: Source) -> Iterator[tuple[Path, Path]]:
    """Hold the shared tree of `source`, pristine, and the folder around it, once nobody else does."""
    room = room_of(source)
    with contextlib.ExitStack() as stack:
        lock = room / "lock"
        with told_if_long(f"wait for the kernel build folder, in use by {holder(lock)}"):
            stack.enter_context(locked(lock, "the kernel build folder", wait=True))
        tree = unpacked(source, room)
        _put_back(tree, room / "pristine")
        yield tree, room


@contextlib.contextmanager
def series_in(series: Series, tree: Path, room: Path) -> Iterator[None]:
    """Hold `series` in the shared tree; whatever a killed build left there is put back first."""
    pristine = room / "pristine"
    _put_back(tree, pristine)
    changed = apply_beside(series, tree)
    _keep_pristine(changed, tree, pristine)
    try:
        for name, content in changed.items():
            _replace(tree / name, content)
        yield
    finally:
        _put_back(tree, pristine)


def _keep_pristine(names: Iterable[str], tree: Path, pristine: Path) -> None:
    """Copy the named files of the tree; `pristine` is whole or absent, on disk before the tree changes.

    So neither a kill nor a power cut can spoil the tree.
    """
    half = pristine.with_name("pristine.part")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    for name in names:
        if (tree / name).exists():
            write_bytes(half / name, (tree / name).read_bytes())
        else:
            write_bytes(half / f"{name}.absent", b"")
    half.rename(pristine)
    sync_folder(pristine.parent)


def _put_back(tree: Path, pristine: Path) -> None:
    for kept in sorted(p for p in pristine.rglob("*") if p.is_file()):
        name = kept.relative_to(pristine)
        if kept.name.endswith(".absent"):
            (tree / name.with_name(name.name.removesuffix(".absent"))).unlink(missing_ok=True)
        else:
            _replace(tree / name, kept.read_bytes())
    shutil.rmtree(pristine, ignore_errors=True)


def _replace(path: Path, content: bytes | None) -> None:
    """Write a source file with a new time stamp, so that make sees every change and undoing."""
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())  # before the pristine copy goes


def objects_in(room: Path, suffix: str) -> Path:
    """The objects of one kind of build, by what tells it from those that give rates.

    New ones begin as a copy of those of kernels that give rates: make compiles again what reads an option
    that differs.
    """
    of_rates = room / "objects"
    if not suffix:
        return of_rates
    objects = room / f"objects{suffix}"
    if not objects.exists() and (of_rates / "vmlinux").exists():
        half = room / f"objects{suffix}.part"
        shutil.rmtree(half, ignore_errors=True)
        try:  # with their times, by which make goes
            argv = ["cp", "--archive", "--reflink=auto", "--no-target-directory", str(of_rates), str(half)]
            run_step(argv, "copy the objects", 1, room / "copy.log")
        except BaseException:
            shutil.rmtree(half, ignore_errors=True)
            raise
        for command in (half / "tools").rglob(".*.cmd"):  # objtool's: were it built anew, all would be
            command.write_text(command.read_text().replace(f"{of_rates}/", f"{objects}/"))
        (half / "vmlinux").unlink()
        half.rename(objects)
    objects.mkdir(exist_ok=True)
    return objects


def _compile(series: Series, source: Source, key: str, kind: Kind, tree: Path, room: Path) -> Kernel:
    objects = objects_in(room, kind.suffix)
    local = f"-lockscale-{series.sha256[:8]}{kind.suffix}"
    configure(tree, objects, kind, version_in(room))
    started_s = time.monotonic()
    what = f"build kernel {series.name}{'' if kind.name == RATE else f' ({kind.name})'}"
    lines = LINES_OF_A_FURTHER_ARM if (objects / "vmlinux").exists() else LINES_OF_A_BUILD
    argv = make_in(tree, objects, f"LOCALVERSION={local}", "bzImage")
    run_step(argv, what, lines, room / f"build-{key}.log", FIXED)
    spin_lock = spin_lock_kind((objects / ".config").read_text())
    said = linked(series, source, key, room, objects, local)
    kernel = Kernel(**said, spin_lock=spin_lock, kind=kind.name)
    keep(kernel, objects, time.monotonic() - started_s)
    return kernel


def linked(series: Series, source: Source, key: str, room: Path, objects: Path, local: str) -> dict[str, str]:
    """What the record of a kernel that was linked in `objects` says, whatever it was built for."""
    version = version_in(room)
    return {
        "key": key,
        "version": version,
        "release": f"{version}{local}",
        "build_id": build_id_of(objects / "vmlinux"),
        "series": series.name,
        "series_sha256": series.sha256,
        "source_sha256": source.sha256,
        "config_sha256": sha256_of(objects / ".config"),
        "compiler": compiler(),
    }


def keep(kernel: Kernel, objects: Path, build_seconds: float) -> None:
    """Copy image, config and symbols into the cache; the record last, so it vouches for the rest."""
    kernel.folder.mkdir(parents=True, exist_ok=True)
    write_json(kernel.folder / TIMES, {"build_seconds": round(build_seconds, 1)})
    files = {"bzImage": "arch/x86/boot/bzImage", "config": ".config", "System.map": "System.map"}
    keep_files(kernel.folder, {name: objects / at for name, at in files.items()}, asdict(kernel))


def refuse_one_identity(kernels: dict[str, tuple[Kernel, str]]) -> None:
    """Refuse two arms that are equal in their kernels' code and in everything else that decides a result.

    `kernels` maps an arm's name to its kernel and to its mkfs, mount and knobs as one string.
    """
    seen: dict[tuple[str, str], str] = {}
    for arm, (kernel, rest) in kernels.items():
        other = seen.setdefault((kernel.code_sha256, rest), arm)
        if other != arm:
            raise BadInput(
                f"arms {other} and {arm} are the same kernel with the same mkfs, mount and knobs, so "
                f"comparing them shows nothing: add a patch to one"
            )
