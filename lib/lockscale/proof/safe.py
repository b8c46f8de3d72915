# SPDX-License-Identifier: MIT
"""The arms that may be loaded for long: those that no line `# unsafe: why` marks."""

from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.kernels.series import Series


def safe_of(chosen: Sequence[Series]) -> list[Series]:
    """The safe arms of `chosen`; BadInput when there is none, for nothing would be proved."""
    safe = [series for series in chosen if not series.unsafe]
    if not safe:
        raise BadInput(f"{chosen[0].name} is unsafe ({chosen[0].unsafe}) and is left out: name a safe arm")
    return safe
