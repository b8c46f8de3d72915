# SPDX-License-Identifier: MIT
"""What a compiler sees of a source file, so that a patch of comments is told from a patch of code."""

import re

C_SOURCES = (".c", ".h")
# A string and a character keep what looks like a comment in them.
LITERAL_OR_COMMENT = re.compile(
    rb"""(?P<literal>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/|//[^\n]*""", re.DOTALL
)
NEVER_MERGES = re.compile(rb" ?([(){}\[\],;]) ?")


def code_of(name: str, content: bytes | None) -> bytes | None:
    """`content` without comments and with plain spacing; None for a file that is none, or no code.

    Two files with the same outcome compile to the same code, but for the line numbers in messages. The
    reverse is not promised. A file that is not C is code to the last byte, documentation is none.
    """
    if content is None or name.startswith("Documentation/"):
        return None
    if not name.endswith(C_SOURCES):
        return content
    bare = LITERAL_OR_COMMENT.sub(_kept, content.replace(b"\\\n", b""))
    lines = [b" ".join(line.split()) for line in bare.split(b"\n")]
    # A directive ends with its line; a blank in `#define f (x)` makes another macro.
    marked = (b"\n" + line + b"\n" if line.startswith(b"#") else line for line in lines if line)
    joined = re.split(rb"\n+", b" ".join(marked))
    return b"\n".join(_plain(line.strip()) for line in joined if line.strip())


def _kept(found: re.Match[bytes]) -> bytes:
    """A literal in a form that holds no blank and no bracket, or the blank that a comment is."""
    literal = found["literal"]
    return b'"' + literal.hex().encode() + b'"' if literal else b" "


def _plain(line: bytes) -> bytes:
    return line if line.startswith(b"#") else NEVER_MERGES.sub(rb"\1", line)
