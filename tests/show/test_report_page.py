# SPDX-License-Identifier: MIT
"""The report of a run: what it takes, what it refuses, and that no text in it can do anything."""

import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from lockscale import paths
from lockscale.measure.run_folder import curated_run
from lockscale.show.figures.template import COLOURS
from lockscale.show.report.page import (
    ReportFigure,
    ReportSection,
    ReportTable,
    ReportText,
    in_page_colours,
    page_of,
)

EVIL = '<script>alert(1)</script><img src=x onerror="alert(2)">\u202e&'


class Seen(HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def evil_page() -> str:
    frame = pd.DataFrame({EVIL: [EVIL, "b"], "n": [1.5, 2000.0]})
    parts = [ReportTable(EVIL, EVIL, frame, EVIL), ReportText(EVIL), ReportText(EVIL, True, EVIL)]
    return page_of(EVIL, [ReportSection("Evil", [*parts, ReportFigure(EVIL, "<svg></svg>")])])


def test_no_text_becomes_a_tag_or_an_attribute_or_turns_the_line():
    seen = Seen(evil_page())
    assert not {"script", "img"} & set(seen.tags) and not [one for one in seen.attributes if one[:2] == "on"]
    assert seen.text.count("<script>alert(1)</script>") >= 9 and "\u202e" not in evil_page()


def test_its_policy_lets_nothing_run_or_be_fetched():
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', evil_page())
    assert "default-src 'none'" in policy and "script" not in policy and "http" not in policy


def test_numbers_stand_at_the_right_and_truths_are_words():
    frame = pd.DataFrame({"rate": [1234.56, None], "sure": [True, False], "hash": ["a" * 64, "b"]})
    text = ReportTable("t", "o", frame).as_html()
    assert "<td class=number>1235</td><td>yes</td><td class=long>aaa" in text
    assert "<td class=number>-</td><td>no</td><td>b</td>" in text


def test_a_figures_colours_are_the_pages_and_its_words_stay():
    orange = ", ".join(str(int(COLOURS[0][k : k + 2], 16)) for k in (1, 3, 5))
    svg = f'<svg><path style="stroke: rgb({orange}); fill: rgb(1, 2, 3)"/><text>rgb({orange})</text></svg>'
    text = in_page_colours(svg)
    assert 'style="stroke: var(--c0); fill: rgb(1, 2, 3)"' in text and f"<text>rgb({orange})</text>" in text


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The curated run of inode-claim in a folder of its own."""
    return Path(shutil.copytree(curated_run("inode-claim").folder, tmp_path / "run-of-mine"))


@pytest.mark.slow
def test_a_run_folder_is_told_with_its_hashes_and_without_what_others_put_in(
    copied, inside, lockscale, monkeypatch
):
    monkeypatch.setattr(paths, "RUNS", inside / "runs")
    said = json.loads((copied / "provenance.json").read_text())
    said["host"]["cpu_model"] = EVIL
    (copied / "provenance.json").write_text(json.dumps(said))
    told = json.loads(lockscale("report", str(copied), "--json").out)
    text = (inside / "run-of-mine.html").read_text()
    assert told == {"path": "run-of-mine.html", "bytes": len(text.encode())}
    seen = Seen(text)
    for name in ("rows.csv", "provenance.json", "prediction.json", "study.json"):
        assert hashlib.sha256((copied / name).read_bytes()).hexdigest() in seen.text
    assert all(kernel["build_id"] in seen.text for kernel in said["kernels"].values())
    assert "<script>alert(1)</script>" in seen.text and not {"script", "img"} & set(seen.tags)
    assert (
        json.loads(lockscale("report", "inode-claim", "--output", "b.html", "--json").out)["path"] == "b.html"
    )
    assert curated_run("inode-claim", rates=True).id in Seen((inside / "b.html").read_text()).text
    (inside / "b.html").unlink()
    assert [path.name for path in inside.iterdir() if path.is_file()] == ["run-of-mine.html"]


@pytest.mark.slow
def test_a_prediction_that_was_changed_is_refused_and_nothing_is_written(copied, inside, lockscale):
    said = json.loads((copied / "prediction.json").read_text())
    (copied / "prediction.json").write_text(json.dumps({**said, "origin": "simulated"}))
    told = lockscale("report", str(copied), "--output", "page.html")
    assert told.status == 2 and "was changed after it was written" in told.err
    assert not (inside / "page.html").exists()


def test_what_has_no_report_is_refused_in_one_sentence(copied, inside, lockscale):
    said = lockscale("report", "no-such-run")
    assert said.status == 2 and "there is no run and no study 'no-such-run'" in said.err
    assert "is a folder" in lockscale("report", str(copied), "--output", str(inside)).err
    mine = inside / "mine.csv"
    mine.write_text("my data\n")
    assert "ends in .html" in lockscale("report", str(copied), "--output", str(mine)).err
    assert mine.read_text() == "my data\n"
    assert lockscale("report", str(copied), "--output", "not/there/page.html").status == 2
    provenance = json.loads((copied / "provenance.json").read_text())
    (copied / "provenance.json").write_text(json.dumps({**provenance, "kernels": {}}))
    assert "compares no arms" in lockscale("report", str(copied)).err
    (copied / "rows.csv").unlink()
    assert "has no rows.csv" in lockscale("report", str(copied)).err
