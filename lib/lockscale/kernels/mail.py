# SPDX-License-Identifier: MIT
"""A patch as the mail that git am takes, which `git format-patch` writes."""

import re
from pathlib import Path

from lockscale.errors import BadInput

MBOX_LINE = b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
END_OF_MESSAGE = b"\n---\n"  # git am drops what stands between this line and the first diff


def read_mail(patch: Path) -> bytes:
    """The mail with its first line and one empty line at its end; BadInput for a bare diff."""
    content = patch.read_bytes().rstrip(b"\n") + b"\n\n"
    head = content.partition(b"\n\n")[0]
    message_ends, diff = content.find(END_OF_MESSAGE), content.find(b"\ndiff --git ")
    is_mail = all(re.search(rb"^%s: \S" % name, head, re.MULTILINE) for name in (b"From", b"Subject"))
    if not (is_mail and 0 <= message_ends < diff):
        raise BadInput(
            f"{patch} is no mail that git am takes (From:, Subject:, text, `---`, diff): "
            "make it with git format-patch"
        )
    return content if content.startswith(b"From ") else MBOX_LINE + content


def refuse_crlf(patch: Path) -> None:
    """Refuse a patch that was saved with CRLF; a hunk of a file that has CRLF itself is no reason."""
    with patch.open("rb") as stream:
        if stream.readline().endswith(b"\r\n"):
            raise BadInput(f"{patch} has CRLF line ends: save it with LF, as git format-patch writes it")
