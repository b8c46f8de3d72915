# SPDX-License-Identifier: MIT
"""The texts in kernel-patches: read, as TOML, and as mails that git am takes."""

import re
import tomllib
from collections.abc import Sequence
from email import message_from_bytes, policy
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
        raise BadInput(f"{path} is not TOML ({error}): fix it") from None
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{path}: {where}: {first['msg'].removeprefix('Value error, ')}") from None


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
            f"{patch} is not a mail as git format-patch writes it (From:, Subject:, text, `---`, "
            "`diff --git`): make it with git format-patch"
        )
    return content if content.startswith(b"From ") else MBOX_LINE + content


def refuse_crlf(patch: Path) -> None:
    """Refuse a patch that was saved with CRLF; a hunk of a file that has CRLF itself is no reason."""
    with patch.open("rb") as stream:
        if stream.readline().endswith(b"\r\n"):
            raise BadInput(f"{patch} has CRLF line endings: save it with LF, as git format-patch writes it")


COLUMNS = 75
"""scripts/checkpatch.pl: "Prefer a maximum 75 chars per line"."""
PREFIX = re.compile(r"^\[[^\]]*\]\s*")
SUBJECT = re.compile(rb"^Subject: (?:\[([^\]\n]*)\] )?", re.MULTILINE)
NUMBER = re.compile(rb"\d+/\d+")


def numbered(mails: Sequence[bytes], *, rfc: bool = False) -> list[bytes]:
    """The mails with n/N in their subjects, in place of any number that was there; rfc: not to be merged."""
    first = b"RFC " if rfc else b""
    count = len(mails)
    return [_numbered(mail, place(at, count).encode(), first) for at, mail in enumerate(mails, start=1)]


def place(at: int, count: int) -> str:
    """n/N of a mail as git writes it: n has as many digits as N. 0 is the cover letter."""
    return f"{at:0{len(str(count))}}/{count}"


def _numbered(mail: bytes, number: bytes, first: bytes) -> bytes:
    head, end, body = mail.partition(b"\n\n")

    def prefix(found: re.Match[bytes]) -> bytes:
        words = [word for word in (found[1] or b"PATCH").split() if not NUMBER.fullmatch(word)]
        return b"Subject: [" + (b"" if b"RFC" in words else first) + b" ".join([*words, number]) + b"] "

    return SUBJECT.sub(prefix, head, count=1) + end + body


def subject_of(mail: bytes) -> str:
    """Without [PATCH n/N]."""
    return PREFIX.sub("", str(message_from_bytes(mail, policy=policy.default)["Subject"]))
