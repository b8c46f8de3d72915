# SPDX-License-Identifier: MIT
"""A claim is undecided only as long as its table lacks what would decide it."""

import pytest

from lockscale.show.audit import audit
from lockscale.tables import claim, published
from lockscale.tables.claim import Gap

WORK = Gap("work", "the amount of work", "metric", "operations")
SLEEP = Gap("sleep", "how long it sleeps", "sleep_us")


@pytest.mark.parametrize("gap", [WORK, SLEEP])
def test_a_missing_number_is_unknown_and_says_where_it_was_searched(gap):
    line, provenance = claim.unstated("s4_stress_orphan", gap)
    assert line["verdict"] == "unknown" and line["recomputed"] is None
    assert line["note"] == f"the source does not state {gap.missing}"
    assert "20210816092309.26842-5-jack@suse.cz" in line["searched"]
    assert provenance["claim"].startswith("the source states machine")


def test_a_number_that_came_closes_the_gap(monkeypatch):
    frame = published("s4_stress_orphan")
    frame.loc[0, "metric"] = "operations"
    monkeypatch.setattr(claim, "published", lambda name: frame.assign(sleep_us=5))
    assert [row["claim"] for row in claim.unstated("s4_stress_orphan", WORK, SLEEP)] == [
        "the source states machine, kernel, mkfs, command"
    ]


def test_the_prototypes_base_is_judged_by_speed_once_it_is_stated(monkeypatch):
    frame = published("s2_five_runs")
    monkeypatch.setattr(claim, "published", lambda name: frame.assign(applied_to="without 28276"))
    (line,) = [row for row in audit("s2_five_runs") if "sat on" in row["claim"]]
    assert line["verdict"] == "holds" and line["searched"] is None


def test_stars_are_left_to_a_real_test_once_the_runs_are_published(monkeypatch):
    frame = published("s4_creat_clo")
    frame.loc[0, "statistic"] = "single"
    monkeypatch.setattr("lockscale.studies.orphan_file_tables.published", lambda name: frame)
    assert not [row for row in audit("s4_creat_clo") if "starred" in row["claim"]]
