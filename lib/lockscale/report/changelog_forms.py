# SPDX-License-Identifier: MIT
"""The changelog's text in the other forms in which people are told: a series' cover letter, a ticket."""

import re
import textwrap
from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.kernels.cover_letter import cover_letter
from lockscale.report.changelog import Block, as_text
from lockscale.study import Study

FORMS = {"changelog": "changelog.txt", "cover": "cover-letter.patch", "ticket": "ticket.md"}
"""Form -> how the name of its file ends."""
SUBJECT_COLUMNS = 75  # as git and checkpatch like a subject, [PATCH 0/N] included
MARKDOWN = re.compile(r"([\\`*<>\[\]#|])")


def as_form(form: str, study: Study, blocks: list[Block], mails: Sequence[bytes]) -> str:
    """The text in one of FORMS; `mails` are the patches that a cover letter goes before."""
    if form == "changelog":
        return as_text(blocks)
    return ticket(study, blocks) if form == "ticket" else cover(study, blocks, mails)


def cover(study: Study, blocks: list[Block], mails: Sequence[bytes]) -> str:
    """[PATCH 0/N] of a series, its text the changelog's. Raises BadInput where no arm has a patch.

    The subject names the upstream arm, and ends at a word within SUBJECT_COLUMNS.
    """
    if not mails:
        raise BadInput(f"no measured arm of {study.name} has a patch: there is nothing to write a cover for")
    title = f"{study.name}: {study.metric} with {study.arm('upstream').name}"
    room = SUBJECT_COLUMNS - len(f"[PATCH 0/{len(mails)}] ")
    title = textwrap.shorten(title, room, placeholder=" ...", break_on_hyphens=False)
    return cover_letter(title, as_text(blocks), mails).decode()


def ticket(study: Study, blocks: list[Block]) -> str:
    """Markdown as issue trackers show it: prose as prose, tables in fences, which keep their columns.

    A paragraph is one line however long: trackers wrap it, and some show a line's end as a break.
    """
    parts = [f"### {_escaped(study.question)}"]
    parts += [f"```\n{one.text}\n```" if one.fixed else _escaped(one.text) for one in blocks]
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", text)
