# SPDX-License-Identifier: MIT
"""The mail 0/N before a series, as `git format-patch --cover-letter` writes it."""

import re
import textwrap
from collections.abc import Sequence
from email import message_from_bytes, policy
from email.utils import parseaddr

from lockscale.kernels.diffstat import WIDTH, diffstat
from lockscale.kernels.mail import MBOX_LINE, place, subject_of

# What git and quilt take for the start of a mail, a patch or a signature, at the start of a line.
STARTS = re.compile(r"^(?=From |diff |Index: |---|-- $)", re.MULTILINE)
SENT = re.compile(rb"^(?:From|Date): .*\n(?:[ \t].*\n)*", re.MULTILINE)
LETTER = """\
{sent}Subject: [{rfc}PATCH {place}] {title}
MIME-Version: 1.0
Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: 8bit

{text}
{listed}
{counted}"""


def cover_letter(title: str, text: str, mails: Sequence[bytes], *, rfc: bool = False) -> bytes:
    """The mail 0/N: `text`, the patches by author, the diffstat of all; author and date are the first one's.

    git format-patch keeps it in a file of its own too: git am stops at a mail without a patch.
    """
    sent = b"".join(SENT.findall(mails[0].partition(b"\n\n")[0] + b"\n"))
    letter = LETTER.format(
        sent=sent.decode(errors="replace"),
        rfc="RFC " if rfc else "",
        place=place(0, len(mails)),
        title=title,
        text=STARTS.sub(" ", text),
        listed=_shortlog(mails),
        counted=diffstat(mails),
    )
    return MBOX_LINE + letter.encode()


def _shortlog(mails: Sequence[bytes]) -> str:
    """Each author with the subjects of his patches in their order, as git shortlog prints them."""
    of_author: dict[str, list[str]] = {}
    for mail in mails:
        name, address = parseaddr(str(message_from_bytes(mail, policy=policy.default)["From"]))
        of_author.setdefault(name or address, []).append(subject_of(mail))
    return "\n".join(
        f"{author} ({len(subjects)}):\n" + "".join(map(_listed, subjects))
        for author, subjects in sorted(of_author.items())
    )


def _listed(subject: str) -> str:
    lines = textwrap.wrap(
        subject,
        WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "".join(f"{line}\n" for line in lines)
