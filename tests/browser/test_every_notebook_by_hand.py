# SPDX-License-Identifier: MIT
"""Every notebook in a real JupyterLab, run by hand from its first cell: no error, and nothing is blank."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lab_page import READY, RUN_ALL, WAIT_MS
from lockscale import paths
from lockscale.measure.run_folder import curated_run
from lockscale.show.execution import notebook_names

pytestmark = [pytest.mark.slow, pytest.mark.long]
NOTEBOOKS = notebook_names()
MEASURES = "05_measure"  # by hand it boots guests, unless its parameters cell names a run that is kept
WINDOWS = {"wide": (1400, 900), "small": (1024, 700)}
HAS_RUN = """() => {
  const panel = window.jupyterapp.shell.currentWidget;
  const code = panel.content.widgets.filter(cell => cell.model.type === 'code');
  const isIdle = panel.sessionContext.session.kernel.status === 'idle';
  return isIdle && code.every(cell => cell.model.executionCount);
}"""
ERRORS = ".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error']"
FIGURES = "() => document.querySelectorAll('.js-plotly-plot').length"
# Lab draws an output only near the window, so each is looked at where it is scrolled to
BAD = """async () => {
  const bad = [], wait = () => new Promise(done => setTimeout(done, 150));
  for (const cell of document.querySelectorAll('.jp-CodeCell')) {
    cell.scrollIntoView();
    await wait();
    for (const drawn of cell.querySelectorAll('.js-plotly-plot')) {
      const marks = drawn.querySelectorAll('.main-svg .trace, .main-svg .point, .main-svg path');
      if (!marks.length || drawn.getBoundingClientRect().height < 100) bad.push('blank figure');
    }
    for (const part of cell.querySelectorAll('.widget-dropdown, .widget-hslider, .widget-text, button')) {
      const box = part.getBoundingClientRect();
      if (part.offsetParent && part.closest('.jp-OutputArea') && (box.width < 20 || box.height < 8)) {
        bad.push(part.innerText || part.className);
      }
    }
  }
  return bad;
}"""
FILTER = "drawn => getComputedStyle(drawn.closest('.svg-container')).filter"
END = "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"


@pytest.fixture
def said() -> list[str]:
    """Errors of the console and the page."""
    return []


@pytest.fixture
def page(chromium: Any, said: list[str]) -> Iterator[Any]:
    width, height = WINDOWS["wide"]
    page = chromium.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(WAIT_MS)
    page.on("console", lambda one: said.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    page.close()


def committed_figures(name: str) -> int:
    """How many outputs of the notebook as committed are figures that move."""
    cells = json.loads(NOTEBOOKS[name].read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return sum("application/vnd.plotly.v1+json" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_runs_from_its_first_cell_and_shows_all(lab: Any, page: Any, said: list[str], name: str):
    path = NOTEBOOKS[name].relative_to(paths.ROOT)
    if name == MEASURES:
        copy = lab.root / path
        copy.write_text(
            copy.read_text().replace(
                'run = \\"\\"', f'run = \\"{curated_run("inode-claim", rates=True).id}\\"'
            )
        )
    page.goto(lab.page(str(path), f"by-hand-{path.stem}"))
    page.wait_for_function(READY)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.evaluate(RUN_ALL)
    page.wait_for_function(HAS_RUN)
    assert page.locator(ERRORS).count() == 0
    assert page.evaluate(BAD) == []
    assert page.evaluate(FIGURES) >= committed_figures(name)
    width, height = WINDOWS["small"]
    page.set_viewport_size({"width": width, "height": height})
    assert page.evaluate(BAD) == []
    page.evaluate(END)
    assert said == []


def test_figures_are_dark_in_a_dark_theme(lab: Any, page: Any, said: list[str]):
    page.goto(lab.page("notebooks/explore/story_inode_claim.ipynb", "dark"))
    page.wait_for_function(READY)
    page.evaluate(
        "() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
    )
    page.wait_for_selector("[data-jp-theme-light='false'] .js-plotly-plot .main-svg")
    light = page.evaluate(FILTER, page.locator(".js-plotly-plot .main-svg").first.element_handle())
    assert "invert" in light
    page.evaluate(
        "() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})"
    )
    page.wait_for_selector("[data-jp-theme-light='true'] .js-plotly-plot .main-svg")
    assert "none" in page.evaluate(FILTER, page.locator(".js-plotly-plot .main-svg").first.element_handle())
    assert said == []
