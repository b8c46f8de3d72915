# SPDX-License-Identifier: MIT
"""The runs to look through: what is listed, filtered, linked and compared."""

import json
import os
import re
import shutil
from pathlib import Path
from urllib.parse import unquote

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import write_json
from lockscale.measure.compare_arms import rates
from lockscale.measure.rows import keep_hash, read_rows
from lockscale.measure.run_folder import Run, curated_run, keep_study
from lockscale.show.runs import (
    batches_table,
    browse_runs,
    compare_runs,
    runs_table,
    side_by_side,
    what_differs,
)
from lockscale.show.story import open_story
from lockscale.study.file import load_study

CURATED = curated_run("inode-claim")
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the curated run with rates twice as high, a run that has begun, a set of a batch, damage."""
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path / "notebooks")
    copy = Run(paths.RUNS / "inode-claim-20261231T000000Z")
    shutil.copytree(CURATED.folder, copy.folder)
    rows = read_rows(copy.rows)
    rows.loc[rows.metric == "rate", "value"] *= 2
    rows["started_utc"] = "2026-12-31T00:00:00Z"
    rows.to_csv(copy.rows, index=False)
    keep_hash(copy.rows)
    copy.changelog.write_text("what 08 wrote\n")
    copy.notebooks.mkdir()
    (copy.notebooks / "05_measure.ipynb").write_text("{}")
    begun = Run(paths.RUNS / "orphan-file-20261230T000000Z")
    keep_study(begun, load_study("orphan-file"), "example-server")
    begun.journal.write_text("")
    keep_study(Run(paths.RUNS / "storm" / "seed-1"), load_study("inode-claim"), "qemu", CURATED)
    write_json(paths.RUNS / "storm" / "batch.json", {"kind": "lockscale batch", "name": EVIL})
    (paths.RUNS / "storm" / "summary.csv").write_text("set,status\na,done\nb,failed\nb,left\n")
    damaged = paths.RUNS / f"{EVIL.replace('/', '')}"
    damaged.mkdir()
    (damaged / "study.json").write_text("{")
    return paths.RUNS


def test_each_run_is_listed_with_its_state_the_latest_first(runs: Path):
    frame = runs_table().frame.set_index("run")
    assert list(frame.index[:2]) == ["inode-claim-20261231T000000Z", "orphan-file-20261230T000000Z"]
    here = frame.loc["inode-claim-20261231T000000Z"]
    assert (here.study, here.target, here.origin, here.state) == ("inode-claim", "qemu", "qemu", "complete")
    assert here["rows"] == len(read_rows(CURATED.rows)) and here.arms == 2
    assert frame.state["orphan-file-20261230T000000Z"] == "unfinished"
    assert frame.state["storm/seed-1"] == "not measured" and frame.place["storm/seed-1"] == "batch storm"
    assert frame.place[CURATED.id] == "data/measured"
    assert list(frame.state).count("damaged") == 1


def test_filters_leave_what_fits_all_of_them(runs: Path):
    assert set(runs_table(study="orphan-file").frame.study) == {"orphan-file"}
    assert set(runs_table(target="qemu").frame.target) == {"qemu"}
    assert list(runs_table(origin="qemu", text="20261231").frame.run) == ["inode-claim-20261231T000000Z"]
    assert len(runs_table(study="orphan-file", origin="hardware").frame) == 0
    assert (
        runs_table(text="no such")._repr_html_() == "<p>Nothing here.</p>"
        and repr(runs_table(text="no such")) == "none"
    )


def test_executed_notebooks_are_links_and_names_are_text(runs: Path):
    page = runs_table()._repr_html_()
    path = "../runs/inode-claim-20261231T000000Z/notebooks/05_measure.ipynb"
    assert f'<a href="{path}">05</a>' in page
    assert (paths.NOTEBOOKS / path).resolve().is_file()
    assert "<img" not in page and "&lt;img" in page
    # JupyterLab answers a link to a folder with "File Load Error"
    linked = [(paths.NOTEBOOKS / unquote(one)).resolve() for one in re.findall(r'href="([^"]+)"', page)]
    assert linked and all(one.is_file() for one in linked)
    changelog = runs / "inode-claim-20261231T000000Z/changelog.txt"
    assert changelog.resolve() in linked


def test_what_lies_outside_the_repository_is_named_and_not_linked(
    runs: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paths, "ROOT", runs / "elsewhere")
    assert "href" not in runs_table()._repr_html_()


def test_batches_are_listed_with_their_index(runs: Path):
    found = batches_table()
    assert found.frame.sets.tolist() == [2] and found.frame.failed.tolist() == [1]
    assert '<a href="../runs/storm/index.html">index</a>' in found._repr_html_()
    assert "<img" not in found._repr_html_()


def test_two_runs_are_compared_point_by_point(runs: Path):
    found = compare_runs(CURATED.id, "inode-claim-20261231T000000Z")
    rate = found[found.what == "rate"]
    assert rate.change_pct.tolist() == pytest.approx([100.0] * len(rate)) and len(rate) == 8
    assert found[found.what != "rate"].change_pct.tolist() == pytest.approx([0.0] * 8)
    mean = rates(read_rows(CURATED.rows)).set_index(["arm", "threads"]).value
    first = rate.set_index(["arm", "threads"])["first"]
    assert first["steal-retry", 8] == pytest.approx(mean["steal-retry", 8])
    assert set(found.origin) == {"qemu"}


def test_what_two_runs_differ_in_is_named(runs: Path):
    copy = runs / "inode-claim-20261231T000000Z"
    said = json.loads((copy / "study.json").read_text())
    said["parameters"]["operations_per_point"] = 9600
    write_json(copy / "study.json", said)
    known = json.loads((copy / "provenance.json").read_text())
    known["kernels"]["steal-retry"]["build_id"] = "ab" * 20
    write_json(copy / "provenance.json", known)
    found = what_differs(CURATED.id, copy.name).set_index("setting")
    assert list(found.index) == ["operations_per_point", "build-id of steal-retry"]
    assert found.second.tolist() == ["9600", "ab" * 20]


def test_by_default_the_latest_two_of_one_study_and_origin(runs: Path):
    assert compare_runs().equals(compare_runs(CURATED.id, "inode-claim-20261231T000000Z"))


def test_runs_of_two_studies_or_of_none_are_refused(runs: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(BadInput, match="runs of inode-claim and orphan-file cannot be compared"):
        compare_runs(CURATED.id, "orphan-file-20261230T000000Z")
    with pytest.raises(BadInput, match="name both"):
        compare_runs(CURATED.id)
    with pytest.raises(BadInput, match=f"both runs are {CURATED.id}: choose two that differ"):
        compare_runs(CURATED.id, CURATED.id)
    shutil.rmtree(runs)
    monkeypatch.setattr(paths, "MEASURED", runs)
    with pytest.raises(BadInput, match="no two measured runs"):
        what_differs()
    assert "no two measured runs" in side_by_side()._repr_html_()


def test_qemu_and_hardware_are_never_compared(runs: Path):
    copy = Run(runs / "inode-claim-20261231T000000Z")
    rows = read_rows(copy.rows)
    rows["origin"] = "hardware"
    rows.to_csv(copy.rows, index=False)
    keep_hash(copy.rows)
    with pytest.raises(BadInput, match="no arm and point of the same origin in common"):
        compare_runs(CURATED.id, copy.id)


def test_the_browser_shows_what_the_table_does(runs: Path):
    browser = browse_runs()
    assert [one.value for one in browser.two] == [CURATED.id, "inode-claim-20261231T000000Z"]
    assert "change_pct" in browser.found.value
    browser.filters["study"].value = "inode-claim"
    assert browser.two[0].value == CURATED.id and "change_pct" in browser.found.value
    browser.filters["study"].value = "orphan-file"
    assert browser.table.value == runs_table(study="orphan-file")._repr_html_()
    first = browser.two[0]
    assert first.value == "any" and all(name.startswith("orphan-file-") for name in first.options[1:])
    browser.text.value = "no such"
    assert browser.table.value == "<p>Nothing here.</p>"
    assert "Browser(" in repr(browser)  # JupyterLab asks for it before it shows a widget


def test_a_curated_run_is_read_and_never_written_to(runs: Path):
    story = open_story("inode-claim", CURATED.id)
    assert story.measured.folder == CURATED.folder.resolve() and story.run.folder.parent == runs
    assert story.measure("qemu") == story.measured.rows and story.observe("qemu") is None
    assert list(story.kernels("qemu")) == ["steal-retry", "search-locked"]


def test_what_a_notebook_by_hand_measured_is_what_the_next_ones_read(runs: Path):
    """Until a run in runs/ is newer."""
    for path in runs.glob("inode-claim-2*/rows.csv"):
        os.utime(path, (1, 1))
    assert open_story("inode-claim").measured.folder.name == "inode-claim-20261231T000000Z"
    by_hand = open_story("inode-claim").run
    by_hand.folder.mkdir()
    for name in ("rows.csv", "provenance.json"):
        shutil.copy(CURATED.folder / name, by_hand.folder / name)
    os.utime(by_hand.rows, (2, 2))
    assert open_story("inode-claim").measured == by_hand
    for path in runs.glob("inode-claim-2*/rows.csv"):
        os.utime(path, (3, 3))
    assert open_story("inode-claim").measured.folder.name == "inode-claim-20261231T000000Z"


def test_a_batchs_set_reads_the_run_that_it_names(runs: Path):
    story = open_story("inode-claim", str(runs / "storm" / "seed-1"))
    assert story.run.folder == (runs / "storm" / "seed-1").resolve()
    assert story.measured.id == CURATED.id and len(story.rows) == len(read_rows(CURATED.rows))


def test_a_run_of_another_study_is_refused(runs: Path):
    with pytest.raises(BadInput, match="is of study inode-claim, not of orphan-file"):
        open_story("orphan-file", CURATED.id)
