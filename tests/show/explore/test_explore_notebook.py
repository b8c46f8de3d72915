# SPDX-License-Identifier: MIT
"""The notebooks to play with, which no study runs: they run from a clean kernel."""

import json
from pathlib import Path

import pytest

from lockscale.show.execution import ENDS_S, all_sources, notebook_of
from lockscale.show.explore.setting import scenes
from lockscale.show.private_kernel import private_kernel

SEEN = "story_group_trylock"
"""Of the stories, which differ in their numbers alone, the longest; the others in make test-all."""
SOURCES = {source.stem: source for source in all_sources() if source.parent.name == "explore"}


def cells(name: str, kind: str) -> list[str]:
    found = json.loads(notebook_of(SOURCES[name]).read_text())["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


def test_the_explorers_parameters_name_every_scene():
    (parameters,) = [text for text in cells("lock_explorer", "code") if text.startswith("scene")]
    assert all(one.name in parameters for one in scenes())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name.startswith("story") and name != SEEN else ())
        for name in SOURCES
    ],
)
def test_it_runs_from_a_clean_kernel(name: str):
    import nbclient
    import nbformat

    notebook = nbformat.read(notebook_of(SOURCES[name]), as_version=4)
    where = {"metadata": {"path": str(Path(notebook_of(SOURCES[name])).parent)}}
    with private_kernel(ENDS_S) as config:
        client = nbclient.NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources=where, config=config,
            store_widget_state=False,
        )  # fmt: skip
        client.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type in ("error", "stream")]
    shown = {mime for output in outputs if "data" in output for mime in output.data}
    assert shown & {"application/vnd.jupyter.widget-view+json", "application/vnd.plotly.v1+json"}
