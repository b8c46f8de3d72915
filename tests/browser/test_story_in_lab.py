# SPDX-License-Identifier: MIT
"""A story in a real JupyterLab: its film follows the slider, and scrubs through time."""

from typing import Any

import pytest

from lab_page import READY, RUN_ALL, WAIT_MS
from lockscale import paths
from lockscale.show.explore.film import shots

pytestmark = pytest.mark.slow
SEEN = "() => document.querySelector('.js-plotly-plot:has(.slider-container)').layout.xaxis.range.map(Number)"


def test_a_film_follows_its_slider_and_its_strip(lab: Any, chromium: Any):
    page, said = chromium.new_page(viewport={"width": 1500, "height": 1300}), []
    page.set_default_timeout(WAIT_MS)
    page.on("console", lambda one: said.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(lab.page("notebooks/explore/story_inode_claim.ipynb", "story"))
    page.wait_for_function(READY)
    page.evaluate(RUN_ALL)
    drawn = page.locator(".js-plotly-plot", has=page.locator(".slider-container")).first
    drawn.locator(".gtitle", has_text="steal-retry at 4 threads").wait_for()
    drawn.scroll_into_view_if_needed()
    rail = drawn.locator(".slider-rail-touch-rect")
    at = rail.bounding_box()
    # where it is by then: outputs above may still grow
    rail.click(position={"x": at["width"] - 2, "y": at["height"] / 2})
    title = drawn.locator(".gtitle", has_text="steal-retry at 48 threads")
    title.wait_for()
    (storm,) = shots("inode-claim", ["steal-retry"], [48])
    written = title.text_content().replace("\xa0", " ")
    assert f"{len(storm.acquisitions())} acquisitions of group lock" in written
    assert page.evaluate(SEEN) == [0, 30]
    strip = drawn.locator(".rangeslider-slidebox").bounding_box()
    x, y = strip["x"] + strip["width"] / 2, strip["y"] + strip["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 200, y, steps=5)
    page.mouse.up()
    page.wait_for_function(f"() => ({SEEN})()[0] > 10")
    (paths.RUNS / "browser").mkdir(parents=True, exist_ok=True)
    page.screenshot(path=paths.RUNS / "browser" / "story_inode_claim.png")
    page.close()
    assert said == []
