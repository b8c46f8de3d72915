# SPDX-License-Identifier: MIT
"""The text files in kernel-patches; what is no text, or no TOML, is refused in a sentence."""

import tomllib
from pathlib import Path
from typing import TypeVar

import pydantic

from lockscale.errors import BadInput

Model = TypeVar("Model", bound=pydantic.BaseModel)


def read_text(path: Path) -> str:
    """The whole of a UTF-8 file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}): put a text file there") from None


def read_toml(path: Path, model: type[Model]) -> Model:
    """The whole of a TOML file; what `model` does not know or what it lacks is refused by its name."""
    try:
        return model.model_validate(tomllib.loads(read_text(path)))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path} is not TOML ({error}): mend it") from None
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{path}: {where}: {first['msg'].removeprefix('Value error, ')}") from None
