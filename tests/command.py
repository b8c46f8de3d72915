# SPDX-License-Identifier: MIT
"""What a command of `lockscale` said."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest


class Said(NamedTuple):
    """Exit status, standard output and standard error."""

    status: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        """The one JSON value on stdout; NaN and Infinity, which are not JSON, are refused."""
        return json.loads(self.out, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))


Lockscale = Callable[..., Said]
