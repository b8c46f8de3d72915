# SPDX-License-Identifier: MIT
"""The lock explorer with a slow browser, a small window, or a kernel behind the hand: nothing is lost."""

from collections.abc import Iterator
from typing import Any

import pytest

from lab_page import IMPATIENT, KINDS, READY, RUN_ALL, WAIT_MS

pytestmark = pytest.mark.slow
NOTEBOOK = "notebooks/explore/lock_explorer.ipynb"
LATE = "() => { const wait = AbortSignal.timeout; AbortSignal.timeout = () => wait.call(AbortSignal, 1); }"
"""What a busy machine does: no module is there when anywidget's patience of two seconds ends."""
DRAWN = "() => document.querySelector('.js-plotly-plot')?.calcdata?.[1]?.length > 3"
THREADS_DRAWN = "() => document.querySelector('.js-plotly-plot')?.calcdata?.[5]?.[0]?.x"
EXECUTE = """code => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
  .requestExecute({code}).done.then(reply => reply.content.status)"""
LISTEN = """() => {
  window.kernelSaid = [];
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  kernel.anyMessage.connect((_, { msg }) => {
    const isBad = msg.header.msg_type === 'error' || (msg.content.name === 'stderr');
    if (isBad) window.kernelSaid.push(JSON.stringify(msg.content));
  });
}"""
END = "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"
NAG = """
import asyncio
async def nag():
    while True:
        explorer._send_again()
        await asyncio.sleep(0.02)
nagging = asyncio.get_running_loop().create_task(nag())
"""


LATE_MODULES, SMALL, USUAL = (1400, 900, True), (1024, 700, False), (1400, 900, False)


def opened(*windows: tuple[int, int, bool]) -> pytest.MarkDecorator:
    """Each is opened once for all tests that look at it, in the order in which they stand here."""
    return pytest.mark.parametrize("page", windows, indirect=True, scope="module")


@pytest.fixture(scope="module")
def page(request: pytest.FixtureRequest, lab: Any, chromium: Any) -> Iterator[Any]:
    """The explorer, run from its first cell, in a window of its own; on a busy machine if `late`."""
    width, height, late = request.param
    page = chromium.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(WAIT_MS)
    page.said = []
    page.on("pageerror", lambda error: page.said.append(str(error)))
    if late:
        page.add_init_script(f"({LATE})()")
    page.goto(lab.page(NOTEBOOK, f"strain-{width}-{late}"))
    page.wait_for_function(READY)
    page.evaluate(RUN_ALL)
    page.wait_for_function(DRAWN)
    page.wait_for_function("() => document.querySelectorAll('.noUi-handle').length >= 5")
    yield page
    page.evaluate(END)  # the next page's first run would close what this page's widgets still ask for
    page.close()


def press(page: Any, key: str, times: int) -> int:
    """Of the slider of threads; where that stands at last."""
    page.locator(".widget-hslider", has_text="threads").locator(".noUi-handle").focus()
    for _ in range(times):
        page.keyboard.press(key)
        page.wait_for_timeout(30)
    return shown(page)


def shown(page: Any) -> int:
    handle = page.locator(".widget-hslider", has_text="threads").locator(".noUi-handle")
    return int(float(handle.get_attribute("aria-valuenow")))


@opened(LATE_MODULES)
def test_a_module_that_comes_late_draws_it_and_every_move(page: Any):
    assert any(IMPATIENT in one for one in page.said), page.said
    assert all(IMPATIENT in one for one in page.said), page.said
    before = page.evaluate(THREADS_DRAWN)
    press(page, "ArrowLeft", 1)
    page.wait_for_function(f"() => ({THREADS_DRAWN})() === {before - 1}")


@opened(LATE_MODULES)
def test_keys_are_the_explorers_also_where_its_module_came_late(page: Any):
    kinds = page.evaluate(KINDS)
    page.locator(".widget-hslider", has_text="threads").locator(".noUi-handle").focus()
    for key in ("m", "d", "d"):
        page.keyboard.press(key)
    assert page.evaluate(KINDS) == kinds


@opened(USUAL)
def test_a_move_raises_nothing_in_the_kernel_and_offers_no_upload(page: Any):
    page.evaluate(LISTEN)  # not before: Lab asks a new kernel for widgets, and one without any says so
    before = page.evaluate(THREADS_DRAWN)
    press(page, "ArrowLeft", 3)
    page.wait_for_function(f"() => ({THREADS_DRAWN})() === {before - 3}")
    page.locator(".widget-html-content p", has_text="20,000 operations each").wait_for()
    assert page.evaluate("() => window.kernelSaid") == []
    buttons = page.locator(".modebar-btn").evaluate_all("them => them.map(one => one.dataset.title)")
    assert any("Download" in one for one in buttons) and not any("Share" in one for one in buttons)


CUT_OFF = """() => {
  const room = document.querySelector('.lockscale-explorer').closest('.jp-OutputArea-output');
  const edge = room.getBoundingClientRect().right + 1;
  const kinds = '.js-plotly-plot, .js-plotly-plot text, .widget-hslider, .widget-dropdown, button, p, pre';
  const parts = [...room.querySelectorAll(kinds)];
  const bad = part => {
    const box = part.getBoundingClientRect();
    const isHidden = !part.matches('text') && (box.width < 20 || box.height < 8);
    const isShort = part.matches('button') && part.scrollWidth > part.clientWidth;
    return isHidden || box.right > edge || isShort;
  };
  const seen = part => part.offsetParent || part.matches('text');
  return parts.filter(part => seen(part) && bad(part)).map(part => part.textContent || part.className);
}"""


@opened(SMALL, USUAL)
def test_nothing_is_blank_or_cut_off_in_a_window(page: Any):
    page.get_by_role("button", name="Write study file").click()
    page.locator("[role=status]", has_text="wrote").wait_for()  # its length moves what stands beside it
    assert page.evaluate(CUT_OFF) == []
    drawn = page.locator(".js-plotly-plot path.js-line").count()
    assert drawn >= 2


@opened(USUAL)
def test_a_kernel_that_is_behind_takes_no_key_back(page: Any):
    """It says all the while where it thinks that the controls stand."""
    assert page.evaluate(EXECUTE, NAG) == "ok"
    before = shown(page)
    assert press(page, "ArrowLeft", 12) == before - 12
    page.wait_for_function(f"() => ({THREADS_DRAWN})() === {before - 12}")
    page.wait_for_timeout(1000)
    assert shown(page) == before - 12
    assert press(page, "ArrowRight", 5) == before - 7
