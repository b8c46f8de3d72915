# SPDX-License-Identifier: MIT
"""Which two arms of a study a text compares, and what the second one changes."""

from pathlib import Path

from lockscale.errors import BadInput
from lockscale.kernels.mail import read_mail, subject_of
from lockscale.study.study import Arm, Study

SUBMITTED = ("patched", "proposed")
"""Roles of arms whose patches are meant for a list; the others are only measured beside them."""


def change_of(study: Study, arm: Arm) -> str:
    """What an arm changes: as the study says it, else the subjects of its patches, else nothing."""
    if arm.change:
        return arm.change
    subjects = subjects_of(study, arm.name)
    return f"The change: {'; '.join(subjects)}." if subjects else ""


def patches_between(study: Study, before: Arm, after: Arm) -> tuple[Path, ...]:
    """The patches that take the first arm to the second one; all of its own where the first has others."""
    old, new = study.series_of(before.name).patches, study.series_of(after.name).patches
    is_on_top = [path.resolve() for path in new[: len(old)]] == [path.resolve() for path in old]
    return new[len(old) :] if is_on_top else new


def subjects_of(study: Study, arm: str) -> list[str]:
    """Of its patches, in order, without [PATCH n/N]; of those on top of the unpatched arm's alone."""
    between = patches_between(study, study.unpatched, study.arm(arm))
    return [subject_of(read_mail(patch)) for patch in between]


def submitted(study: Study) -> Study:
    """The study of two arms alone: the first one with patches to submit, and the base they apply to.

    That is the bare base, or the unpatched arm where its patches come first. Raises BadInput where no arm of
    role patched or proposed has a patch, or no arm is such a base.
    """
    arms = [arm for role in SUBMITTED for arm in study.arms if arm.role == role]
    ours = next((arm for arm in arms if study.series_of(arm.name).patches), None)
    if ours is None:
        raise BadInput(
            f"no arm of {study.name} of role {' or '.join(SUBMITTED)} has a patch, so there is nothing to "
            f"submit and no cover letter: leave cover out of --format"
        )
    return between(study, base_of(study, ours), ours)


def between(study: Study, before: Arm, after: Arm) -> Study:
    """The study with these two as its unpatched and its patched side, and no other arm.

    Its problem is that of the kernel before: a study's own may be one that this kernel has no more.
    """
    sides = [before.model_copy(update={"role": "unpatched"}), after.model_copy(update={"role": "patched"})]
    told = {"problem": after.problem or study.problem, "story": after.story or study.story}
    return study.model_copy(update={"arms": sides, **told})


def base_of(study: Study, ours: Arm) -> Arm:
    """The arm without patches that `ours` is compared with: mounted alike, if there is such a one.

    With the same knobs, too, or else with others: those that a patch adds exist in its own kernel alone.
    """
    bare = [arm for arm in study.arms if not study.series_of(arm.name).patches]
    options = study.options_of(ours.name)
    alike = [arm for arm in bare if study.options_of(arm.name) == options]
    mounted = options.model_copy(update={"knobs": {}})
    alike += [a for a in bare if study.options_of(a.name).model_copy(update={"knobs": {}}) == mounted]
    found = next(iter(alike), None) or next((arm for arm in bare if arm.role == "unpatched"), None)
    if found is None and patches_between(study, study.unpatched, ours) != study.series_of(ours.name).patches:
        found = study.unpatched
    if found is None:
        raise BadInput(
            f"no arm of {study.name} is the unpatched base that {ours.name} could be compared with: "
            f"measure one without patches and with the same mount options"
        )
    return found
