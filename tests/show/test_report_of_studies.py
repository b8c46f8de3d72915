# SPDX-License-Identifier: MIT
"""The report of a made-up run of every study, and of one's own: no study needs code of its own for it."""

import contextlib
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest

from lockscale import paths
from lockscale.measure.compare_arms import compared_rates, extra_calls
from lockscale.measure.run_folder import Run, curated_run
from lockscale.show.figures.predicted import prediction_figure
from lockscale.show.report import write_report
from lockscale.show.report.content import _gain
from lockscale.show.report.page import ReportTable
from lockscale.show.report.predicted import prediction_parts
from lockscale.show.story import open_story
from lockscale.study.file import list_studies, load_study
from test_studies_in_notebooks import made_up  # noqa: F401  a fixture


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made and not rendered, nor are the models run: the browser tests do both."""
    monkeypatch.setattr("lockscale.show.report.one_browser", contextlib.nullcontext)
    monkeypatch.setattr(
        "lockscale.show.report.page.svg", lambda drawn, stem: f"<svg><title>{stem}</title></svg>"
    )
    monkeypatch.setattr("lockscale.show.report.content.study_drawings", lambda story: [])


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/own-study beside the others."""
    example = paths.ROOT / "docs/own-study"
    for name in ("STUDIES", "KERNEL_PATCHES"):
        shutil.copytree(getattr(paths, name), tmp_path / name)
        monkeypatch.setattr(paths, name, tmp_path / name)
    (tmp_path / "KERNEL_PATCHES/look-again").symlink_to(example)
    (tmp_path / "STUDIES/look-again.yaml").symlink_to(example / "look-again.yaml")


@pytest.mark.slow
@pytest.mark.parametrize("made_up", [*list_studies(), "look-again"], indirect=True)
def test_it_is_written_for(own: None, made_up: Run, tmp_path: Path):  # noqa: F811
    text = write_report(str(made_up.folder), tmp_path / "page.html").read_text()
    study = load_study(json.loads((made_up.folder / "study.json").read_text())["name"])
    assert study.question.split()[0] in text and study.counter in text
    shown = re.findall(r"<caption><b>(.*?)</b> <span class=origin>(.+?)</span>", text)
    assert len(shown) >= 5 and len(shown) == text.count("<caption>")
    assert dict(shown)["Arms"].endswith("file and kernel-patches as they are now")
    assert "counted in QEMU" in text and "not a benchmark" in text
    for arm in study.arm_names:
        assert f"<td>{arm}</td>" in text


def test_the_prediction_is_drawn_beside_what_is_known_of_the_arms_that_have_it():
    rows = [("a", n, 10.0 * n, 5.0 * n, 20.0 * n, 12.0 * n) for n in (1, 2, 4)]
    rows += [("b", n, 10.0, 5.0, 20.0, None) for n in (1, 2, 4)]
    frame = pd.DataFrame(rows, columns=["arm", "threads", "predicted", "low", "high", "measured"])
    drawn = prediction_figure(frame, "measured", "says", "ops/s")
    predicted, marks = drawn.data
    assert (predicted.name, marks.name) == ("a, predicted", "a, measured")
    assert list(marks.y) == [12.0, 24.0, 48.0] and marks.marker.symbol.endswith("-open")
    assert list(predicted.error_y.array) == [10.0, 20.0, 40.0]
    assert list(predicted.error_y.arrayminus) == [5.0, 10.0, 20.0]
    assert drawn.layout.meta["says"] == "says"


def test_the_gains_that_were_predicted_are_printed_beside_the_measured_ones():
    """A line in a wide band says little: how far off the prediction is stands in numbers."""
    story = open_story("inode-claim", curated_run("inode-claim", rates=True).id)
    tables = {one.title: one for one in prediction_parts(story) if isinstance(one, ReportTable)}
    told = tables["Gains over the unpatched arm"]
    assert "predicted" in told.origin and "measured in virtual time" in told.origin
    assert "known when the method" in told.note
    row = told.frame[told.frame.threads == 48].iloc[0]
    rates = compared_rates(story.rows, story.study).set_index(["arm", "threads"]).loc[(row.arm, 48)]
    assert row.measured == pytest.approx(rates.value / rates.unpatched)
    assert row.predicted_low < row.measured < row.predicted_high and row.held
    assert row.error_pct == pytest.approx(100 * (row.predicted / row.measured - 1))


def test_bounds_say_of_which_counter_they_are_and_whose_is_more():
    story = open_story("inode-claim", curated_run("inode-claim").id)
    titles = [one.title for one in prediction_parts(story) if isinstance(one, ReportTable)]
    counter = "jbd2_journal_get_write_access, calls per create"
    assert f"Bounds of what steal-retry counts more: {counter}" in titles


def test_the_headline_is_of_the_most_processes_on_the_most_cpus_to_a_tenth_of_a_percent():
    story = open_story("inode-claim", curated_run("inode-claim", rates=True).id)
    of_64 = story.compared[story.compared.threads == 64]
    here = {"unpatched": 1000.0, "value": 998.0, "change_pct": -0.2, "low_pct": -0.3, "high_pct": -0.04}
    story.__dict__["compared"] = pd.concat([of_64.assign(cpus=4), of_64.assign(**here)])
    gain = _gain(story)
    assert "64 processes on 64 CPUs" in gain and "-0.2% [-0.3%, +0.0%] (95%" in gain


@pytest.mark.parametrize("made_up", ["inode-claim"], indirect=True)
@pytest.mark.parametrize("table", [compared_rates, extra_calls])
def test_one_table_is_computed_once(
    made_up: Run,  # noqa: F811
    table: Callable[..., pd.DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    asked = Mock(side_effect=table)
    for name, module in list(sys.modules.items()):
        if name.startswith("lockscale.") and getattr(module, table.__name__, None) is table:
            monkeypatch.setattr(module, table.__name__, asked)
    write_report(str(made_up.folder), tmp_path / "page.html")
    assert asked.call_count == (table is not compared_rates)  # a guest's rates are not compared
