# SPDX-License-Identifier: MIT
"""Every model runs with `lockscale sim MODEL --json` and, in one line, in a notebook's cell."""

import html
import json
import re
from typing import Any

import pytest

from lockscale.cli import main
from lockscale.show.execution import ENDS_S
from lockscale.show.private_kernel import private_kernel
from lockscale.sim import list_models, load_model

THREADS = 4
MODELS = list_models()
IMPORT = "from lockscale.sim import simulate"


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """One notebook with one line a model, really executed: what each cell displays."""
    import nbclient  # takes seconds, which the inner loop would pay while it collects
    import nbformat

    lines = {name: f'simulate("{name}", {THREADS})' for name in MODELS}
    cells = [nbformat.v4.new_code_cell(line) for line in (IMPORT, *lines.values())]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with private_kernel(ENDS_S) as config:
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", config=config).execute()
    assert notebook.cells[0].outputs == []
    return dict(zip(MODELS, (cell.outputs for cell in notebook.cells[1:]), strict=True))


def from_command_line(name: str, capfd: pytest.CaptureFixture[str]) -> Any:
    with pytest.raises(SystemExit) as ended:
        main(["sim", name, "--threads", str(THREADS), "--json"])
    assert not ended.value.code
    return json.loads(capfd.readouterr().out)


@pytest.mark.parametrize("name", MODELS)
def test_the_command_line_gives_one_json_value(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    said = from_command_line(name, capfd)
    (point,) = said["points"]
    assert (said["model"], said["origin"], point["threads"]) == (name, "simulated", THREADS)
    assert 0 < point["low"] <= point["value"] <= point["high"] and point["unit"].endswith("/s")
    names = {lock.name for lock in load_model(name).program({}, THREADS).names["lock"]}
    assert point["attempts_per_op"] >= 1 and set(point["locks"]) == names


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_cell_shows_the_rate_the_locks_and_where_it_is_from(
    name: str, shown: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    (output,) = shown[name]
    assert output.output_type == "execute_result"
    point = from_command_line(name, capfd)["points"][0]
    rate, interval = f"{point['value']:,.0f} {point['unit']}", f"{point['low']:,.0f} to {point['high']:,.0f}"
    as_html = html.unescape(re.sub(r"<[^>]+>", " ", output.data["text/html"]))
    for text in (output.data["text/plain"], as_html):
        assert text.lstrip().startswith(f"{name}, {THREADS} threads: {rate}, 95% interval {interval} by ")
        assert f"simulated; {load_model(name).calibration or 'not calibrated'}" in text
        assert len(text) < 1000
        for lock, found in point["locks"].items():
            assert (lock in text) == (found["acquisitions"] > 0)


def test_what_a_cell_shows_is_escaped() -> None:
    """A lock of the user's own may be called anything."""
    from lockscale.sim import simulate
    from lockscale.sim.builder import Builder
    from lockscale.sim.delays import ns
    from lockscale.sim.model import model

    @model(unit="ops/s")
    def odd(m: Builder) -> None:
        """A lock with a name of its own."""
        lock = m.queued_lock("a<b> & c", hold=ns(5))
        path = m.path("path")
        path.lock(lock)
        path.unlock(lock)

    found = simulate(odd, 1, operations=100)
    assert "a&lt;b&gt; &amp; c" in found._repr_html_() and "a<b> & c" in repr(found)
