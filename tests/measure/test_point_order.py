# SPDX-License-Identifier: MIT
"""Inside a boot the loads of a point run forwards and then backwards, as the arms do between boots."""

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from lockscale.measure import arm_boot
from lockscale.measure.arm_boot import measure
from lockscale.measure.plan import Step
from lockscale.study.file import load_study

STUDY = load_study(
    "inode-claim", {"guests": [{"cpus": 4, "processes": [2]}], "operations_per_point": 100, "iterations": 2}
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What of a boot is measured, in its order, and of how many operations a process."""
    said: list[Any] = []
    loads = [
        SimpleNamespace(tool="fsload", operation="create"),
        SimpleNamespace(tool="fsload", operation="b"),
    ]

    @contextmanager
    def files(*_: object):
        yield

    def rate(_booted, point, _session, _loads):
        said.append((point.load.operation, point.items))
        yield point.load.operation

    def profiled(_machine, point, _cpus, _study, _session):
        said.append(("profiles", point.items))
        yield "profiles"

    for name, instead in (
        ("_files", files), ("_loads", lambda *_: loads), ("_age", lambda *_: None), ("_rate", rate),
        ("_profiles", profiled), ("items_each", lambda *_: 400),
    ):  # fmt: skip
        monkeypatch.setattr(arm_boot, name, instead)
    return said


def measured(iteration: int) -> list[Any]:
    booted = SimpleNamespace(
        machine=None, build_id="x", virtual_time=None, disk=object(), folder="", fsload=""
    )
    shown = SimpleNamespace(update=lambda *_: None)
    return measure(booted, STUDY, Step(1, "ab", iteration, iteration, "a", 4, (2,)), shown).readings


def test_the_loads_of_a_point_run_backwards_in_every_second_iteration(asked: list[Any]):
    assert measured(1) == ["create", "b", "profiles"] == measured(3)
    assert measured(2) == ["profiles", "b", "create"]
    assert [what for what, _ in asked] == ["create", "b", "profiles"] * 2 + ["profiles", "b", "create"]


def test_a_profile_is_of_no_more_operations_than_the_studys_own_number(asked: list[Any]):
    measured(1)
    assert asked == [("create", 400), ("b", 400), ("profiles", 50)]
