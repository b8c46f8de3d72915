# SPDX-License-Identifier: MIT
"""An unsafe arm that is left out beside safe ones is named with its reason. No guest."""

import json
from collections.abc import Sequence

import pytest

from lockscale.cli import main
from lockscale.kernels.series import Series
from lockscale.prove import locality as locality_module
from lockscale.prove import soak as soak_module
from lockscale.prove.soak import Soaked

SAID = "orphan-file/orphan-off is left out: unsafe (orphan inodes are not tracked"


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arms that a command goes on with."""
    arms: list[str] = []

    def soak_all(chosen: Sequence[Series], kind: str, *_: object) -> list[Soaked]:
        arms.extend(series.arm for series in chosen)
        return [Soaked(one.study, one.arm, kind, 120, 7, (), ()) for one in chosen]

    def localities(chosen: Sequence[Series], *_: object) -> list[object]:
        arms.extend(series.arm for series in chosen)
        return []

    monkeypatch.setattr(soak_module, "soak_all", soak_all)
    monkeypatch.setattr(locality_module, "localities", localities)
    return arms


@pytest.mark.parametrize("command", ["soak", "locality"])
def test_what_is_left_out_is_said_beside_the_result(
    loaded: list[str], capsys: pytest.CaptureFixture[str], command: str
):
    with pytest.raises(SystemExit, match="0"):
        main(["patches", command, "orphan-file", "--json"])
    said = capsys.readouterr()
    assert loaded == ["orphan-locked", "orphan-lockless", "orphan-mutex"]
    assert said.err.count("\n") == 1 and said.err.startswith(SAID)
    assert isinstance(json.loads(said.out), list)


@pytest.mark.parametrize("command", ["soak", "locality"])
def test_where_all_are_safe_nothing_is_said(
    loaded: list[str], capsys: pytest.CaptureFixture[str], command: str
):
    with pytest.raises(SystemExit, match="0"):
        main(["patches", command, "inode-claim", "--json"])
    assert capsys.readouterr().err == "" and loaded == ["search-locked", "steal-retry"]


@pytest.mark.parametrize("command", ["soak", "locality"])
def test_an_unsafe_arm_alone_is_refused(loaded: list[str], capsys: pytest.CaptureFixture[str], command: str):
    with pytest.raises(SystemExit, match="2"):
        main(["patches", command, "orphan-file/orphan-off"])
    assert "orphan-off is unsafe" in capsys.readouterr().err and not loaded
