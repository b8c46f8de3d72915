# SPDX-License-Identifier: MIT
"""The lock explorer in a real JupyterLab, moved by key and mouse: it shows what `lockscale sim` prints."""

import html
import json
import shlex
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_page import READY, RUN_ALL, WAIT_MS
from lockscale import paths

pytestmark = pytest.mark.slow
NOTEBOOK = "notebooks/explore/lock_explorer.ipynb"
KEPT = paths.RUNS / "browser"
MOVES = 50
CURVE = "() => document.querySelector('.js-plotly-plot').calcdata[1].map(p => [p.x, p.y])"
THREADS_DRAWN = "() => document.querySelector('.js-plotly-plot')?.calcdata?.[5]?.[0]?.x"
# the time from the key to the frame in which the figure has the new number of threads
TIMED_KEY = """([key, wanted]) => new Promise(resolve => {
  const handle = document.activeElement;
  const started = performance.now();
  handle.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  const look = () => {
    const drawn = document.querySelector('.js-plotly-plot').calcdata[5][0].x;
    drawn === wanted ? resolve(performance.now() - started) : requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""


@pytest.fixture(scope="module")
def said() -> list[str]:
    """Errors of the console and the page, and requests that left this machine."""
    return []


@pytest.fixture(scope="module")
def page(lab: Any, chromium: Any, said: list[str]) -> Iterator[Any]:
    page = chromium.new_page(viewport={"width": 1500, "height": 1500})
    page.set_default_timeout(WAIT_MS)
    page.on("console", lambda one: said.append(one.text) if _counts(one) else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda one: said.append(one.url) if not _own(one.url, lab.url) else None)
    page.goto(lab.page(NOTEBOOK))
    page.wait_for_function(READY)
    page.evaluate(RUN_ALL)
    page.wait_for_selector(".js-plotly-plot path.js-line")
    page.wait_for_function("() => document.querySelectorAll('.noUi-handle').length >= 5")
    yield page
    KEPT.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=KEPT / "lock_explorer.png", full_page=True)
    page.close()


def _counts(message: Any) -> bool:
    """An error or a warning; that a plugin took long to activate says only that the machine is busy."""
    slow = message.text.startswith("Plugin ") and message.text.endswith("to activate.")
    return message.type in ("error", "warning") and not slow


def _own(url: str, server: str) -> bool:
    return url.startswith((server, server.replace("http", "ws", 1), "data:", "blob:"))


def threads(page: Any) -> int:
    return int(float(slider(page).get_attribute("aria-valuenow")))


def slider(page: Any) -> Any:
    """The handle of the slider called threads."""
    return page.locator(".widget-hslider", has_text="threads").locator(".noUi-handle")


def settled(page: Any, wanted: int) -> None:
    page.wait_for_function(f"() => ({THREADS_DRAWN})() === {wanted}")
    page.locator(".widget-html-content p", has_text=f"at {wanted} threads").wait_for()


def printed(page: Any, lockscale: Any) -> list[list[float]]:
    """What the command below the figure prints."""
    command = html.unescape(page.locator(".widget-html-content pre").inner_text())
    points = lockscale(*shlex.split(command)[1:], "--json").value["points"]
    return [[point["threads"], point["value"]] for point in points]


def test_the_index_opens_and_names_the_notebooks(lab: Any, chromium: Any):
    page = chromium.new_page()
    page.goto(lab.page("notebooks/README.md"))
    page.wait_for_selector("text=01_audit.ipynb", timeout=WAIT_MS)
    page.close()


def test_it_shows_what_sim_prints(page: Any, lockscale: Any):
    settled(page, 48)
    assert page.evaluate(CURVE) == printed(page, lockscale)


def test_a_key_moves_the_figure_to_what_sim_prints(page: Any, lockscale: Any):
    before = page.evaluate(CURVE)
    slider(page).focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    settled(page, 45)
    after = page.evaluate(CURVE)
    assert threads(page) == 45 and after != before and after == printed(page, lockscale)


def test_the_mouse_drags_it_and_the_last_place_wins(page: Any, lockscale: Any):
    box = slider(page).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 31):  # faster than it can simulate
        page.mouse.move(x - 4 * step, y)
    page.mouse.up()
    stands = threads(page)
    assert stands < 40
    settled(page, stands)
    page.wait_for_timeout(1000)  # what still came would be stale
    assert page.evaluate(THREADS_DRAWN) == stands and page.evaluate(CURVE) == printed(page, lockscale)


def test_tab_reaches_every_control(page: Any):
    page.locator(".widget-dropdown select").first.focus()
    reached = set()
    for _ in range(16):
        reached.add(
            page.evaluate(
                "() => document.activeElement.closest('.jupyter-widgets')?.innerText.split('\\n')[0]"
            )
        )
        page.keyboard.press("Tab")
    for name in ("arm", "threads", "hold (ns)", "elsewhere (us)", "lock kind", "start skew (us)"):
        assert any(text and name in text for text in reached), (name, reached)


def test_no_error_is_shown_or_logged_and_nothing_leaves_this_machine(page: Any, said: list[str]):
    assert page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error']").count() == 0
    assert said == []


def test_how_long_a_move_takes_is_kept(page: Any):
    """A figure for the bench, not a bound: the machine may be busy."""
    slider(page).focus()
    page.keyboard.press("Home")
    settled(page, 1)
    took_ms = [page.evaluate(TIMED_KEY, ["ArrowRight", 2 + k]) for k in range(MOVES)]
    median_ms, p95_ms = statistics.median(took_ms), sorted(took_ms)[int(0.95 * (MOVES - 1))]
    row = {"case": "explorer_visible_update", "moves": MOVES, "median_ms": median_ms, "p95_ms": p95_ms}
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / "lock_explorer.json").write_text(json.dumps({**row, "target_ms": 250, "ms": took_ms}) + "\n")
    print(f"visible after {median_ms:.0f} ms (p95 {p95_ms:.0f}), median of {MOVES} moves; target 250 ms")
    assert len(took_ms) == MOVES


def test_the_screenshot_of_the_last_run_is_a_picture(page: Any, tmp_path: Path):
    page.screenshot(path=tmp_path / "now.png")
    assert (tmp_path / "now.png").read_bytes().startswith(b"\x89PNG")
