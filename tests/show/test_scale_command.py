# SPDX-License-Identifier: MIT
"""`lockscale scale`: prints what it swept, keeps it when asked, and refuses a scheduler that is not there."""

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


def test_without_a_scheduler_it_is_simulated_here_and_nothing_listens(lockscale, monkeypatch):
    """Whoever reaches the port of a scheduler or a worker of Dask runs what he likes as its user."""
    clients: list[object] = []
    monkeypatch.setattr(scale, "scale_study", lambda swept, client: clients.append(client) or FOUND)
    assert lockscale("scale").status == 0 and clients == [None]


def test_what_the_draws_do_not_agree_on_and_a_second_rise_are_told():
    """A rate at the edge of a collapse is one draw's; N* of a curve that is flat and rises again is not of
    where it is flat."""
    curves = {"steady": (10, 19, 35, 60, 100), "again": (10, 19, 20, 20, 41), "falls": (10, 19, 12, 9, 8)}
    rates = pd.DataFrame(
        [
            {**COMMON, "arm": arm, "threads": 2**k, "metric": "throughput", "value": rate, "draws": "",
             "low": rate / (3 if (arm, k) == ("falls", 2) else 1.5), "high": rate, "most_time_at": None,
             "share_pct": None}
            for arm, of in curves.items()
            for k, rate in enumerate(of)
        ]
    )  # fmt: skip
    knees = FOUND[FOUND.metric == "saturates_at"]
    told = scale.scale_text(pd.concat([rates, knees])).splitlines()[-3:]
    assert told[0] == "create, falls at 4 threads: the draws do not agree, 4 to 12"
    assert (
        told[1].startswith("create, again: 20 at most until 8 threads, more again from 16 on")
        and "41" in told[1]
    )
    assert told[2] == "simulated", "the steady arm needs no remark"


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_refused_in_a_sentence(lockscale):
    said = lockscale("scale", "--dask", "tcp://127.0.0.1:1")
    assert said.status == 2 and "no Dask scheduler answers" in said.err


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(999.6, "1k"), (999.4, "999"), (999_600.0, "1M"), (999_400.0, "999k"), (1_234_567.0, "1.23M")],
)
def test_a_rate_just_below_a_thousand_has_no_exponent(rate: float, shown: str):
    here = FOUND.assign(value=FOUND.value.where(FOUND.threads != 1, rate))
    assert re.search(rf"create +a +creates/s +{re.escape(shown)} ", scale.scale_text(here))
