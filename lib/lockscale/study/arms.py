# SPDX-License-Identifier: MIT
"""An arm of a study, and its role in it: a kernel with the file system's options, and its model."""

from typing import Annotated, Literal

import pydantic

from lockscale.filesystems import Options
from lockscale.study.checks import MountOption, Text
from lockscale.study.target_file import Name
from lockscale.yaml_text import Strict, spelt

# Nothing of them reaches a command line as a path, a second option or a control character.
MkfsWord = Annotated[
    str,
    spelt(r"[A-Za-z0-9_^=,.:%-]+", "write one word for mkfs, such as -O, no path: the target has the disk"),
]
Feature = Annotated[str, spelt(r"\^?[a-z0-9_-]+", "write a feature, with ^ where it must be off")]


class Arm(Strict):
    """A kernel with its file system's options, and its model.

    role: `unpatched` and `patched` are the two sides that are compared; the patches of a `proposed` one are
    meant for a list, too; a `variant`, whoever wrote it, is only measured beside them, and a `bound` is what
    no real kernel can do. series: the folder whose patches are this arm's, by default its own. mkfs to knobs:
    in addition to the study's; knobs are files of the file system's folder in sysfs. model: by default the
    study's. simulated: false where no model knows the arm. change: what it changes, as a commit message says
    it; where it is left out, the subjects of its patches.
    """

    name: Name
    role: Literal["unpatched", "patched", "variant", "proposed", "bound"]
    change: Text = ""
    series: Name | None = None
    mkfs: list[MkfsWord] = []
    mkfs_asserts: list[Feature] = []
    mount: list[MountOption] = []
    knobs: dict[Name, Annotated[int, pydantic.Field(ge=-(2**63), lt=2**64)]] = {}
    model: Name | None = None
    model_parameters: dict[str, bool | float] = {}
    simulated: pydantic.StrictBool = True

    @property
    def options(self) -> Options:
        """What it adds to the study's own."""
        return Options(mkfs=self.mkfs, mkfs_asserts=self.mkfs_asserts, mount=self.mount, knobs=self.knobs)


def with_two_sides(arms: list[Arm]) -> list[Arm]:
    """The arms, whose names differ and which hold both sides of a patch; ValueError is pydantic's."""
    names, roles = [arm.name for arm in arms], {arm.role for arm in arms}
    if len(set(names)) < len(names):
        raise ValueError("two arms have the same name")
    if not {"unpatched", "patched"} <= roles:
        raise ValueError("an arm of role unpatched and one of role patched are needed")
    return arms
