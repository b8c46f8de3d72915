# SPDX-License-Identifier: MIT
"""A batch of four sets in real papermill, killed in the middle, resumed, and its index in a real browser."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import yaml

from command import SCRIPT

pytestmark = pytest.mark.slow
WAIT_S = 300
THREADS, FIRST = [2, 5], 2  # each with two names; so many are done when it is killed
SETS = 2 * len(THREADS)
EVIL = "<script>document.title = 'broken'</script>"
PARAMETERS = 'threads = 1\nname = ""\nrun = ""\nlog = ""'
WORK = """
import os, time
from pathlib import Path
with Path(log).open("a") as ran:
    ran.write(f"{threads} {name}\\n")
if threads == 5 and "script" in name:
    raise ValueError(name)
"""
SHOW = """
from IPython.display import display
from lockscale.show.headlines import MIME
figure = {"data": [{"type": "scatter", "y": [1, threads]}], "layout": {}}
display({"application/vnd.plotly.v1+json": figure, "text/plain": "a figure"}, raw=True)
display({MIME: {"says": f"{threads} threads of {name}", "numbers": {"rate_per_s": 2.0 * threads}}}, raw=True)
"""


class Told(NamedTuple):
    """Where the batch is, how often each set's work ran, and what the commands said."""

    folder: Path
    before: list[str]
    ran: Counter[str]
    second: "subprocess.CompletedProcess[str]"
    third: "subprocess.CompletedProcess[str]"


def notebook() -> str:
    cells = [("parameters", PARAMETERS), ("work", WORK), ("show", SHOW)]
    code = {"cell_type": "code", "execution_count": None, "outputs": []}
    said = [{**code, "id": tag, "metadata": {"tags": [tag]}, "source": text} for tag, text in cells]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": said, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})


def whole_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.is_file() else []


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Started, killed with SIGKILL after two sets, started again, and once more."""
    room = tmp_path_factory.mktemp("batch")
    for folder in ("data", "kernel-patches", "notebooks"):  # as in any clone
        (room / folder).mkdir()
    (room / "notebooks" / "tick.ipynb").write_text(notebook())
    grid = {"threads": THREADS, "name": ["plain", EVIL]}
    said = {"notebooks": ["tick"], "grid": grid, "parameters": {"log": str(room / "log")}}
    (room / "storm.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    env = {**os.environ, "LOCKSCALE_ROOT": str(room), "LOCKSCALE_RUNS": str(room / "runs")}
    argv, folder = [str(SCRIPT), "batch", str(room / "storm.yaml")], room / "runs" / "storm"
    first = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline_s = time.monotonic() + WAIT_S
    while len(whole_lines(folder / "journal.jsonl")) < FIRST and time.monotonic() < deadline_s:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = [json.loads(line)["set"] for line in whole_lines(folder / "journal.jsonl")]
    second, third = (
        subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=WAIT_S)
        for _ in range(2)
    )
    return Told(folder, before, Counter(whole_lines(room / "log")), second, third)


def test_no_finished_set_ran_again(told: Told):
    assert FIRST <= len(told.before) < SETS == len(told.ran)
    entries = [json.loads(line) for line in whole_lines(told.folder / "journal.jsonl")]
    failed = [one for one in entries if one["status"] == "failed"]
    done = Counter(one["set"] for one in entries if one["status"] == "done")
    assert len(done) == SETS - 1 and set(done.values()) == {1}
    assert len(failed) == 2 and len({one["set"] for one in failed}) == 1  # it failed, and was tried again
    ran = told.ran.copy()
    assert ran.pop(f"5 {EVIL}") == 2
    # the one that was killed in its work ran twice; the others once
    assert sum(ran.values()) <= SETS and max(ran.values()) <= 2


def test_one_line_and_a_status_are_all_that_cron_gets(told: Told):
    for said, now in ((told.second, SETS - len(told.before)), (told.third, 1)):
        index = told.folder / "index.html"
        line = f"batch storm: {SETS - 1} of {SETS} sets done, 1 failed, {now} notebooks ran now: {index}\n"
        assert (said.returncode, said.stdout, said.stderr) == (1, line, "")


def test_the_summary_has_a_row_for_each_set_with_its_number(told: Told):
    table = pd.read_csv(told.folder / "summary.csv")
    assert len(table) == SETS and list(table.status).count("failed") == 1
    done = table[table.status == "done"]
    assert (done.rate_per_s == 2 * done.threads).all()
    assert all((told.folder / path).is_file() for path in table.path)
    assert "ValueError" in table.says[table.status == "failed"].iloc[0]


def test_nothing_lies_outside_the_sets_and_nothing_is_left_running(told: Told):
    names = {path.name for path in told.folder.iterdir()} - set(pd.read_csv(told.folder / "summary.csv").set)
    files = {"batch.json", "batch.lock", "index.html", "journal.jsonl", "plotly.min.js", "summary.csv"}
    assert names == files
    assert not list(told.folder.rglob("running")) and not list(told.folder.rglob("*.part"))


@pytest.fixture(scope="module")
def page(told: Told, chromium: Any) -> Iterator[Any]:
    page, said = chromium.new_page(), []
    page.on("console", lambda one: said.append(one.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on(
        "request", lambda one: said.append(one.url) if not one.url.startswith(("file:", "data:")) else None
    )
    yield page
    page.close()
    assert said == []


def test_its_index_opens_in_a_browser(told: Told, page: Any):
    page.goto((told.folder / "index.html").as_uri())
    assert page.title() == "batch storm"
    rows = page.locator("tbody tr")
    assert (
        rows.count() == SETS
        and page.locator("td.done").count() == SETS - 1
        and page.locator("td.failed").count() == 1
    )
    assert page.get_by_text(EVIL).count() >= SETS // 2  # shown as text, run as nothing
    assert f"{SETS} sets: {SETS - 1} done, 1 failed." in page.locator("p").first.inner_text()


def test_a_row_leads_to_its_notebook_as_a_page_with_its_figure(told: Told, page: Any):
    page.goto((told.folder / "index.html").as_uri())
    page.locator("tbody tr", has_text="2 threads of plain").get_by_role("link", name="page").click()
    page.wait_for_selector(".js-plotly-plot path.js-line")
    page.get_by_role("link", name="Back to the batch").click()
    assert page.title() == "batch storm"
    page.locator("td.failed").locator("..").get_by_role("link", name="page").click()
    page.get_by_text("ValueError").first.wait_for()
    assert page.title().startswith("storm: threads-5")
