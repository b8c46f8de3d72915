# SPDX-License-Identifier: MIT
"""What can be explored: the scenes of all studies, and what the controls say of each."""

from functools import cache

from lockscale.errors import BadInput
from lockscale.studies.registry import studies
from lockscale.studies.scene import Scene
from lockscale.study.file import load_study

LOCK_KINDS = ("queued", "ticket", "unfair", "test_and_set", "sleeping", "mutex")
"""Of the model any_lock; all but the first are its switches."""
TIMES = {"hold": "hold_ns", "elsewhere": "elsewhere_us"}
"""Slider -> the parameter that every scene's model has for it."""


@cache
def scenes() -> tuple[Scene, ...]:
    """Those of every study, in the order of the studies; read once, as a slider that moves asks again."""
    return tuple(scene for one in studies() if one.scenes for scene in one.scenes(load_study(one.name)))


def scene(name: str) -> Scene:
    """The scene of that name. Raises BadInput for another."""
    for one in scenes():
        if one.name == name:
            return one
    raise BadInput(f"there is no scene {name!r}: there are {', '.join(one.name for one in scenes())}")
