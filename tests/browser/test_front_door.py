# SPDX-License-Identifier: MIT
"""What `make lab` opens, in a real browser: the index as a page, its notebooks, and the runs."""

from collections.abc import Iterator
from typing import Any

import pytest

from lab_page import READY, RUN_ALL, WAIT_MS
from lockscale import paths
from lockscale.measure.run_folder import curated_run

pytestmark = pytest.mark.slow


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A page that fails its test when the console or the page said an error."""
    page, said = chromium.new_page(viewport={"width": 1500, "height": 1200}), []
    page.set_default_timeout(WAIT_MS)
    page.on("console", lambda one: said.append(f"{one.text} {one.location}") if one.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    page.close()
    assert said == []


def test_the_index_is_a_page_whose_links_open_notebooks(lab: Any, page: Any):
    page.goto(lab.page("notebooks/README.md", "index"))
    page.locator(".jp-MarkdownViewer a", has_text="01 Audit").first.click()
    page.locator(".jp-Notebook h1", has_text="01 Audit").wait_for()
    page.locator(".jp-Notebook a:visible", has_text="02 Simulate").first.click()
    page.locator(".jp-Notebook h1", has_text="02 Simulate").wait_for()


def test_a_notebooks_contents_lead_to_its_sections(lab: Any, page: Any):
    page.goto(lab.page("notebooks/05_measure.ipynb", "contents"))
    page.locator(".jp-Notebook a:visible", has_text="In one sentence").first.click()
    page.locator(".jp-Notebook h2", has_text="In one sentence").wait_for()


def test_the_runs_are_listed_and_filtered_by_keyboard(lab: Any, page: Any):
    page.goto(lab.page("notebooks/runs.ipynb", "runs"))
    page.wait_for_function(READY)
    page.evaluate(RUN_ALL)
    run = curated_run("inode-claim").id
    table = page.locator(".widget-html-content table").first
    table.get_by_text(run).wait_for()
    page.locator(".widget-text input").focus()
    page.keyboard.type("no such run")
    page.keyboard.press("Tab")
    page.locator(".widget-html-content", has_text="Nothing here.").first.wait_for()
    assert page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error']").count() == 0
    (paths.RUNS / "browser").mkdir(parents=True, exist_ok=True)
    page.screenshot(path=paths.RUNS / "browser" / "runs.png", full_page=True)
