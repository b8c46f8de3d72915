# SPDX-License-Identifier: MIT
"""System.map of a kernel build: in which function an address of its code lies."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lockscale.errors import BadInput

_CODE = frozenset("tTwW")
_LOW_HALF = 0xFFFFFFFF


@dataclass(frozen=True)
class SystemMap:
    """addresses: of functions, ascending; names: theirs."""

    addresses: tuple[int, ...]
    names: tuple[str, ...]

    def function_at(self, low_half: int) -> str:
        """The function that holds an address of the kernel's code, of which the lower 32 bits are known."""
        base = self.addresses[0] & ~_LOW_HALF
        k = bisect_right(self.addresses, base | low_half) - 1
        return self.names[k] if k >= 0 else "?"


@cache
def read_system_map(path: Path) -> SystemMap:
    """Raises BadInput where the file cannot be read or lists no function."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}): build the kernel again") from None
    parts = [line.split() for line in lines]
    code = sorted((int(part[0], 16), part[2]) for part in parts if len(part) == 3 and part[1] in _CODE)
    if not code:
        raise BadInput(f"{path} lists no functions: build the kernel again")
    kernel = [one for one in code if one[0] >> 63]
    addresses, names = zip(*(kernel or code), strict=True)
    return SystemMap(addresses, names)
