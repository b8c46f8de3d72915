# SPDX-License-Identifier: MIT
"""The mails of a series as a list takes them: [PATCH 0/N] that says why, and the patches 1/N to N/N."""

import re
from collections.abc import Sequence
from email import message_from_bytes, policy

from lockscale.kernels.mail import MBOX_LINE

SUBJECT = re.compile(rb"^Subject: (?:\[([^\]\n]*)\] )?", re.MULTILINE)
NUMBER = re.compile(rb"\d+/\d+")
# What git and quilt take for the start of a mail, a patch or a signature, at the start of a line.
STARTS = re.compile(r"^(?=From |diff |Index: |---|-- $)", re.MULTILINE)
SENT = re.compile(rb"^(?:From|Date): .*\n(?:[ \t].*\n)*", re.MULTILINE)
LETTER = """\
{sent}Subject: [PATCH 0/{count}] {title}
MIME-Version: 1.0
Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: 8bit

{text}
Patches:
{listed}"""


def numbered(mails: Sequence[bytes]) -> list[bytes]:
    """The mails with n/N in their subjects, in place of any number that was there."""
    return [_numbered(mail, f"{at}/{len(mails)}".encode()) for at, mail in enumerate(mails, start=1)]


def _numbered(mail: bytes, number: bytes) -> bytes:
    head, end, body = mail.partition(b"\n\n")

    def prefix(found: re.Match[bytes]) -> bytes:
        words = [word for word in (found[1] or b"PATCH").split() if not NUMBER.fullmatch(word)]
        return b"Subject: [" + b" ".join([*words, number]) + b"] "

    return SUBJECT.sub(prefix, head, count=1) + end + body


def cover_letter(title: str, text: str, mails: Sequence[bytes]) -> bytes:
    """The mail 0/N with `text` and the subjects of the patches; author and date are the first one's.

    `git format-patch --cover-letter` keeps it in a file of its own too: git am stops at a mail without
    a patch.
    """
    subjects = [str(message_from_bytes(mail, policy=policy.default)["Subject"]) for mail in mails]
    sent = b"".join(SENT.findall(mails[0].partition(b"\n\n")[0] + b"\n"))
    letter = LETTER.format(
        sent=sent.decode(errors="replace"),
        count=len(mails),
        title=title,
        text=STARTS.sub(" ", text),
        listed="".join(f"  {subject}\n" for subject in subjects),
    )
    return MBOX_LINE + letter.encode()
