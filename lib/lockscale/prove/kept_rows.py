# SPDX-License-Identifier: MIT
"""The rows that a long check keeps as it goes, so that one that was broken off can go on."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pandas as pd

from lockscale.errors import BadInput, printable
from lockscale.files import write_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row", bound="DataclassInstance")


def write_rows(path: Path, rows: Sequence[Row], kind: type[Row]) -> None:
    """The rows as a table, whole or absent."""
    columns = [field.name for field in fields(kind)]
    write_text(path, pd.DataFrame(map(asdict, rows), columns=columns).to_csv(index=False))


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """What write_rows() wrote; nothing where there is no file. BadInput for another file."""
    if not path.is_file():
        return []
    columns = {field.name: field.type for field in fields(kind)}
    try:
        table = pd.read_csv(path, dtype=columns, keep_default_na=False)
        return [kind(**{str(name): cell for name, cell in row.items()}) for row in table.to_dict("records")]
    except (ValueError, TypeError) as error:
        said = printable(str(error), 120)
        raise BadInput(f"{path} cannot be read ({said}): move it away, or give no --resume") from None
