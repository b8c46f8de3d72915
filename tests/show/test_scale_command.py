# SPDX-License-Identifier: MIT
"""`lockscale scale`: prints what it swept, keeps it when asked, and refuses a scheduler that is not there."""

import contextlib
from pathlib import Path

import pandas as pd
import pytest

from lockscale.show import scale

FOUND = pd.DataFrame(
    [{"path": "create", "arm": "a", "threads": 2, "value": 1.5, "most_time_at": None, "origin": "simulated"}]
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(scale, "scale_study", lambda swept, client: FOUND)
    monkeypatch.setattr("lockscale.sweeps.local_cluster", lambda: contextlib.nullcontext("client"))
    monkeypatch.setattr(scale, "KEPT", tmp_path / "scale.csv")
    return tmp_path / "scale.csv"


def test_it_prints_rows_and_keeps_them_only_when_asked(lockscale, quick: Path):
    (row,) = lockscale("scale", "--json").value
    assert row == {**FOUND.iloc[0], "most_time_at": None} and not quick.exists()
    assert "simulated" in lockscale("scale", "--keep").out
    assert list(pd.read_csv(quick).value) == [1.5]


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_refused_in_a_sentence(lockscale):
    said = lockscale("scale", "--dask", "tcp://127.0.0.1:1")
    assert said.status == 2 and "no Dask scheduler answers" in said.err
