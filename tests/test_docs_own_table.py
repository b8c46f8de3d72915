# SPDX-License-Identifier: MIT
"""docs/own-table.md followed word for word in an empty folder."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy.optimize import curve_fit

from lockscale import paths
from lockscale.queueing import MODELS
from lockscale.queueing.compare import Comparison
from lockscale.queueing.fitted import Prediction

SECTION = (paths.ROOT / "docs/own-table.md").read_text()
(TABLE,) = re.findall(r"(?ms)^```csv\n(.*?)^```$", SECTION)
(SHELL,) = re.findall(r"(?ms)^```sh\n(.*?)^```$", SECTION)
(CODE,) = re.findall(r"(?ms)^```python\n(.*?)^```$", SECTION)
(FILE,) = re.findall(r"As `(\S+\.csv)`", SECTION)
PROSE = " ".join(SECTION.split())
THREADS, RATES = np.array([row.split(",")[:2] for row in TABLE.split()[1:]], dtype=float).T


def claimed(pattern: str) -> float:
    (found,) = re.findall(pattern, PROSE)
    return float(found)


def log_usl(threads: np.ndarray, log_rate: float, sigma: float, kappa: float) -> np.ndarray:
    """Gunther's law as a logarithm: scipy fits it here, by a way of its own."""
    return log_rate + np.log(threads / (1 + sigma * (threads - 1) + kappa * threads * (threads - 1)))


def fitted(threads: np.ndarray, rates: np.ndarray) -> np.ndarray:
    return curve_fit(log_usl, threads, np.log(rates), p0=(9.0, 0.01, 0.001))[0]


LOG_RATE, SIGMA, KAPPA = fitted(THREADS, RATES)


@pytest.fixture
def folder(inside: Path) -> Path:
    (inside / FILE).write_text(TABLE)
    return inside


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each command of the section prints."""
    folder = tmp_path_factory.mktemp("own_table")
    (folder / FILE).write_text(TABLE)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    printed = []
    for command in SHELL.splitlines():
        argv = ["sh", "-c", command]
        environment = {**os.environ, "PATH": path}
        done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert list(folder.iterdir()) == [folder / FILE]
    return printed


@pytest.mark.slow
def test_compare_ranks_the_usl_first_with_the_error_that_is_claimed(said: list[str]):
    model, *_, held_out, _ahead = said[0].splitlines()[2].split()
    missed = []
    for n in THREADS:
        others = n != THREADS
        missed.append(np.exp(log_usl(n, *fitted(THREADS[others], RATES[others]))) / RATES[~others] - 1)
    by_hand = 100 * np.mean(np.abs(missed))
    assert model == "usl" and float(held_out[:-1]) == pytest.approx(by_hand, abs=0.051)
    assert claimed(r"left out is ([\d.]+)%") == pytest.approx(by_hand, abs=0.051)
    (ties,) = re.findall(r"the data cannot distinguish it from (`[\w`, ]+`)\.", PROSE)
    assert f"The data cannot tell usl from {ties.replace('`', '')} (" in said[0]


@pytest.mark.slow
def test_fit_prints_the_parameters_and_landmarks_that_are_claimed(said: list[str]):
    row = {line.split()[0]: line.split() for line in said[1].splitlines()[1:]}
    assert float(row["sigma"][1]) == pytest.approx(SIGMA, rel=1e-3)
    assert claimed(r"([\d.]+)% of one thread's work is serial") == pytest.approx(100 * SIGMA, abs=0.051)
    assert {row[name][-1] for name in ("lambda_per_s", "sigma", "kappa")} == {"identified"}
    knee = np.roots([3 * KAPPA, SIGMA - KAPPA, -(1 - SIGMA)]).max()
    peak = np.sqrt((1 - SIGMA) / KAPPA)
    ceiling = np.exp(log_usl(peak, LOG_RATE, SIGMA, KAPPA))
    for name, truth, pattern in (
        ("knee", knee, r"knee at ([\d.]+) threads"),
        ("ceiling", ceiling, r"ceiling of (\d+) ops/s"),
        ("collapse", peak, r"from (\d+) threads on"),
    ):
        assert float(row[name][1]) == pytest.approx(truth, rel=0.01)
        assert claimed(pattern) == pytest.approx(truth, rel=0.01)


@pytest.mark.slow
def test_the_lines_for_a_notebook_run_and_show_what_is_claimed(folder: Path):
    names: dict[str, Any] = {}
    shown = []
    for line in ast.parse(CODE).body:
        if isinstance(line, ast.Expr):
            shown.append(eval(compile(ast.Expression(line.value), FILE, "eval"), names))
        else:
            exec(compile(ast.Module([line], []), FILE, "exec"), names)
    ranked, candidates, ahead, figure = shown
    assert isinstance(ranked, Comparison) and "usl" in ranked._repr_html_()
    assert isinstance(figure, go.Figure) and isinstance(ahead, Prediction)
    assert ahead.value[0] == pytest.approx(np.exp(log_usl(96.0, LOG_RATE, SIGMA, KAPPA)), rel=1e-3)
    (first,) = re.findall(r"(\d+) first: there", CODE)
    assert candidates[0].threads == int(first) and len(candidates) == 4
    assert ranked.fits[1].model in ranked.not_told_apart  # else there is nothing to measure for
    value, low, high = re.findall(r"\d{5}", CODE)
    for text, found in ((value, ahead.value), (low, ahead.low), (high, ahead.high)):
        assert float(text) == pytest.approx(found[0], rel=2e-3)


def test_columns_that_are_named_are_known():
    from lockscale.fitting.user_table import KNOWN

    named = re.search(r"Optional columns: (.*?)\. A table in the long form", PROSE)
    assert named and set(re.findall(r"`(\w+)`", named[1])) < set(KNOWN)


def test_it_is_short():
    assert len(TABLE.splitlines()) == 8 and len(SHELL.splitlines()) == 2


def test_each_queueing_model_is_explained_with_its_parameters():
    rows = [line.split("|") for line in SECTION.splitlines() if line.startswith("| `")]
    explained = {row[1].strip(" `"): re.findall(r"`(\w+)`", row[3]) for row in rows}
    assert explained == {name: [one.name for one in model.parameters] for name, model in MODELS.items()}
