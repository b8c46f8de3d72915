# SPDX-License-Identifier: MIT
"""What can be said of a series without booting it: it applies, is not in already, it builds."""

from dataclasses import dataclass

from lockscale.errors import BadInput, RunFailed
from lockscale.kernels.base import RATE, kind_for
from lockscale.kernels.build import build, build_folder, series_in
from lockscale.kernels.checkpatch import checkpatch_detail
from lockscale.kernels.config import configure
from lockscale.kernels.series import Series, apply_beside
from lockscale.kernels.source import find_source, version_in
from lockscale.kernels.warnings import new_warnings


@dataclass(frozen=True)
class Entry:
    """The outcome of one check, with what was found or what failed.

    `seconds`: of a kernel, how long it compiled when it was built, be it now or before.
    """

    ok: bool
    detail: str
    seconds: float | None = None


def applies(series: Series) -> Entry:
    """Onto the pristine tree, without fuzz, and it is not in already."""
    try:
        with build_folder(find_source()) as (tree, _):
            changed = apply_beside(series, tree)
    except BadInput as error:
        return Entry(False, str(error))
    files = ", ".join(changed) or "nothing: this arm is the base"
    return Entry(True, f"{len(series.patches)} patch(es), without fuzz; changes {files}")


def has_style(series: Series) -> Entry:
    """The kernel's own `checkpatch.pl --strict` finds no error."""
    with build_folder(find_source()) as (tree, _):
        return Entry(*checkpatch_detail(series, tree))


def adds_no_warning(series: Series) -> Entry:
    """`make W=1` says no more of the touched files than it says of the base's."""
    try:
        with build_folder(find_source()) as (tree, room):
            objects = room / "objects-warnings"
            configure(tree, objects, kind_for(series.study, RATE), version_in(room))
            found = new_warnings(series, tree, objects, lambda: series_in(series, tree, room))
    except RunFailed as error:
        return Entry(False, str(error))
    return Entry(not found.new, found.detail)


def builds(series: Series) -> Entry:
    """The kernel that gives rates."""
    try:
        kernel = build(series)
    except RunFailed as error:
        return Entry(False, str(error))
    return Entry(True, f"{kernel.release}, build-id {kernel.build_id}", kernel.build_seconds)
