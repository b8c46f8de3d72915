# SPDX-License-Identifier: MIT
"""The checks of a series: applies, is not in already, differs from the other arms, builds, boots."""

import tempfile
from pathlib import Path
from typing import Any

from lockscale.errors import BadInput, RunFailed
from lockscale.files import locked
from lockscale.kernels.build import Kernel, build
from lockscale.kernels.series import Series, all_series, apply_beside, named_series
from lockscale.kernels.source import find_source, room_of, unpacked
from lockscale.progress import progress
from lockscale.study import load_target
from lockscale.targets.accel import choose_accel
from lockscale.targets.assertions import assert_runs
from lockscale.targets.qemu import Guest, QemuMachine, qemu_line
from lockscale.targets.scratch import Scratch


def check(which: str | None, *, build: bool = False, boot: bool = False) -> list[dict[str, Any]]:
    """One entry per arm of `which` (a study, a study/arm, or everything), each check with its detail."""
    chosen = [s for s in all_series() if which in (None, s.study, s.name)]
    if not chosen:
        known = ", ".join(s.name for s in all_series())
        raise BadInput(f"there is no series {which!r} (there are: {known})")
    found = []
    with progress("check series", len(chosen)) as shown:
        for done, series in enumerate(chosen, start=1):
            found.append(_check_one(series, build=build, boot=boot))
            shown.update(done, series.name)
    return found


def _check_one(series: Series, *, build: bool, boot: bool) -> dict[str, Any]:
    checks = {"applies": _applies(series), "differs": _differs(series)}
    if build and checks["applies"]["ok"]:
        checks["builds"] = _builds(series)
    if boot and checks.get("builds", {}).get("ok"):
        checks["boots"] = _boots(series)
    ok = all(c["ok"] for c in checks.values())
    return {"study": series.study, "arm": series.arm, "ok": ok, "checks": checks, "counters": []}


def _entry(ok: bool, detail: str) -> dict[str, Any]:
    return {"ok": ok, "detail": detail}


def _applies(series: Series) -> dict[str, Any]:
    source = find_source()
    with locked(room_of(source) / "lock", "the kernel build folder"):
        tree = unpacked(source, room_of(source))
    try:
        changed = apply_beside(series, tree)
    except BadInput as error:
        return _entry(False, str(error))
    files = ", ".join(changed) or "nothing: this arm is the base"
    return _entry(True, f"{len(series.patches)} patch(es), without fuzz; changes {files}")


def _differs(series: Series) -> dict[str, Any]:
    """Arms of one study with the same patches would be one kernel; their mkfs may still differ."""
    twins = [
        other.name
        for other in all_series()
        if other.study == series.study and other != series and other.sha256 == series.sha256
    ]
    detail = f"same patches as {', '.join(twins)}" if twins else "no other arm has these patches"
    return _entry(not twins, detail)


def _builds(series: Series) -> dict[str, Any]:
    try:
        kernel = build(series)
    except RunFailed as error:
        return _entry(False, str(error))
    return _entry(True, f"{kernel.release}, build-id {kernel.build_id}")


def _boots(series: Series) -> dict[str, Any]:
    try:
        found = boot_once("qemu", series.name, cpus=2)
    except RunFailed as error:
        return _entry(False, str(error))
    return _entry(True, f"{found['release']} runs with build-id {found['build_id']}")


def boot_once(target: str, which: str, cpus: int) -> dict[str, str]:
    """Boot an arm, assert uname and build-id from inside, power off."""
    load_target(target)  # a misspelt one is refused before a kernel is built
    kernel = build(named_series(which))
    guest = _guest(target, kernel, cpus)
    with progress(f"boot {which} on {target}") as shown:
        shown.update(0, guest.accel)
        with QemuMachine(guest) as machine:
            build_id = assert_runs(machine, kernel)
    return {"release": kernel.release, "build_id": build_id, "accel": guest.accel}


def example_line(target: str, which: str, cpus: int) -> str:
    """The exact qemu line that would boot an arm with a target's scratch disk."""
    said = load_target(target)
    image = Path(tempfile.gettempdir()) / "scratch.img"
    disk = Scratch(image, said.disk.size_mib, said.disk.serial)
    kernel = build(named_series(which))
    accel = choose_accel(_guest(target, kernel, cpus, "tcg"))
    return qemu_line(Guest(kernel.image, cpus, said.memory_mib, accel, said.boot_timeout_s, disk))


def _guest(target: str, kernel: Kernel, cpus: int, accel: str | None = None) -> Guest:
    said = load_target(target)
    guest = Guest(kernel.image, cpus, said.memory_mib, accel or "tcg", said.boot_timeout_s)
    if accel:
        return guest
    chosen = choose_accel(guest)
    return Guest(kernel.image, cpus, said.memory_mib, chosen, said.boot_timeout_s)
