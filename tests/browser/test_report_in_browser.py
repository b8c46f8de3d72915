# SPDX-License-Identifier: MIT
"""Each curated run as its report, in a real browser: silent, readable in light and dark, and on paper."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe

from lockscale import paths
from lockscale.show.report import MOST_BYTES, write_report

pytestmark = pytest.mark.slow
ORIGINS = {
    path.parent.name: pd.read_csv(path, usecols=["origin"]).origin
    for path in sorted(paths.MEASURED.glob("*/rows.csv"))
}
TAKEN = [
    max((run for run in ORIGINS if ORIGINS[run][0] == one), key=lambda run: len(ORIGINS[run]))
    for one in sorted({origins[0] for origins in ORIGINS.values()})
]
"""The run with the most rows of each origin; the others are opened in the long campaign."""
RUNS = [pytest.param(run, marks=[] if run in TAKEN else pytest.mark.long) for run in ORIGINS]
MOST_PAGES = 8
OUTSIDE_SVG = {"exclude": [["figure svg g"]]}
"""The thousands of strokes of a figure have no rule of axe-core, and take it most of its time."""
PAGE_OF_PDF = re.compile(rb"/Type\s*/Page\b")
HEADINGS = [
    "What was found",
    "Figures",
    "Numbers",
    "Prediction against measurement",
    "Where the numbers come from",
    "Changelog text",
]


@pytest.fixture(scope="module")
def reports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each that is asked for is written once, before the browser of the tests is there."""
    folder = tmp_path_factory.mktemp("reports")
    asked = {item.callspec.params["page"] for item in request.session.items if item.path == request.path}
    return {run: write_report(run, folder / f"{run}.html") for run in sorted(asked)}


@pytest.fixture(params=RUNS)
def page(reports: dict[str, Path], chromium: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The report of one run; it fails its test when the console said anything or anything was asked for."""
    path, said = reports[request.param], []
    page = chromium.new_page(viewport={"width": 1200, "height": 900})
    page.on("console", lambda one: said.append(one.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda one: said.append(one.url) if one.url != path.as_uri() else None)
    page.goto(path.as_uri())
    yield page
    page.close()
    assert said == []


def name_of(page: Any) -> str:
    return Path(page.url).stem


def test_it_is_one_small_file_with_every_part(page: Any, reports: dict[str, Path]):
    path = reports[name_of(page)]
    assert path.stat().st_size < MOST_BYTES and page.title().startswith(f"{name_of(page)}: ")
    assert page.locator("h2").all_inner_texts() == HEADINGS
    assert page.locator("script, link[href^=http], img, iframe, object").count() == 0
    assert page.locator("figure svg[role=img] desc").count() >= 3
    assert page.locator("pre", has_text="MEASURED").count() == 1


def test_every_table_and_figure_says_where_its_numbers_are_from(page: Any):
    captions = page.locator("caption, figcaption").all_inner_texts()
    shown = page.locator("table").count() + page.locator("figure").count()
    origins = page.locator("caption .origin, figcaption .origin").all_inner_texts()
    assert len(captions) == len(origins) == shown and all(origins)
    known = (
        "published|predicted|simulated|virtual time|QEMU|hardware|recorded|the study's file|the target's file"
    )
    assert all(re.search(f"{known}|computed when", one) for one in origins)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in(scheme: str, page: Any):
    page.emulate_media(color_scheme=scheme)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    ink = page.locator("figure svg text").first.evaluate("one => getComputedStyle(one).fill")
    assert ink != paper and ink == page.evaluate("getComputedStyle(document.body).color")
    found = Axe().run(page, OUTSIDE_SVG, options={"resultTypes": ["violations", "passes"]}).response
    assert {one["id"]: one["nodes"][0]["html"] for one in found["violations"]} == {}
    assert {"color-contrast", "svg-img-alt"} <= {one["id"] for one in found["passes"]}


@pytest.mark.parametrize("page", TAKEN[:1], indirect=True)
def test_axe_would_find_a_faint_word(page: Any):
    page.add_style_tag(content=".origin { color: #bbb !important }")
    assert "color-contrast" in {one["id"] for one in Axe().run(page, OUTSIDE_SVG).response["violations"]}


def test_it_prints_on_few_pages(page: Any):
    pages = len(PAGE_OF_PDF.findall(page.pdf(prefer_css_page_size=True)))
    assert 1 < pages <= MOST_PAGES


def test_nothing_is_cut_off_on_a_telephone(page: Any):
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_rates_are_those_of_the_rows(page: Any):
    rows = pd.read_csv(paths.MEASURED / name_of(page) / "rows.csv")
    rates = rows[(rows.pair == "ab") & (rows.metric == "rate") & (rows.statistic == "total") & ~rows.profiled]
    rates = rates[rates.test == rows.test[rows.tool == "ftrace_cost"].iloc[0]]
    means = rates.groupby(["arm", "cpus", "threads"]).value.mean()
    table = page.get_by_role("region", name="Rates of all processes")
    if set(rows.origin) == {"qemu"}:  # whose rates are of the emulator
        assert table.count() == 0
        return
    shown = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
    assert len(shown) >= 4
    for arm, cpus, threads, _, value, *_ in shown:
        assert float(value) == pytest.approx(means[arm, int(cpus), int(threads)], rel=1e-3)
