# SPDX-License-Identifier: MIT
"""A guest that fails costs no figure of another boot. No guest: one boot's figures are replaced."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput, FullDisk, RunFailed
from lockscale.kernels.series import Series
from lockscale.prove import locality as locality_module
from lockscale.prove.locality import localities
from lockscale.study.file import Target, load_target

BEFORE, OURS = (Series("s", arm, Path(), ()) for arm in ("before", "ours"))


@dataclass(frozen=True)
class Figure:
    said: str

    def as_json(self) -> str:
        return self.said


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, BaseException]:
    """Two ways of writing a boot; a boot that the dictionary names fails after the first."""
    errors: dict[str, BaseException] = {}

    def boot(series: Series, _target: Target, iteration: int, _state: str) -> Iterator[Figure]:
        name = f"{series.arm} {iteration}"
        yield Figure(f"{name} moving")
        if name in errors:
            raise errors[name]
        yield Figure(f"{name} pinned")

    monkeypatch.setattr(paths, "RUNS", tmp_path)
    monkeypatch.setattr(locality_module, "locality", boot)
    monkeypatch.setattr(locality_module, "refuse_bad_surroundings", lambda **_: None)
    return errors


def kept(runs: Path) -> list[str]:
    (path,) = runs.glob("locality-*/locality.json")
    return list(json.loads(path.read_text()))


def both() -> list[str]:
    return [one.as_json() for one in localities([BEFORE, OURS], load_target("qemu"), 2)]


@pytest.mark.parametrize("error", [RunFailed("the guest hung"), BadInput("1.patch does not apply")])
def test_a_boot_that_fails_is_named_at_the_end_and_costs_no_other(failing, tmp_path: Path, error: Exception):
    failing["ours 1"] = error
    with pytest.raises(RunFailed) as failed:
        both()
    assert str(failed.value).startswith(f"1 of 4 boots failed (s/ours, iteration 1: {error}): 7 figure(s)")
    assert str(next(tmp_path.glob("locality-*"))) in str(failed.value)
    assert kept(tmp_path) == [
        "before 1 moving", "before 1 pinned", "ours 1 moving", "ours 2 moving", "ours 2 pinned",
        "before 2 moving", "before 2 pinned",
    ]  # fmt: skip


@pytest.mark.parametrize("error", [KeyboardInterrupt(), FullDisk("a full disk is no boot's fault")])
def test_figures_are_kept_as_they_come(failing, tmp_path: Path, error: BaseException):
    failing["ours 2"] = error
    with pytest.raises(type(error)):
        both()
    assert kept(tmp_path)[-1] == "ours 2 moving"


def test_what_is_given_back_is_what_is_kept(failing, tmp_path: Path):
    assert not failing and both() == kept(tmp_path) and len(kept(tmp_path)) == 8
