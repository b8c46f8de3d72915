# SPDX-License-Identifier: MIT
"""What a command of `lockscale` said."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SCRIPT = Path(sys.executable).with_name("lockscale")


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


def script(*argv: str, **env: str) -> Said:
    """Run the installed console script with nothing but `env`."""
    done = subprocess.run([SCRIPT, *argv], env=env, capture_output=True, text=True, check=False)
    return Said(done.returncode, done.stdout, done.stderr)
