# SPDX-License-Identifier: MIT
"""The changelog's text in the other forms in which people are told: a series' cover letter, a ticket."""

import re
from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.kernels.cover_letter import cover_letter
from lockscale.report.changelog import Block, as_text
from lockscale.study import Study

FORMS = {"changelog": "changelog.txt", "cover": "cover-letter.patch", "ticket": "ticket.md"}
"""Form -> how the name of its file ends."""
MARKDOWN = re.compile(r"([\\`*<>\[\]#|])")


def as_form(form: str, study: Study, blocks: list[Block], mails: Sequence[bytes]) -> str:
    """The text in one of FORMS; `mails` are the patches that a cover letter goes before."""
    if form == "changelog":
        return as_text(blocks)
    return ticket(study, blocks) if form == "ticket" else cover(study, blocks, mails)


def cover(study: Study, blocks: list[Block], mails: Sequence[bytes]) -> str:
    """[PATCH 0/N] of a series, its text the changelog's. Raises BadInput where no arm has a patch."""
    if not mails:
        raise BadInput(f"no measured arm of {study.name} has a patch: there is nothing to write a cover for")
    title = f"{study.name}: {study.metric} of {' and '.join(arm.name for arm in study.arms)}"
    return cover_letter(title, as_text(blocks), mails).decode()


def ticket(study: Study, blocks: list[Block]) -> str:
    """Markdown as issue trackers show it: prose as prose, tables in fences, which keep their columns."""
    parts = [f"### {_escaped(study.question)}"]
    parts += [f"```\n{one.text}\n```" if one.fixed else _escaped(one.text) for one in blocks]
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", text)
