# SPDX-License-Identifier: MIT
"""Published points in the simulator's unit, and predictions beside what was published of them."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lockscale.errors import BadInput
from lockscale.predict.predicted_against_measured import NO, YES, judge_guests, judge_published
from lockscale.show.figures.formats import alt_text
from lockscale.show.figures.study import counted_against_unpatched, table_beside_simulated
from lockscale.show.simulated import (
    errors,
    simulate_points,
    simulated_points,
    table_points,
    unfitted_check,
)
from lockscale.sim import load_model
from lockscale.study.file import Study, list_studies, load_study
from lockscale.study.tables import StudyTable, published_table
from lockscale.tables import describe
from small_study import ARMS, study_of


def simulated(*points: tuple[str, int, float]) -> pd.DataFrame:
    """Points of a single replication, which have no interval."""
    found = pd.DataFrame(points, columns=["arm", "threads", "value"])
    return found.assign(low=float("nan"), high=float("nan"), runs=found.value.map(str))


def published_points(study: Study, points: pd.DataFrame) -> pd.DataFrame:
    return table_points(study, points, published_table(study.tables[0]))


def test_rates_of_containers_are_added_up():
    study = load_study("group-trylock")
    said = published_points(study, simulated())
    base = said[said.arm == "wait-group"].set_index("threads").value
    assert base[2] == 2 * 70665 and base[64] == 64 * 3588 and set(said.origin) == {"published"}
    assert set(said.note) == {"containers x rate of one"}


def test_times_of_an_unpublished_amount_of_work_are_scaled_at_the_floor():
    study = load_study("orphan-file")
    said = published_points(study, simulated(("orphan-off", 1, 5000.0), ("orphan-off", 2, 1.0)))
    by = said.set_index(["arm", "threads"]).value
    assert by["orphan-off", 1] == pytest.approx(5000)
    assert by["orphan-lockless", 2] == pytest.approx(5000 * 2 * 0.8912 / 1.2466)  # S4: times in seconds
    table = errors(simulated(("orphan-off", 1, 5000.0), ("orphan-mutex", 1, 1.0)), said)
    assert table.to_dict("records") == [
        {
            "arm": "orphan-off",
            "threads": 1,
            "simulated": 5000.0,
            "in_table": pytest.approx(5000),
            "origin_of_table": "published",
            "error_pct": pytest.approx(0, abs=1e-9),
        }
    ]


def published_beside(model: str, threads: list[int], **parameters: object) -> list[dict[str, Any]]:
    found = simulate_points(model, threads, parameters, replications=1, operations=2000, seed=1)
    points = {point["threads"]: point["value"] for point in found["points"]}
    rows = found.get("published", [])
    assert all(row["simulated"] == pytest.approx(points[row["threads"]]) for row in rows)
    return rows


def test_a_simulated_arm_stands_beside_what_was_published_of_it():
    """S1's three iterations; S3's rate of one of 2 containers; S2's two tables of one arm."""
    (s1,) = published_beside("inode_claim", [48, 7])
    assert (s1["arm"], s1["threads"], s1["published"]) == ("steal-retry", 48, pytest.approx(80124, abs=1))
    (s3,) = published_beside("group_goals", [2, 3], inode_goal=True)
    assert (s3["arm"], s3["published"]) == ("inode-goal-scan0", 2 * s3_of("linear", 2))
    s2 = published_beside("write_access", [48])
    assert [row["table"] for row in s2] == ["s2_mds_survey", "s2_five_runs"]
    assert {row["arm"] for row in s2} == {"slow-retry"}


def s3_of(arm: str, containers: int) -> float:
    """One container's rate, as printed."""
    rows = published_table("s3_fallocate2").frame
    rows = rows[(rows.arm_published == arm) & (rows.threads == containers)]
    return float(rows[rows.metric == "fallocate_rate"].value.iloc[0])


def test_nothing_is_beside_other_parameters_or_times_of_an_unpublished_amount_of_work():
    assert published_beside("inode_claim", [48], hold_ns=100.0) == []
    assert published_beside("orphan_file", [64]) == []


def test_each_of_two_loads_of_a_study_stands_beside_its_own_model():
    """S4's reaim is none of the model of its stress-orphan, in whose arms the same lists are."""
    rates = published_table("s4_creat_clo").frame
    patched = rates[
        (rates.arm == "orphan-lockless") & (rates.threads == 31) & (rates.statistic == "mean_of_5")
    ]
    (row,) = published_beside("creat_clo", [31, 32], patched=True)
    assert (row["table"], row["arm"], row["published"]) == ("s4_creat_clo", "orphan-lockless", *patched.value)
    assert published_beside("orphan_file", [1, 9, 31]) == []


def test_without_a_point_in_common_there_is_no_scale():
    with pytest.raises(BadInput, match=r"no thread count of orphan-off, .* both published and simulated"):
        published_points(load_study("orphan-file"), simulated(("orphan-off", 3, 1.0)))


def test_a_table_of_costs_has_no_points():
    with pytest.raises(BadInput, match="tables: s1_function_cost has no rates: name one"):
        table_points(load_study("inode-claim"), simulated(), published_table("s1_function_cost"))


def test_a_study_of_a_lock_that_no_model_has_shows_its_table_alone(tmp_path: Path):
    study = study_of(arms=[{**arm, "simulated": False} for arm in ARMS])
    points = simulated_points(study)
    assert points.empty and {"arm", "threads", "value", "runs"} <= set(points)
    rates = {"arm": study.sides, "threads": 8, "metric": "rate", "statistic": "", "unit": "ops/s"}
    frame = pd.DataFrame({**rates, "value": [100.0, 200.0], "origin": "hardware"})
    table = StudyTable("rates.csv", frame, tmp_path / "rates.csv")
    in_table = table_points(study, points, table)
    drawn = table_beside_simulated(study, points, in_table, table)
    assert drawn.layout.meta["title"] == "s: measured on hardware" and "calibrated" not in alt_text(drawn)
    assert [list(one.y) for one in drawn.data] == [[100.0], [200.0]]
    assert errors(points, in_table).empty


def test_extremes_and_removals_are_no_points():
    s1 = published_points(load_study("inode-claim"), simulated())
    assert len(s1) == 6 and set(s1.threads) == {48}
    s2 = published_points(load_study("write-access"), simulated())
    assert s2.set_index("arm").value.to_dict() == {"slow-retry": 119346.25, "fast-retry": 35689.72}


def test_a_figure_has_the_arms_that_are_simulated_or_published():
    study = load_study("group-trylock")
    points = simulated(("wait-group", 1, 2e5), ("goal-spread", 1, 3e5))
    said = published_points(study, points)
    drawn = table_beside_simulated(study, points, said, published_table("s3_fallocate2"))
    named = {trace.name for trace in drawn.data}
    assert {"wait-group, simulated", "wait-group, published", "goal-spread, simulated"} <= named
    assert "goal-spread, published" not in named and "published in S3" in drawn.layout.title.text


@pytest.mark.parametrize("name", list_studies())
def test_a_studys_tables_are_published_and_its_arms_known_to_models(name: str):
    study = load_study(name)
    assert all(describe(table)["name"] == table for table in study.tables if not table.endswith(".csv"))
    for arm in study.arms:
        if arm.simulated:
            load_model(study.model_of(arm)).bind(arm.model_parameters)
        else:
            assert arm.model_parameters == {}
    assert name == "inode-claim" or unfitted_check(study) is None


def predicted(arm: str, threads: int, value: float, metric: str = "fallocate_rate") -> dict[str, object]:
    return {
        "arm": arm, "threads": threads, "metric": metric, "unit": "ops/s per container", "value": value,
        "low": 0.9 * value, "high": 1.1 * value, "naive_value": None,
    }  # fmt: skip


def test_a_prediction_stands_beside_what_was_published_of_its_arm():
    said = {
        "predictions": [predicted("inode-goal-scan0", 64, 23280 / 1.05), predicted("goal-spread", 64, 1.0)]
    }
    found = judge_published(said, load_study("group-trylock")).to_dict("records")
    assert found[0]["published"] == 23280 and found[0]["inside"]
    assert found[0]["error_pct"] == pytest.approx(100 * (1 / 1.05 - 1))
    assert pd.isna(found[1]["published"]) and pd.isna(found[1]["error_pct"])


def waits(arm: str, block: int, value: float) -> list[dict[str, object]]:
    where = {"study": "orphan-file", "arm": arm, "cpus": 4, "threads": 8, "pair": "ab", "block": block}
    more = {"iteration": block, "tool": "observe", "origin": "qemu"}
    both = {"trace:ext4_orphan_lock_wait": value, "calls:ext4_orphan_add": 10.0}
    return [{**where, **more, "metric": name, "value": one} for name, one in both.items()]


def test_bounds_are_judged_where_they_are_of_the_counter_that_was_counted():
    study = load_study("orphan-file")
    arms = (("orphan-mutex", 5.0), ("orphan-lockless", 0.0))
    rows = pd.DataFrame([one for arm, n in arms for block in (1, 2) for one in waits(arm, block, n)])
    (none,) = judge_guests({"guests": []}, rows, study).to_dict("records")
    assert none["extra"] == pytest.approx(0.5) and none["holds"] is None
    bound = {"cpus": 4, "threads": 8, "low": 0.0, "high": 1.0, "metric": f"extra {study.counter}"}
    (held,) = judge_guests({"guests": [bound]}, rows, study).to_dict("records")
    assert held["holds"] == YES and (held["predicted_low"], held["predicted_high"]) == (0, 1)
    (missed,) = judge_guests({"guests": [{**bound, "high": 0.4}]}, rows, study).to_dict("records")
    assert missed["holds"] == NO


def test_a_figure_of_counts_names_the_counter_and_where_it_was_counted():
    study = load_study("orphan-file")
    counts = pd.DataFrame(
        [
            {
                "counter": c,
                "unit": u,
                "arm": a,
                "cpus": 4,
                "threads": 8,
                "change": -0.5,
                "low": -0.6,
                "high": -0.4,
                "level_pct": 95.0,
                "significant": True,
            }
            for c, u in (("waits for an orphan lock", "per orphan"), ("get_write_access", "calls per orphan"))
            for a in ("orphan-lockless", "orphan-off")
        ]
    )
    drawn = counted_against_unpatched(study, counts, "in QEMU (tcg)")
    assert [trace.name for trace in drawn.data] == ["orphan-lockless (patched)", "orphan-off"]
    assert "waits for an orphan lock" in drawn.layout.title.text and "QEMU" in drawn.layout.title.text
    assert drawn.layout.yaxis.title.text == "per orphan"


def test_ten_arms_look_ten_ways():
    study = load_study("group-trylock")
    points = simulated(*((arm, n, 1e5) for arm in study.arm_names for n in (1, 2)))
    said = published_points(study, points).iloc[:0]
    drawn = table_beside_simulated(study, points, said, published_table("s3_fallocate2"))
    looks = {(line.line.color, line.line.dash, line.marker.symbol) for line in drawn.data}
    assert len(looks) == len(study.arms) == 10
