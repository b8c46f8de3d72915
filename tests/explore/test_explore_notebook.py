# SPDX-License-Identifier: MIT
"""The notebooks to play with: made from their sources, short, without output; they run."""

import ast
import json
import re
from pathlib import Path

import pytest

from lockscale.explore.scenes import SCENES
from lockscale.notebooks import explore_sources, generate, notebook_of, private_kernel

SOURCES = {source.stem: source for source in explore_sources()}


def cells(name: str, kind: str) -> list[str]:
    found = json.loads(notebook_of(SOURCES[name]).read_text())["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


def test_the_lock_explorer_is_there():
    assert "lock_explorer" in SOURCES
    assert {notebook_of(source).name for source in SOURCES.values()} == {
        path.name for path in notebook_of(SOURCES["lock_explorer"]).parent.glob("*.ipynb")
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_it_equals_its_source(name: str):
    assert notebook_of(SOURCES[name]).read_bytes() == generate(SOURCES[name]).encode(), "run `make notebooks`"


@pytest.mark.parametrize("name", SOURCES)
def test_it_is_short_holds_no_output_and_no_loop(name: str):
    code = cells(name, "code")
    assert len(code) <= 12 and all(len(text.splitlines()) <= 10 for text in code)
    assert '"output_type"' not in notebook_of(SOURCES[name]).read_text()
    banned = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.Lambda, ast.Try)
    assert not [node for text in code for node in ast.walk(ast.parse(text)) if isinstance(node, banned)]


@pytest.mark.parametrize("name", SOURCES)
def test_its_links_lead_to_files(name: str):
    where = notebook_of(SOURCES[name]).parent
    for link in re.findall(r"\]\(([^)#\s]+)", "\n".join(cells(name, "markdown"))):
        assert (where / link).is_file(), link


def test_the_explorers_parameters_name_every_scene():
    (parameters,) = [text for text in cells("lock_explorer", "code") if text.startswith("scene")]
    assert all(one.name in parameters for one in SCENES)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_it_runs_from_a_clean_kernel(name: str):
    import nbclient
    import nbformat

    notebook = nbformat.read(notebook_of(SOURCES[name]), as_version=4)
    where = {"metadata": {"path": str(Path(notebook_of(SOURCES[name])).parent)}}
    with private_kernel() as config:
        client = nbclient.NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources=where, config=config,
            store_widget_state=False,
        )  # fmt: skip
        client.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type in ("error", "stream")]
    shown = {mime for output in outputs if "data" in output for mime in output.data}
    assert shown & {"application/vnd.jupyter.widget-view+json", "application/vnd.plotly.v1+json"}
