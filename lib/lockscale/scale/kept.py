# SPDX-License-Identifier: MIT
"""The scale study as it was last kept: what draws it simulates nothing."""

import pandas as pd

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import write_text

FILE = paths.DATA / "scale.csv"


def keep_scale(found: pd.DataFrame) -> None:
    """`scale_study()`'s rows, all of them simulated."""
    write_text(FILE, found.to_csv(index=False))


def kept_scale() -> pd.DataFrame:
    """Those rows; raises BadInput where the file cannot be read."""
    try:
        return pd.read_csv(FILE)
    except (OSError, ValueError) as error:
        raise BadInput(f"{FILE} cannot be read: make it with `lockscale scale --keep`") from error
