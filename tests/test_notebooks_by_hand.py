# SPDX-License-Identifier: MIT
"""Notebooks opened in JupyterLab and run from their parameters cell, without the pipeline.

What they print is what the committed ones show, so a change of the library that changes it is found here.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockscale import paths
from lockscale.measure.run_folder import curated_run
from lockscale.show.execution import ENDS_S, notebook_of, sources
from lockscale.show.private_kernel import private_kernel

NOTEBOOKS = {source.stem: notebook_of(source) for source in sources()}
TIMEOUT_S = 300
PLOTLY, WIDGET = "application/vnd.plotly.v1+json", "application/vnd.jupyter.widget-view+json"
HASH = re.compile(r"\b[0-9a-f]{64}\b")  # of a prediction with all its digits
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty runs folder, known to the kernels through the environment."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCKSCALE_RUNS", str(folder))
        yield folder


def execute(name: str, run: str = "") -> list[Any]:
    """Run a notebook as it is committed, or with its parameter `run`; the outputs of its code cells."""
    import nbclient  # takes seconds, which the inner loop would pay while it collects
    import nbformat

    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    for cell in notebook.cells:
        if "parameters" in cell.metadata.get("tags", []):
            cell.source = cell.source.replace('run = ""', f"run = {run!r}")
    where = {"metadata": {"path": str(paths.NOTEBOOKS)}}
    with private_kernel(ENDS_S) as config:
        nbclient.NotebookClient(
            notebook, timeout=TIMEOUT_S, kernel_name="python3", resources=where, config=config
        ).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert all(cell.execution_count for cell in code)
    assert not [output for output in outputs if output.output_type == "error"]
    return outputs


def texts(outputs: list[Any]) -> list[str]:
    """What is printed and every table; of a figure nothing, and no progress bar."""
    plain = [o for o in outputs if "data" in o and not {PLOTLY, WIDGET} & set(o.data)]
    plain += [o for o in outputs if o.output_type == "stream" and o.name == "stdout"]
    return [o.text if "text" in o else o.data["text/plain"] for o in plain]


def is_as_committed(name: str, outputs: list[Any]) -> bool:
    """The same text, and numbers to four digits: the last ones differ from processor to processor."""
    import nbformat

    committed = nbformat.read(NOTEBOOKS[name], as_version=4)
    kept = [output for cell in committed.cells if cell.cell_type == "code" for output in cell.outputs]
    now, then = (HASH.sub("", "\n".join(texts(of))) for of in (outputs, kept))
    assert NUMBER.sub("#", now).split() == NUMBER.sub("#", then).split(), "run `make notebooks`"
    assert list(map(float, NUMBER.findall(now))) == pytest.approx(
        list(map(float, NUMBER.findall(then))), 1e-4
    )
    return True


def shown(outputs: list[Any], kind: str) -> list[Any]:
    return [o.data[kind] for o in outputs if "data" in o and kind in o.data]


@pytest.fixture(scope="module")
def simulated(runs: Path) -> list[Any]:
    return execute("02_simulate")


def test_01_shows_the_verdict_on_tenfold(runs: Path):
    outputs = execute("01_audit")
    assert is_as_committed("01_audit", outputs)
    tables = shown(outputs, "text/html")
    assert any("10X" in table and "unknown" in table for table in tables)


def test_02_leaves_the_first_figure_with_its_numbers(runs: Path, simulated: list[Any]):
    folder = runs / "inode-claim-by-hand" / "figures"
    for suffix in ("svg", "csv", "txt"):
        assert (folder / f"02-table-against-simulated.{suffix}").stat().st_size > 0
    svg = (folder / "02-table-against-simulated.svg").read_text()
    assert "simulated" in svg and "published in S1" in svg


def test_02_shows_the_figure_and_the_unfitted_check(simulated: list[Any]):
    assert is_as_committed("02_simulate", simulated)
    assert len(shown(simulated, PLOTLY)) == 1
    assert any("error_pct" in table for table in shown(simulated, "text/html"))


def test_the_model_in_02_and_the_librarys_give_the_same_numbers():
    from lockscale.sim import simulate

    cells = json.loads(NOTEBOOKS["02_simulate"].read_text())["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    at = next(k for k, text in enumerate(texts) if text.startswith("@model"))
    names: dict[str, Any] = {}
    for text in texts[at - 1 : at + 1]:
        exec(text, names)
    for given in ({}, {"search_locked": True}, {"hold_ns": 400.0, "elsewhere_us": 30.0}):
        ours, shipped = simulate(names["inode_claim"], 32, given), simulate("inode_claim", 32, given)
        assert (ours.rate_per_s, ours.low, ours.high) == (shipped.rate_per_s, shipped.low, shipped.high)
        assert ours.attempts_per_op == shipped.attempts_per_op


def test_03_writes_the_prediction_down(runs: Path):
    assert is_as_committed("03_predict", execute("03_predict", curated_run("inode-claim", rates=True).id))
    said = json.loads((runs / "inode-claim-by-hand" / "prediction.json").read_text())
    assert said["published_machine"]["threads"] == 48 and len(said["sha256"]) == 64


def test_07_judges_the_prediction_by_the_curated_run(runs: Path):
    """The runs folder holds no measured run, so that of data/measured is read, the one in virtual time."""
    outputs = execute("07_fit")
    assert any("holds" in table for table in shown(outputs, "text/html"))
    figure = runs / "inode-claim-by-hand" / "figures" / "07-fitted-models.svg"
    assert "measured in virtual time" in figure.read_text()
