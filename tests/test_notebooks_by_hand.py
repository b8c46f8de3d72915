# SPDX-License-Identifier: MIT
"""Notebooks opened in JupyterLab and run from their parameters cell, without the pipeline."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockscale import paths
from lockscale.show.execution import private_kernel
from lockscale.show.notebooks import notebook_of, sources

NOTEBOOKS = {source.stem: notebook_of(source) for source in sources()}
TIMEOUT_S = 300
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty runs folder, known to the kernels through the environment."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCKSCALE_RUNS", str(folder))
        yield folder


def execute(name: str) -> list[Any]:
    """Run a notebook as it is committed; the outputs of its code cells."""
    import nbclient  # takes seconds, which the inner loop would pay while it collects
    import nbformat

    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    where = {"metadata": {"path": str(paths.NOTEBOOKS)}}
    with private_kernel() as config:
        nbclient.NotebookClient(
            notebook, timeout=TIMEOUT_S, kernel_name="python3", resources=where, config=config
        ).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert all(cell.execution_count for cell in code)
    assert not [output for output in outputs if output.output_type == "error"]
    return outputs


def shown(outputs: list[Any], kind: str) -> list[Any]:
    return [o.data[kind] for o in outputs if "data" in o and kind in o.data]


@pytest.fixture(scope="module")
def simulated(runs: Path) -> list[Any]:
    return execute("02_simulate")


def test_01_shows_the_verdict_on_tenfold(runs: Path):
    tables = shown(execute("01_audit"), "text/html")
    assert any("10X" in table and "unknown" in table for table in tables)


def test_02_leaves_the_first_figure_with_its_numbers(runs: Path, simulated: list[Any]):
    folder = runs / "inode-claim-by-hand" / "figures"
    for suffix in ("svg", "csv", "txt"):
        assert (folder / f"02-table-against-simulated.{suffix}").stat().st_size > 0
    svg = (folder / "02-table-against-simulated.svg").read_text()
    assert "simulated" in svg and "published in S1" in svg


def test_02_shows_the_figure_and_the_unfitted_check(simulated: list[Any]):
    assert len(shown(simulated, "application/vnd.plotly.v1+json")) == 1
    assert any("error_pct" in table for table in shown(simulated, "text/html"))


def test_03_writes_the_prediction_down(runs: Path):
    execute("03_predict")
    said = json.loads((runs / "inode-claim-by-hand" / "prediction.json").read_text())
    assert said["published_machine"]["threads"] == 48 and len(said["sha256"]) == 64


def test_07_judges_the_prediction_by_the_curated_run(runs: Path):
    """The runs folder holds no measured run, so that of data/measured is read."""
    outputs = execute("07_fit")
    assert any("holds" in table for table in shown(outputs, "text/html"))
    figure = runs / "inode-claim-by-hand" / "figures" / "07-fitted-models.svg"
    assert "measured in QEMU" in figure.read_text()
