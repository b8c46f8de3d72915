# SPDX-License-Identifier: MIT
"""Published tables explained by the simulator: shared parameters, rows of the scoreboard, the cache."""

import subprocess
import sys
from dataclasses import replace
from typing import Annotated

import numpy as np
import pytest
from scipy.stats import t

from lockscale.errors import BadInput
from lockscale.fitting import fit_cache, scoreboard_rows
from lockscale.fitting.column import Column
from lockscale.fitting.fit_cache import cached
from lockscale.fitting.scoreboard_rows import ColumnTarget, simulated_rows
from lockscale.fitting.simulated_model import Simulated, SimulatedColumn, SimulatedModel
from lockscale.queueing import USL
from lockscale.queueing.fit import fit_model
from lockscale.queueing.model import Law, LawParameter
from lockscale.queueing.points import points
from lockscale.show import scoreboard as whole_scoreboard
from lockscale.show.scoreboard import scoreboard_text
from lockscale.sim import simulate
from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, us
from lockscale.sim.model import Note, model

MADE_UP = Note("made up", "made up")
TRUTH = {"think_us": 20.0, "short_us": 1.0, "long_us": 4.0}
THREADS = (1, 2, 4, 8, 16, 32, 64)


@model(unit="ops/s")
def toy(
    m: Builder,
    *,
    think_us: Annotated[float, MADE_UP] = 1.0,
    short_us: Annotated[float, MADE_UP] = 1.0,
    long_us: Annotated[float, MADE_UP] = 1.0,
    patched: Annotated[bool, MADE_UP] = False,
) -> None:
    """One queue; the patch makes its hold short."""
    lock = m.queued_lock("lock", hold=exponential(us(short_us if patched else long_us)))
    p = m.path("operation")
    p.spend(exponential(us(think_us)))
    p.lock(lock)
    p.unlock(lock)


def toy_columns() -> list[Column]:
    """Both arms with other random numbers than the fit's, and 2% of noise."""
    noise = np.random.default_rng(5).normal(0, 0.02, (2, len(THREADS)))
    made = []
    for k, patched in enumerate((False, True)):
        rates = [
            simulate(toy, n, {**TRUTH, "patched": patched}, seed=77, operations=4000).rate_per_s
            for n in THREADS
        ]
        values = np.array(rates) * np.exp(noise[k])
        threads = np.array(THREADS, float)
        made.append(
            Column("toy", "patched" if patched else "base", threads, values, None, "ops/s", "simulated")
        )
    return made


TOY = Simulated(
    "toy",
    toy,
    {"think_us": (5, 80), "short_us": (0.2, 5), "long_us": (1, 20)},
    {
        "base": SimulatedColumn({}, ("think_us", "long_us")),
        "patched": SimulatedColumn({"patched": True}, ("think_us", "short_us")),
    },
    operations=1000,
    made=toy_columns,
)


@pytest.fixture(scope="module")
def toy_rows():
    return simulated_rows(TOY)


@pytest.mark.slow
def test_parameters_that_columns_share_are_recovered_from_both(toy_rows):
    found = {one["name"]: one for row in toy_rows for one in row["parameters"]}
    assert set(found) == set(TRUTH)
    for name, truth in TRUTH.items():
        one = found[name]
        assert one["status"] == "identified"
        half = np.log(one["high"] / one["low"]) / 2  # two standard errors
        assert abs(np.log(one["value"] / truth)) < 1.5 * half < 0.15
    base, patched = toy_rows
    assert base["parameters"][0] == patched["parameters"][0]


@pytest.mark.slow
def test_a_row_has_what_draws_of_its_parameters_need(toy_rows):
    """Widths of the marginals are those of the profiles, as the likelihood is nearly normal here."""
    logs = toy_rows[0]["logs"]
    assert logs == toy_rows[1]["logs"] and logs["names"] == list(TRUTH)
    found = {one["name"]: one for row in toy_rows for one in row["parameters"]}
    for k, name in enumerate(logs["names"]):
        one = found[name]
        assert logs["mean"][k] == pytest.approx(np.log(one["value"]))
        quarter = np.log(one["high"] / one["low"]) / 4.3  # Student's t at 11 degrees: 2 x 2.2
        assert np.sqrt(logs["covariance"][k][k]) == pytest.approx(quarter, rel=0.4)
        assert logs["bounds"][0][k] <= logs["mean"][k] <= logs["bounds"][1][k]


@pytest.mark.slow
def test_a_row_says_what_its_column_depends_on_and_what_was_predicted_from_few_threads(toy_rows):
    for row in toy_rows:
        assert (row["kind"], row["free_parameters"], row["points"]) == ("simulator", 2, len(THREADS))
        assert not row["calibrated"] and row["met"] is None
        assert row["mape_pct"] < row["loo_pct"] < 10
        assert [one["threads"] for one in row["extrapolated"]] == [16, 32, 64]
        held = [one["low"] <= point["value"] <= one["high"] for one, point in _ahead(row)]
        assert row["coverage_pct"] == 100 * np.mean(held)
        errors = [abs(1 - one["value"] / point["value"]) for one, point in _ahead(row)]
        assert row["extrapolation_pct"] == pytest.approx(100 * np.mean(errors))


def _ahead(row):
    return zip(row["extrapolated"], row["curve"][-3:], strict=True)


def test_a_mean_of_repeats_is_held_against_the_interval_of_a_mean_of_as_many():
    """A constant by hand: of a fit to 1 to 8 threads, 16 is where one run may be, but no mean of three."""
    few = np.add.outer([0.01, -0.01, 0.02, -0.02], 0.05 * np.array([-1.0, 0.0, 1.0]))
    logs = np.vstack([few, 0.065 + few[0], few[3]])
    threads = np.repeat([1, 2, 4, 8, 16, 32], 3)
    table = points(threads, threads * 1000 * np.exp(logs.ravel()))
    whole, small = (
        fit_model(part, USL, fixed={"sigma": 0, "kappa": 0})
        for part in (table, points(threads[:12], threads[:12] * 1000 * np.exp(few.ravel())))
    )
    found = scoreboard_rows._ahead(whole, small, "")
    far = t.ppf(0.975, few.size - 1) * few.std(ddof=1) * np.sqrt(1 / np.array([1, 3]) + 1 / few.size)
    assert far[1] < logs[4].mean() - few.mean() < far[0] and found["coverage_pct"] == 50
    ends = [np.log(one["high"] / one["threads"] / 1000) for one in found["extrapolated"]]
    assert ends == pytest.approx(2 * [few.mean() + far[1]], abs=1e-4)


def test_a_calibrated_fit_to_few_threads_has_no_coverage():
    threads = np.array([1.0, 16, 32])
    table = points(threads, threads * [1000, 1010, 990])
    whole, small = (
        fit_model(part, USL, fixed={"sigma": 0, "kappa": 0}) for part in (table, table.keep(threads < 8))
    )
    found = scoreboard_rows._ahead(whole, small, "")
    assert found["coverage_pct"] is None and found["extrapolation_pct"] == pytest.approx(1, rel=0.02)


def test_a_parameter_of_which_the_data_say_nothing_is_as_wide_as_its_bounds():
    def pair(free, high):
        return LawParameter(free, "us", 1.0, high, positive=True)

    silent = Law(
        "silent",
        (pair("think_us", 100.0), pair("never_us", 400.0)),
        lambda threads, params: 1e6 * threads / params["think_us"] * np.ones_like(params["never_us"]),
        lambda threads, rates: {"think_us": (1, 100), "never_us": (1, 400)},
    )
    table = points([1, 2, 4, 8], np.array([1, 2, 4, 8]) * 5e4 * [1.02, 0.98, 1.01, 0.99])
    logs = scoreboard_rows._logs(fit_model(table, silent))
    known, unknown = np.sqrt(np.diag(logs["covariance"]))
    assert known == pytest.approx(np.std(np.log([1.02, 0.98, 1.01, 0.99]), ddof=2) / 2, rel=1e-3)
    assert unknown == pytest.approx(np.log(400))


def test_a_column_that_depends_on_what_is_not_free_is_refused():
    with pytest.raises(BadInput, match="give its range"):
        SimulatedModel(toy, {"think_us": (1, 2)}, arms=[SimulatedColumn({}, ("long_us",))])


def test_columns_go_by_the_names_of_the_arms_in_whichever_order():
    one = Column("toy", "base", np.array([1.0, 2.0]), np.array([3.0, 4.0]), None, "ops/s", "simulated")
    made = [replace(one, name=name) for name in ("base", "patched", "of nobody")]
    turned = {name: TOY.arms[name] for name in ("patched", "base")}
    of = replace(TOY, arms=turned, made=lambda: made)
    assert [one.name for one in of.columns()] == ["patched", "base"]
    with pytest.raises(BadInput, match="toy has no column 'bsae': did you mean base"):
        replace(of, arms={"bsae": SimulatedColumn(), **turned}).columns()


def test_a_target_is_met_by_no_calibrated_fit_and_needs_both_errors():
    target = ColumnTarget(column="c", target_pct=5, target_loo_pct=8)
    assert target.is_met(4.9, 7.9, calibrated=False)
    assert not target.is_met(4.9, 7.9, calibrated=True)
    assert not target.is_met(5.1, 7.9, calibrated=False)
    assert not target.is_met(4.9, 8.1, calibrated=False)
    assert not target.is_met(4.9, None, calibrated=False)


@pytest.mark.slow
def test_the_text_has_a_line_for_each_simulated_column(toy_rows):
    short = [{**toy_rows[0], "target_pct": 0.01, "target_loo_pct": None, "met": False}]
    said = scoreboard_text([*short, {**toy_rows[1], "calibrated": True}])
    lines = said.partition("Explained by the simulator:\n")[2].splitlines()
    assert lines[1].split()[:3] == ["toy", "base", "toy"] and lines[1].split()[-1] == "no"
    assert lines[2].split()[-1] == "calibrated"
    assert f"{toy_rows[0]['loo_pct']:.1f}" in lines[1]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(fit_cache, "FOLDER", tmp_path)
    return tmp_path


def test_a_fit_is_made_once_and_again_for_other_settings_or_another_source(folder, monkeypatch):
    made = []

    def make() -> list[int]:
        made.append(1)
        return [len(made)]

    assert cached("t", {"a": 1}, make) == cached("t", {"a": 1}, make) == [1]
    assert cached("t", {"a": 2}, make) == [2]
    monkeypatch.setattr(fit_cache, "source_hash", lambda: "another")
    assert cached("t", {"a": 1}, make) == [3]
    assert len(list(folder.iterdir())) == 3


def test_a_damaged_file_of_the_cache_is_made_anew(folder):
    assert cached("t", {}, lambda: [1]) == [1]
    (kept,) = folder.iterdir()
    kept.write_text("[1")
    assert cached("t", {}, lambda: [2]) == [2] and kept.read_text().split() == ["[", "2", "]"]


@pytest.mark.slow
def test_the_scoreboard_reads_what_is_kept(folder, monkeypatch, toy_rows):
    asked = []
    monkeypatch.setattr(whole_scoreboard, "all_published_columns", toy_columns)
    monkeypatch.setattr(whole_scoreboard, "column_row", lambda one: asked.append(one.name) or {})
    monkeypatch.setattr(whole_scoreboard, "simulated_tables", lambda: [TOY])
    monkeypatch.setattr(whole_scoreboard, "_simulated_rows", lambda of: asked.append(of.table) or toy_rows)
    monkeypatch.setattr(whole_scoreboard, "_settings", lambda of: {})
    first = whole_scoreboard.whole_scoreboard()
    assert whole_scoreboard.whole_scoreboard() == first
    assert asked == ["base", "patched", "toy"]


@pytest.mark.slow
def test_what_is_finished_survives_a_kill(folder):
    """A process that is killed in its second curve, and another after it."""
    once = "for name in ('a', 'b', 'c'): cached(name, {}, lambda: [{'a': 1}.get(name) or die()])"
    text = "from pathlib import Path; import os\nfrom lockscale.fitting import fit_cache\n"
    text += f"fit_cache.FOLDER = Path({str(folder)!r})\nfrom lockscale.fitting.fit_cache import cached\n"
    killed = subprocess.run(
        [sys.executable, "-c", f"{text}die = lambda: os.kill(os.getpid(), 9)\n{once}"], check=False
    )
    assert killed.returncode == -9 and [path.name[:2] for path in folder.iterdir()] == ["a-"]
    made = []
    assert cached("a", {}, lambda: made.append("a")) == [1]
    assert cached("b", {}, lambda: made.append("b") or [2]) == [2] and made == ["b"]
