# SPDX-License-Identifier: MIT
"""A measured study's text in its three forms: for a commit, before a series, in an issue tracker."""

import re
import textwrap
from dataclasses import replace

from lockscale.kernels.mail import cover_letter, read_mail
from lockscale.show.changelog import letter_of
from lockscale.show.commit_text import Letter, Paragraph, as_text, below_of, message_of
from lockscale.show.story import Story
from lockscale.study.compared_arms import patches_between, subjects_of, submitted
from lockscale.study.file import Study

FORMS = {"changelog": "changelog.txt", "cover": "cover-letter.patch", "ticket": "ticket.md"}
"""Form -> how the name of its file ends."""
SUBJECT_COLUMNS = 75  # as git and checkpatch like a subject, [PATCH 0/N] included
MARKDOWN = re.compile(r"([\\`*<>\[\]#|])")


def in_form(form: str, story: Story) -> str:
    """The text of a measured study in one of FORMS.

    A cover letter compares the arm whose patches it goes before with the base that they apply to. Raises
    BadInput where no arm has patches to submit.
    """
    if form == "cover":
        sides = submitted(story.study)
        return cover(sides, letter_of(replace(story, study=sides)))
    letter = letter_of(story)
    return ticket(story.study, letter) if form == "ticket" else as_text(letter)


def cover(study: Study, letter: Letter) -> str:
    """[PATCH 0/N] of the patched arm's series; the protocol stands below the list of its patches."""
    mails = [read_mail(patch) for patch in patches_between(study, study.unpatched, study.patched)]
    room = SUBJECT_COLUMNS - len(f"[PATCH 0/{len(mails)}] ")
    title = textwrap.shorten(_title(study), room, placeholder=" ...", break_on_hyphens=False)
    head = cover_letter(title, message_of(letter), mails).decode()
    return f"{head}\nHow it was measured:\n\n{below_of(letter)}"


def _title(study: Study) -> str:
    """The subject of the one patch, or what several of them are for."""
    subjects = subjects_of(study, study.patched.name)
    if len(subjects) == 1:
        return subjects[0]
    return f"{study.filesystem}: {study.metric.partition(',')[0]} with {study.patched.name}"


def ticket(study: Study, letter: Letter) -> str:
    """Markdown as issue trackers show it: prose as prose, tables in fences, which keep their columns.

    A paragraph is one line however long: trackers wrap it, and some show a line's end as a break.
    """
    parts = [f"### {_escaped(study.question)}", *map(_markdown, letter.message)]
    parts += ["#### How it was measured", *map(_markdown, letter.below)]
    return "\n\n".join(parts) + "\n"


def _markdown(one: Paragraph) -> str:
    return f"```\n{one.text}\n```" if one.fixed else _escaped(one.text)


def _escaped(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", text)
