# SPDX-License-Identifier: MIT
"""`lockscale fit`, `compare` and `scoreboard`: JSON of a fixed shape, text a person wants to read."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lockscale import paths
from lockscale.cli import main
from lockscale.fitting import fit_cache, table_fit
from lockscale.fitting.column import published_columns
from lockscale.queueing import AMDAHL, RETRY_STORM, USL
from lockscale.show import scoreboard as whole_scoreboard

THREADS = np.array([1, 2, 4, 8, 16, 32, 64])
RATES = USL(THREADS, lambda_per_s=1e4, sigma=0.05, kappa=0.002) * [1.01, 0.99, 1, 1.02, 0.98, 1.01, 0.99]


@pytest.fixture(autouse=True)
def two_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_fit, "MODELS", {"amdahl": AMDAHL, "usl": USL})


@pytest.fixture
def my_csv(inside: Path) -> str:
    rows = "".join(f"{n},{rate:.0f},ops/s\n" for n, rate in zip(THREADS, RATES, strict=True))
    (inside / "my.csv").write_text("threads,value,unit\n" + rows)
    return "my.csv"


def run(capfd: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    return int(ended.value.code or 0), *capfd.readouterr()


def as_json(capfd: pytest.CaptureFixture[str], *argv: str) -> Any:
    status, out, _ = run(capfd, *argv, "--json")
    assert status == 0
    return json.loads(out, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))


def test_fit_gives_every_model_the_best_first_with_its_landmarks(my_csv: str, capfd):
    best, other = as_json(capfd, "fit", my_csv)
    assert (best["model"], best["rank"], other["rank"]) == ("usl", 1, 2)
    assert best["loo_pct"] < other["loo_pct"]
    keys = {"table", "column", "model", "parameters", "mape_pct", "loo_pct", "free_parameters", "origin"}
    assert keys <= set(best) and best["table"] == "my.csv" and best["origin"] == "not stated"
    marks = {one["name"]: one for one in best["landmarks"]}
    peak = np.sqrt((1 - 0.05) / 0.002)
    assert marks["collapse_threads"]["low"] < peak < marks["collapse_threads"]["high"]
    assert other["landmarks"] == []


def test_fit_of_one_model_gives_that_model_alone(my_csv: str, capfd):
    (found,) = as_json(capfd, "fit", my_csv, "--model", "amdahl", "--n-min", "2", "--n-max", "16")
    assert (found["model"], found["points"]) == ("amdahl", 4) and found["landmarks"]


def test_fit_as_text_says_what_a_person_wants(my_csv: str, capfd):
    _, out, _ = run(capfd, "fit", my_csv)
    for word in (
        "usl",
        "lambda_per_s",
        "identified",
        "leave-one-out",
        "knee",
        "collapse",
        "the least leave-one-out error of 2 models",
    ):
        assert word in out


def test_two_thread_counts_choose_no_model_and_have_no_knee(
    tmp_path: Path, capfd, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(table_fit, "MODELS", {"amdahl": AMDAHL, "retry_storm": RETRY_STORM})
    two = tmp_path / "two.csv"
    two.write_text("threads,value\n1,100\n16,900\n")
    rows = as_json(capfd, "fit", str(two))
    assert len(rows) > 1 and not any(row["landmarks"] for row in rows)
    _, out, _ = run(capfd, "fit", str(two))
    assert "not ranked: too few thread counts" in out and "knee" not in out
    _, out, _ = run(capfd, "fit", str(two), "--model", "amdahl")
    assert "knee" in out, "who names the model has chosen"


def test_compare_ranks_and_says_what_the_data_tell(my_csv: str, capfd):
    first, second = as_json(capfd, "compare", my_csv)
    assert (first["model"], first["rank"], second["rank"]) == ("usl", 1, 2)
    keys = {"table", "column", "model", "free_parameters", "mape_pct", "loo_pct", "extrapolation_pct"}
    assert keys <= set(first)
    assert first["p_same_as_best"] == 1 and second["told_apart"] is (second["p_same_as_best"] < 0.05)
    assert any("No repeats" in said for said in first["findings"]) and second["findings"] == []
    _, out, _ = run(capfd, "compare", my_csv)
    assert out.splitlines()[0] == "my.csv, value (ops/s; origin not stated)"
    assert all(said in out for said in first["findings"])


def test_a_published_table_gives_a_block_for_each_curve(capfd):
    _, out, _ = run(capfd, "compare", "s4_creat_clo")
    heads = [block.splitlines()[0] for block in out.strip().split("\n\n")]
    assert heads == [
        f"s4_creat_clo, {arm} throughput (ops/s; published)" for arm in ("orphan-mutex", "orphan-lockless")
    ]


@pytest.mark.slow
def test_scoreboard_as_text_has_a_line_for_each_curve_and_whether_its_target_is_met(
    capfd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    few = published_columns("s3_fallocate2")
    monkeypatch.setattr(whole_scoreboard, "all_published_columns", lambda: few)
    monkeypatch.setattr(fit_cache, "FOLDER", tmp_path)
    monkeypatch.setattr(whole_scoreboard, "simulated_tables", list)
    rows = [row for row in as_json(capfd, "scoreboard") if row["kind"] == "queueing"]
    _, out, _ = run(capfd, "scoreboard")
    table, notes = out.split("\n\n")
    head, *lines = table.splitlines()
    assert head.split()[-1] == "met" and len(lines) == 2 * len(rows)
    assert {line.split()[-1] for line in lines} <= {"yes", "no", "-"}
    for line, row in zip(lines[::2], rows, strict=True):
        assert row["column"] in line and f"{row['points']} of {row['points_in_table']}" in line
        assert f"{row['mape_pct']:.1f}" in line and f"{row['loo_pct']:.1f}" in line
    for line, row in zip(lines[1::2], rows, strict=True):
        whole = row["all_points"]
        assert "the same, all points" in line and f"7 of 7  {whole['free_parameters']}" in line
        assert f"{whole['mape_pct']:.1f}" in line
    assert rows[0]["n_min_because"] in notes and "as the best of many" in notes
    assert "Explained by no model" in notes and "s2_five_runs, slow-retry destroy_rate" in notes


@pytest.mark.parametrize(
    "argv",
    [
        "fit nothing.csv",
        "fit nowhere/my.csv",
        "fit nope",
        "compare nope",
        "fit my.csv --model nope",
        "fit my.csv --n-min 0",
        "fit my.csv --n-min 65",
        "compare my.csv --n-min 8 --n-max 4",
        "fit",
        "compare",
        "scoreboard nope",
    ],
)
def test_bad_input_is_one_sentence(argv: str, my_csv: str, capfd):
    status, out, err = run(capfd, *argv.split())
    assert (status, out) == (2, "")
    assert len([line for line in err.splitlines() if line.startswith("lockscale: ")]) == 1
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_table_that_no_law_describes_has_no_best_law(monkeypatch: pytest.MonkeyPatch, capfd):
    monkeypatch.setattr(table_fit, "MODELS", {"retry_storm": RETRY_STORM, "amdahl": AMDAHL})
    table = str(paths.ROOT / "notebooks/studies/xfs-create-four-groups.csv")
    status, out, _ = run(capfd, "fit", table)
    assert status == 0 and out.count("none fits; the least bad of 2 models") == 1
    assert "identified" not in out and "misfit" in out
    for row in as_json(capfd, "fit", table):
        if row["rank"] == 1:
            assert row["loo_pct"] > 25
            assert "identified" not in {one["status"] for one in row["parameters"] + row["landmarks"]}
    _, ranked, _ = run(capfd, "compare", table)
    assert ranked.count("None fits within 25% leave-one-out; the least bad is") == 1
