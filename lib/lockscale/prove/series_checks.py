# SPDX-License-Identifier: MIT
"""What can be said of a series without booting it: it applies, is not in already, it builds."""

import contextlib
import functools
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.filesystems import FsType, fs_type
from lockscale.kernels.base import RATE, build_kind, kind_for
from lockscale.kernels.build import build, build_folder, built_before, series_in
from lockscale.kernels.checkpatch import checkpatch_detail, new_warnings
from lockscale.kernels.config import configure
from lockscale.kernels.identity import code_of
from lockscale.kernels.series import (
    Series,
    apply_beside,
    apply_with_offset,
    chosen_names,
    read_series,
    with_on_top,
)
from lockscale.kernels.source import compiler, find_source, version_in
from lockscale.measure.count_calls import OBSERVE, sources_of
from lockscale.programs import need
from lockscale.study.file import list_studies, load_whole_study


def refuse_bad_surroundings(*, build: bool = False, boot: bool = False) -> None:
    """BadInput when the kernel source is not usable, its build folder full, or a tool missing."""
    with build_folder(find_source()):
        pass
    if build or boot:
        compiler()
    if boot:
        need("qemu-system-x86_64")


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check, with what was found or what failed; a check may also raise why it failed.

    `seconds`: of a kernel, how long it compiled when it was built, be it now or before.
    """

    ok: bool
    detail: str
    seconds: float | None = None


def applies(series: Series) -> CheckResult:
    """Onto the pristine tree, without fuzz, and it is not in already; what counts its events, onto it.

    BadInput where its study counts a trace event, or calls of a function, that the kernel then does not have.
    """
    counted = with_on_top(series, build_kind(OBSERVE, series.base).on_top)
    with build_folder(find_source(None, series.base)) as (tree, _):
        changed, farthest = apply_with_offset(series, tree)
        apply_beside(counted, tree)
    if series.study in list_studies():
        study = load_whole_study(series.study)
        refuse_unknown_events([series], sources_of(study).trace, fs_type(study.filesystem))
        refuse_unknown_functions(series, sources_of(study).calls)
    files = ", ".join(changed) or "nothing: this arm is the base"
    moved = f" (up to {farthest} lines from where it says)" if farthest else ""
    return CheckResult(True, f"{len(series.patches)} patch(es), without fuzz{moved}; changes {files}")


def has_style(series: Series) -> CheckResult:
    """The kernel's own `checkpatch.pl --strict` finds no error."""
    with build_folder(find_source(None, series.base)) as (tree, _):
        return CheckResult(*checkpatch_detail(series, tree))


def adds_no_warning(series: Series) -> CheckResult:
    """`make W=1` says no more of the touched files than it says of the base's."""
    with build_folder(find_source(None, series.base)) as (tree, room):
        objects = room / "objects-warnings"
        configure(tree, objects, kind_for(series.study, RATE, series.base), version_in(room))
        found = new_warnings(series, tree, objects, lambda: series_in(series, tree, room))
    return CheckResult(not found.new, found.detail)


def builds(series: Series) -> CheckResult:
    """The kernel that gives rates."""
    kernel = build(series)
    return CheckResult(True, f"{kernel.release}, build-id {kernel.build_id}", kernel.build_seconds)


Code = frozenset[tuple[str, bytes | None]]


def differs(series: Series) -> CheckResult:
    """By the source, without comments and spacing: no kernel is needed."""
    with build_folder(find_source(None, series.base)) as (tree, _):
        own = _changed_code(series, tree)
        twins = [o.name for o in _same_options(series) if _changed_code(o, tree) == own]
    said = f"same code (comments and whitespace aside), mkfs, mount options and knobs as {', '.join(twins)}"
    none = "no other arm has this code, mkfs, mount and knobs (patched sources compared, not kernels)"
    return CheckResult(not twins, said if twins else none)


def kernels_differ(series: Series) -> CheckResult:
    """By the built kernels: a change that the configuration or the compiler drops makes no arm either.

    An arm of the study whose kernel is not in the cache was compared by its source alone.
    """
    others = list(_same_options(series))
    built = {other.name: kernel for other in others if (kernel := built_before(other))}
    own = build(series).code_sha256
    twins = [name for name, kernel in built.items() if kernel.code_sha256 == own]
    if twins:
        said = f"same kernel but for its name, mkfs, mount and knobs as {', '.join(twins)}"
        return CheckResult(False, said)
    by_source = ", ".join(other.name for other in others if other.name not in built)
    how = f" ({by_source}: not built, sources compared)" if by_source else ""
    return CheckResult(True, f"no other arm has this kernel, mkfs, mount and knobs{how}")


def _same_options(series: Series) -> Iterator[Series]:
    """The other arms of the study with the same mkfs, mount and knobs; one that cannot be read is no arm."""
    own = _options_line(series.study, series.arm)
    for study, arm in chosen_names(series.study):
        if arm != series.arm and _options_line(study, arm) == own:
            with contextlib.suppress(BadInput):
                yield read_series(study, arm, line=series.base)


def _options_line(study: str, arm: str) -> str:
    """mkfs, mount and knobs of an arm; nothing of a series that belongs to no study."""
    return load_whole_study(study).options_of(arm).line if study in list_studies() else ""


def _changed_code(series: Series, tree: Path) -> Code | str:
    """The files whose code is another one than in `tree`; of a series that does not apply its own hash."""
    try:
        changed = apply_beside(series, tree)
    except BadInput:
        return series.sha256
    after = {(name, code_of(name, content)) for name, content in changed.items()}
    before = {name: (tree / name).read_bytes() for name in changed if (tree / name).is_file()}
    return frozenset(after - {(name, code_of(name, before.get(name))) for name in changed})


EVENT = r"^(?:TRACE|DEFINE)_(?:\w+_)?EVENT\w*\(\s*(?:\w+,\s*)?({system}_\w+)"


def refuse_unknown_events(arms: Iterable[Series], events: Sequence[str], fs: FsType) -> None:
    """BadInput when the observe kernel of one of the arms would lack one of `events` of a file system."""
    for series in arms if events else ():
        whole = with_on_top(series, build_kind(OBSERVE, series.base).on_top)
        with build_folder(find_source(None, series.base)) as (tree, _):
            missing = sorted(set(events) - events_of(whole, tree, fs))
        if missing:
            raise BadInput(
                f"the observe kernel of {series.name} has no trace event {', '.join(missing)}: "
                "correct the name in the study's counters, or add it to kernel-patches/observe"
            )


NEAR = ("fs", "mm", "kernel", "block", "lib", "include")
"""Where functions that are counted mostly are; to look through all of the source takes seconds."""
_MADE_BY_MACRO = re.compile(r"__\w+_sys_\w+")


def refuse_unknown_functions(series: Series, functions: Iterable[str]) -> None:
    """BadInput when neither the kernel source nor any arm of the study has the name of one of `functions`."""
    patches = b""
    for study, arm in chosen_names(series.study):
        with contextlib.suppress(BadInput):  # one that cannot be read is told of itself
            patches += b"\n".join(
                patch.read_bytes() for patch in read_series(study, arm, line=series.base).patches
            )
    with build_folder(find_source(None, series.base)) as (tree, _):
        missing = [
            name
            for name in functions
            if not _MADE_BY_MACRO.fullmatch(name)
            and not re.search(rb"\b%s\b" % name.encode(), patches)
            and not any(_is_named(name, tree, places) for places in (NEAR, (".",)))
        ]
    if missing:
        raise BadInput(
            f"the kernel source has no function {', '.join(missing)}, whose calls {series.study} counts: "
            "correct the name in the study's counters"
        )


@functools.cache  # each arm of a study asks for the same names
def _is_named(name: str, tree: Path, places: tuple[str, ...]) -> bool:
    there = [place for place in places if (tree / place).is_dir()]
    argv = [need("grep"), "-rqwF", "--include=*.c", "--include=*.S", "-e", name, "--", *there]
    return bool(there) and subprocess.run(argv, cwd=tree, capture_output=True, check=False).returncode == 0


def events_of(series: Series, tree: Path, fs: FsType) -> set[str]:
    """The events of a file system in the pristine `tree` with `series` on it."""
    if not fs.trace_header:
        return set()
    changed = apply_beside(series, tree).get(fs.trace_header)
    text = changed if changed is not None else (tree / fs.trace_header).read_bytes()
    return set(re.findall(EVENT.format(system=fs.name), text.decode(), re.MULTILINE))
