# SPDX-License-Identifier: MIT
"""The notebooks are the same eight for every study: what they do with a run of each, without a guest."""

import ast
import itertools
import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.display import HTML

from lockscale import paths
from lockscale.files import sha256_of_json, write_json, write_text
from lockscale.measure.count_calls import OBSERVE, observed, observed_counters
from lockscale.measure.profiling import UNDER_PROFILER
from lockscale.measure.rows import Row, keep_hash, write_rows
from lockscale.measure.run_folder import Run, keep_study
from lockscale.show.prediction import predict
from lockscale.show.story import Story
from lockscale.study.file import Study, list_studies, load_study

PROCESSES = (1, 8)
RUN = "made-up-20260101T000000Z"


def made_up_rows(study: Study) -> tuple[list[Row], list[Row]]:
    """The run's rows and its counts: every arm twice at two points, no number of it real."""
    op, upstream = study.operation, study.patched.name
    steps = [("aa", 0, k, upstream) for k in (1, 2)]
    steps += [("ab", k, k, arm) for k in (1, 2) for arm in study.arm_names]
    rows, counts = [], []
    for (pair, block, iteration, arm), n in itertools.product(steps, PROCESSES):
        where = {
            "run": RUN,
            "study": study.name,
            "arm": arm,
            "kernel": "6.12.0",
            "tool_version": "1",
            "threads": n,
            "cpus": 4,
        }
        where |= {
            "pair": pair,
            "block": block,
            "iteration": iteration,
            "target": "qemu (tcg)",
            "origin": "qemu",
        }
        common: dict[str, Any] = where | {"build_id": "ab" * 20, "started_utc": "2026-01-01T00:00:00Z"}
        k = 1 + study.arm_names.index(arm)
        said = [("fsload", op, "rate", "ops/s", 1000.0 * k * n + iteration, False)]
        said += [("ftrace_cost", op, f"{op}s", "ops", 100.0, True)]
        said += [("ftrace_cost", op, UNDER_PROFILER, "ops/s", 900.0 * k * n, True)]
        for function in study.parameters.profiled_functions:
            said += [("ftrace_cost", op, f"{function}.calls", "calls", 100.0 * k, True)]
            said += [("ftrace_cost", op, f"{function}.time", "us", 50.0 * k * n, True)]
        said += [
            ("lock_events", op, f"lock_{what}", "events", 9.0, False) for what in ("slowpath", "pending")
        ]
        rows += [_row(common, *one) for one in said]
        sources = [one for counter in observed_counters(study).values() for one in counter.sources]
        if study.counter in observed_counters(study) and pair == "ab":
            counts += [_row(common, OBSERVE, op, one, "events", 10.0 * k, True) for one in set(sources)]
    return rows, counts


def _row(
    common: dict[str, Any], tool: str, test: str, metric: str, unit: str, value: float, profiled: bool
) -> Row:
    more = {"tool": tool, "test": test, "metric": metric, "unit": unit, "value": value, "profiled": profiled}
    return Row(**common, **more, statistic="total")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The figures that a notebook showed, by stem; nothing is rendered."""
    stems: list[str] = []

    def show(self: Story, drawn: Any, numbers: pd.DataFrame, stem: str) -> Any:
        assert drawn.to_json() and len(numbers)
        stems.append(stem)
        return drawn

    monkeypatch.setattr(Story, "show", show)
    return stems


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Run:
    """A run of the study that the test names."""
    monkeypatch.setattr(paths, "RUNS", tmp_path)
    study, run = load_study(request.param), Run(tmp_path / RUN)
    run.folder.mkdir()
    kernel = {"build_id": "ab" * 20, "version": "6.12.0", "spin_lock": "queued"}
    file_system = {"mkfs_line": "mkfs.ext4 /dev/vda", "mount_line": "/dev/vda /run/lockscale ext4 rw 0 0"}
    found = {"tool": "fsload", "tool_version": "1", "file_system": file_system}
    said = {"origin": "qemu", "accel": "tcg", "host": {"cpus": 2, "cpu_model": "none"}}
    said["target"] = {"kind": "qemu", "name": "qemu"}
    kernels = dict.fromkeys(study.arm_names, kernel)
    keep_study(run, study, "qemu")
    write_json(run.provenance, {**said, "kernels": kernels, "as_found": {"001": found}})
    prediction = predict(study)
    write_json(run.prediction, {**prediction, "sha256": sha256_of_json(prediction)})
    rows, counts = made_up_rows(study)
    write_rows(run.rows, rows)
    if counts:
        write_json(observed(run).folder.joinpath("provenance.json"), said)
        write_rows(observed(run).rows, counts)
    return run


def run_cells(notebook: str, study: str, run: str) -> list[Any]:
    """The values that the code cells of a notebook show, with study and run put into its parameters cell."""
    (source,) = (paths.NOTEBOOKS / "src").glob(f"{notebook}_*.py")
    text = re.sub(
        r'^study = .*\nrun = ""$', f"study = {study!r}\nrun = {run!r}", source.read_text(), flags=re.M
    )
    values: list[Any] = []
    names: dict[str, Any] = {}
    for cell in re.split(r"^# %%.*$", text, flags=re.M)[1:]:
        tree = ast.parse(cell)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, source.name, "exec"), names)
        if isinstance(last, ast.Expr):
            values.append(eval(compile(ast.Expression(last.value), source.name, "eval"), names))
    return values


@pytest.mark.slow
@pytest.mark.parametrize("made_up", list_studies(), indirect=True)
def test_06_compares_every_arm_and_07_judges_and_08_writes(made_up: Run, shown: list[str], capsys):
    study = load_study(json.loads((made_up.folder / "study.json").read_text())["name"])
    tables = run_cells("06", study.name, str(made_up.folder))
    counts = next(one for one in tables if isinstance(one, pd.DataFrame) and "counter" in one)
    assert set(counts.arm) == set(study.arm_names) - {study.unpatched.name}
    assert counts.counter.iloc[0] == study.counter
    judged = [
        one for one in run_cells("07", study.name, str(made_up.folder)) if isinstance(one, pd.DataFrame)
    ]
    assert any("published" in one for one in judged)
    assert [len(one) for one in judged if "holds" in one] == [len(PROCESSES)]
    run_cells("08", study.name, str(made_up.folder))
    text = made_up.changelog.read_text()
    assert study.counter in " ".join(text.split()) and study.metric not in text.lower()
    assert len(text.partition("\n---\n")[0].splitlines()) <= 30
    assert max(map(len, text.splitlines())) <= 75
    assert {"06-counters", "06-function-cost"} <= set(shown)


@pytest.mark.slow
@pytest.mark.parametrize("study", list_studies())
def test_01_and_03_speak_of_each_study(study: str, shown: list[str], tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(paths, "RUNS", tmp_path)
    tables = run_cells("01", study, "")
    assert any("verdict" in one for one in tables if isinstance(one, pd.DataFrame))
    said = [one.data for one in tables if isinstance(one, HTML)]
    assert escape(load_study(study).question) in said[0] and shown == ["01-first-table"]
    run_cells("03", study, "")
    assert (tmp_path / f"{study}-by-hand" / "prediction.json").is_file()


@pytest.mark.parametrize("made_up", ["inode-claim"], indirect=True)
def test_08_has_stars_at_rates_that_are_a_benchmark(made_up: Run, capsys):
    """Made up: 1000 creates a second of each process before, 2000 upstream, and 1 or 2 by the block."""
    rows = pd.read_csv(made_up.rows, keep_default_na=False)
    write_text(made_up.rows, rows.assign(origin="hardware").to_csv(index=False))
    said = json.loads(made_up.provenance.read_text()) | {"origin": "hardware", "accel": None}
    write_json(made_up.provenance, said)
    keep_hash(made_up.rows)
    run_cells("08", "inode-claim", str(made_up.folder))
    rates = made_up.changelog.read_text().partition("Creates per second on hardware (*")[2]
    assert "   4     8          8002 (  0.00%)            16002 *  99.98%*" in rates
