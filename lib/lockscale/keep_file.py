# SPDX-License-Identifier: MIT
"""A sweep's points on disk: a header with the settings, then one point a line, each flushed.

Whatever ends the process, the points before are kept; a line that a kill tore is simulated again.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lockscale.errors import BadInput
from lockscale.files import append_line, locked
from lockscale.sim.sweep import POINT_KEYS

KIND = "points of lockscale sweep"
NUMBERS = ("value", "low", "high", "attempts_per_op")
MAY_LACK = ("low", "high")


class KeepFile:
    """``settings`` decide a point beside its parameters and threads: model, seed and so on."""

    def __init__(self, path: Path, settings: Mapping[str, object]) -> None:
        self.path = path
        self.header = json.dumps({"kind": KIND, **settings})

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep a second sweep off the file."""
        with locked(self.path.with_name(f".{self.path.name}.lock"), f"the file {self.path}"):
            yield

    def read(self) -> list[dict[str, Any]]:
        """The points kept so far; raises BadInput for another file or other settings."""
        text = self.path.read_bytes() if self.path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if not whole and not self.header.encode().startswith(text):
            raise self._not_ours()
        header, *lines = whole.decode(errors="replace").splitlines() or [self.header]
        self._check(header)
        points = [self._point(number, line) for number, line in enumerate(lines, start=2)]
        if len(whole) < len(text):
            os.truncate(self.path, len(whole))
        return points

    def add(self, point: Mapping[str, object]) -> None:
        """Append one point; it is on the disk when this returns."""
        if not self.path.exists() or self.path.stat().st_size == 0:
            append_line(self.path, self.header)
        append_line(self.path, json.dumps(point))

    def _check(self, header: str) -> None:
        found, wanted = _object(header), json.loads(self.header)
        if not found or found.get("kind") != KIND:
            raise self._not_ours()
        for name in wanted:
            if found.get(name) != wanted[name]:
                raise BadInput(
                    f"{self.path} keeps points of {name} {found.get(name)}, not {wanted[name]}: "
                    "name another file or delete this one"
                )

    def _point(self, number: int, line: str) -> dict[str, Any]:
        point = _object(line)
        if not point:
            fault = "is not a point"
        elif missing := [key for key in POINT_KEYS if key not in point]:
            fault = f"is a point without {', '.join(missing)}"
        elif wrong := [key for key in NUMBERS if not _is_number(point[key], key in MAY_LACK)]:
            fault = f"has a point whose {wrong[0]} is {json.dumps(point[wrong[0]])}, no finite number"
        elif not _is_finite(point):
            fault = "has a point with NaN or Infinity"
        else:
            return point
        raise BadInput(f"{self.path} line {number} {fault}: delete the line, it is then redone")

    def _not_ours(self) -> BadInput:
        return BadInput(f"{self.path} is not a file that lockscale sweep wrote: name another one")


def _is_number(value: object, may_lack: bool) -> bool:
    if value is None:
        return may_lack
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_finite(point: object) -> bool:
    try:
        json.dumps(point, allow_nan=False)
    except ValueError:
        return False
    return True


def _object(line: str) -> dict[str, Any] | None:
    """The JSON object of one line, or None."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
