# SPDX-License-Identifier: MIT
"""No two arms of a study are one: their code, mkfs, mount and knobs are compared."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.kernels.arms import own_options
from lockscale.kernels.build import build, build_folder, built_before
from lockscale.kernels.code import code_of
from lockscale.kernels.series import Series, apply_beside, chosen_names, read_series
from lockscale.kernels.source import find_source
from lockscale.prove.series_checks import Entry

Code = frozenset[tuple[str, bytes | None]]


def differs(series: Series) -> Entry:
    """By the source, without comments and spacing: no kernel is needed."""
    with build_folder(find_source()) as (tree, _):
        own = _changed_code(series, tree)
        twins = [o.name for o in _same_options(series) if _changed_code(o, tree) == own]
    if twins:
        return Entry(
            False, f"same code (comments and spacing are none), mkfs, mount and knobs as {', '.join(twins)}"
        )
    return Entry(
        True, "no other arm has this code, mkfs, mount and knobs (patched sources compared, not kernels)"
    )


def kernels_differ(series: Series) -> Entry:
    """By the built kernels: a change that the configuration or the compiler drops makes no arm either.

    An arm of the study whose kernel is not in the cache was compared by its source alone.
    """
    others = list(_same_options(series))
    built = {other.name: kernel for other in others if (kernel := built_before(other))}
    own = build(series).code_sha256
    twins = [name for name, kernel in built.items() if kernel.code_sha256 == own]
    if twins:
        return Entry(False, f"same kernel but for its name, mkfs, mount and knobs as {', '.join(twins)}")
    by_source = [other.name for other in others if other.name not in built]
    said = "no other arm has this kernel, mkfs, mount and knobs"
    return Entry(True, f"{said} ({', '.join(by_source)}: not built, sources compared)" if by_source else said)


def _same_options(series: Series) -> Iterator[Series]:
    """The other arms of the study with the same mkfs, mount and knobs; one that cannot be read is no arm."""
    own = own_options(series.study, series.arm).line
    for study, arm in chosen_names(series.study):
        if arm != series.arm and own_options(study, arm).line == own:
            with contextlib.suppress(BadInput):
                yield read_series(study, arm)


def _changed_code(series: Series, tree: Path) -> Code | str:
    """The files whose code is another one than in `tree`; of a series that does not apply its own hash."""
    try:
        changed = apply_beside(series, tree)
    except BadInput:
        return series.sha256
    after = {(name, code_of(name, content)) for name, content in changed.items()}
    return frozenset(after - {(name, code_of(name, _content(tree / name))) for name in changed})


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
