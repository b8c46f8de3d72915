# SPDX-License-Identifier: MIT
"""`lockscale scale`: prints what it swept, keeps it when asked, and refuses a scheduler that is not there."""

import contextlib
import re
from pathlib import Path

import pandas as pd
import pytest

from lockscale.show import scale

COMMON = {"path": "create", "unit": "creates/s", "origin": "simulated"}
RATES = {"a": (1_000.0, 1_900.0, 2_500.0), "b": (1_000.0, 1_990.0, 3_900.0)}
KNEES = {"a": 2.6, "b": 3.9}
FOUND = pd.DataFrame(
    [
        {**COMMON, "arm": arm, "threads": n, "metric": "throughput", "value": rate, "low": rate, "high": rate,
         "draws": "1 2", "most_time_at": "a lock" if n > 2 else None, "share_pct": 80.0}
        for arm, rates in RATES.items()
        for n, rate in zip((1, 2, 3), rates, strict=True)
    ]
    + [
        {**COMMON, "arm": arm, "threads": 0, "metric": "saturates_at", "unit": "threads", "value": at,
         "low": at, "high": at, "draws": "1 2", "most_time_at": None, "share_pct": None}
        for arm, at in KNEES.items()
    ]
)  # fmt: skip


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(scale, "scale_study", lambda swept, client: FOUND)
    monkeypatch.setattr("lockscale.sweeps.local_cluster", lambda: contextlib.nullcontext("client"))
    monkeypatch.setattr(scale, "KEPT", tmp_path / "scale.csv")
    return tmp_path / "scale.csv"


def test_it_prints_rows_and_keeps_them_only_when_asked(lockscale, quick: Path):
    rows = lockscale("scale", "--json").value
    assert [row["value"] for row in rows] == list(FOUND.value) and not quick.exists()
    assert rows[0]["most_time_at"] is None and rows[0]["draws"] == "1 2"
    said = lockscale("scale", "--keep").out
    assert list(pd.read_csv(quick).value) == list(FOUND.value)
    knees, rates = said.split("Rates by threads")
    assert re.search(r"create +a +2\.6 +2\.6 +2\.6 +3 +a lock +80", knees)
    assert re.search(r"create +b +- +- +- +3 ", knees), "3.9 threads were not simulated"
    assert re.search(r"create +a +creates/s +1k +1\.9k +2\.5k", rates) and said.rstrip().endswith("simulated")


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_refused_in_a_sentence(lockscale):
    said = lockscale("scale", "--dask", "tcp://127.0.0.1:1")
    assert said.status == 2 and "no Dask scheduler answers" in said.err
