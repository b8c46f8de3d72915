# SPDX-License-Identifier: MIT
"""A tool's output with its SHA-256 behind it, so that nobody takes a cut or changed text for a good one.

Most profilers print neither an end nor a sum: a text that lost lines reads like a shorter good one.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import BinaryIO

from lockscale.errors import BadInput

UNSEALED = "nothing in the text shows that it is complete and unchanged: lines may be missing or repeated"

_SEAL = re.compile(rb"\nsha256 ([0-9a-f]{64})\n\Z")
_SEAL_BYTES = len("\nsha256 ") + 64 + 1
_RUN = r"""out=$(mktemp) && "$@" >"$out" && cat "$out" && printf '\nsha256 ' && sha256sum <"$out" | cut -c -64
status=$?
rm -f "$out"
exit $status"""
_RUN_ALL = _RUN.replace('>"$out" &&', '>"$out" 2>&1 &&', 1)


def sealed(argv: Sequence[str], *, with_errors: bool = False) -> list[str]:
    """The command that runs `argv` and prints its output and the seal; no seal when `argv` fails.

    with_errors: what `argv` prints on standard error counts as its output (perf lock's tables do).
    """
    return ["sh", "-c", _RUN_ALL if with_errors else _RUN, "sh", *argv]


def seal(text: str) -> str:
    """`text` as sealed() would print it."""
    return f"{text}\nsha256 {hashlib.sha256(text.encode()).hexdigest()}\n"


def unseal(text: str) -> tuple[str, bool]:
    """The output without its seal, and whether it had one; BadInput when the seal is another text's."""
    content = text.encode(errors="replace")
    found = _SEAL.search(content)
    if found is None:
        return text, False
    body = content[: found.start()]
    _check(hashlib.sha256(body).hexdigest(), found[1])
    return body.decode(), True


def unsealed(text: str) -> tuple[str, list[str]]:
    """The output without its seal, and UNSEALED as a warning where it has none."""
    body, whole = unseal(text)
    return body, [] if whole else [UNSEALED]


def unsealed_bytes(stream: BinaryIO) -> tuple[int, bool]:
    """The same for a file too large to hold: how many of its bytes are output, and whether it has a seal.

    The stream is left at its start.
    """
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _SEAL_BYTES))
    found = _SEAL.search(stream.read())
    stream.seek(0)
    if found is None:
        return size, False
    left, digest = size - _SEAL_BYTES, hashlib.sha256()
    while left:
        chunk = stream.read(min(left, 1 << 20))
        digest.update(chunk)
        left -= len(chunk)
    stream.seek(0)
    _check(digest.hexdigest(), found[1])
    return size - _SEAL_BYTES, True


def _check(computed: str, printed: bytes) -> None:
    if computed.encode() != printed:
        raise BadInput("the output was changed after it was printed, its SHA-256 differs: run it again")
