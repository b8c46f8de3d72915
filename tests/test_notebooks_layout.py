# SPDX-License-Identifier: MIT
"""The notebooks as a front door: parameters, contents, the way on; `make notebooks` and `make lab`."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from lockscale import paths
from lockscale.show.batch.plan import read_batch
from lockscale.show.execution import all_sources, notebook_names, notebook_of, sources

NOTEBOOKS = notebook_names()
NUMBERED = [notebook_of(source) for source in sources()]
MOST_BYTES = 300_000
PICTURES = {"image/svg+xml", "image/png"}
DRAWS = re.compile(r"\b(story\.show|published_figure|explorer_figure|scale_figure|casebook_figure|film)\(")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def cells(path: Path, kind: str) -> list[str]:
    found = json.loads(path.read_text())["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


def test_every_notebook_has_a_source_and_every_source_a_notebook():
    assert {notebook_of(source) for source in all_sources()} == set(NOTEBOOKS.values())


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_begins_with_its_title_and_has_one_parameters_cell(name: str):
    first, *others = json.loads(NOTEBOOKS[name].read_text())["cells"]
    assert first["cell_type"] == "markdown" and "".join(first["source"]).startswith("# ")
    tagged = [cell for cell in others if "parameters" in cell["metadata"].get("tags", [])]
    assert len(tagged) == 1 and tagged[0]["cell_type"] == "code"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_its_cells_are_short(name: str):
    """What takes more lines is no arithmetic that teaches: it belongs into lib/lockscale."""
    code = cells(NOTEBOOKS[name], "code")
    assert len(code) <= 18
    assert max(len([line for line in text.splitlines() if line.strip()]) for text in code) <= 15


def test_nothing_is_defined_twice():
    """Not in two notebooks, and not under a name that a function of the library has, but for S1's model."""
    nodes = [
        node for path in NOTEBOOKS.values() for text in cells(path, "code") for node in ast.parse(text).body
    ]
    defined = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert len(defined) == len(set(defined))
    library = "\n".join(path.read_text() for path in (paths.ROOT / "lib" / "lockscale").rglob("*.py"))
    known = set(re.findall(r"^(?:def|class) (\w+)", library, re.M))
    assert set(defined) & known == {"inode_claim"}, "tests/test_notebooks_by_hand.py holds that one equal"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_expression_stands_in_for_an_if(name: str):
    """`drawn and story.show(...)` as a line of its own."""
    for text in cells(NOTEBOOKS[name], "code"):
        lines = [node.value for node in ast.parse(text).body if isinstance(node, ast.Expr)]
        chosen = [part for one in lines if isinstance(one, ast.BoolOp | ast.IfExp) for part in ast.walk(one)]
        assert not [part for part in chosen if isinstance(part, ast.Call)]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_repository_page_shows_its_outputs_and_every_figure_as_a_picture(name: str):
    """GitHub draws svg and png, and neither plotly nor widgets."""
    text = NOTEBOOKS[name].read_text()
    code = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert len(text) <= MOST_BYTES
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "display_data", "stream"}
    assert all(output.get("name", "stdout") == "stdout" for output in outputs)
    data = [output["data"] for output in outputs if "data" in output]
    assert all(PICTURES & set(one) for one in data if "application/vnd.plotly.v1+json" in one)
    assert all("application/vnd.jupyter.widget-view+json" not in one for one in data)
    drawing = [cell for cell in code if DRAWS.search("".join(cell["source"]))]
    assert all(any(PICTURES & set(out.get("data", ())) for out in cell["outputs"]) for cell in drawing)
    # the explorer is a widget: its prose shows a figure of figures/, as a second plot would be in its way
    of_prose = name == "explore/lock_explorer" and "](../../figures/" in text
    assert drawing or of_prose or name in ("04_build_kernels", "08_changelog", "runs")


@pytest.mark.parametrize("path", NUMBERED, ids=lambda path: path.stem)
def test_its_table_of_contents_names_each_section_once(path: Path):
    first, *others = cells(path, "markdown")
    headings = [line[3:] for text in others for line in text.splitlines() if line.startswith("## ")]
    assert len(headings) >= 2 and headings[-1] == "In one sentence"
    anchors = [unquote(link[1:]) for link in LINK.findall(first) if link.startswith("#")]
    assert anchors == [text.replace(" ", "-") for text in headings]
    assert len(set(headings)) == len(headings)


def test_each_numbered_notebook_leads_to_the_next_and_to_the_index():
    for k, path in enumerate(NUMBERED):
        links = LINK.findall(cells(path, "markdown")[0])
        ways = {one.name for one in NUMBERED[max(k - 1, 0) : k] + NUMBERED[k + 1 : k + 2]}
        assert ways | {"README.md", "runs.ipynb"} <= set(links)


def test_make_notebooks_writes_and_runs_every_one_without_a_guest():
    recipe = subprocess.run(
        ["make", "-n", "notebooks", "-o", "env", "-o", ".venv/ready"],
        cwd=paths.ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "-m lockscale.show.notebooks --run" in recipe and "batches/all-studies.yaml" in recipe
    numbered = read_batch(paths.NOTEBOOKS / "batches" / "all-studies.yaml")
    assert list(numbered.notebooks.values()) == NUMBERED
    read = [one.reads.folder for one in numbered.sets if one.reads]
    assert len(read) == 5 and {folder.parent for folder in read} == {paths.MEASURED}


def test_the_example_of_a_batch_is_12_sets_that_build_nothing():
    batch = read_batch(paths.NOTEBOOKS / "batches" / "simulated-studies.yaml")
    assert len(batch.sets) == 12 and set(batch.notebooks) == {"01_audit", "02_simulate"}


def test_the_kernel_of_the_notebooks_is_the_one_that_lockscale_is_installed_in():
    from jupyter_client.manager import KernelManager

    assert KernelManager(kernel_name="python3").format_kernel_cmd()[0] == sys.executable
    metadata = [json.loads(path.read_text())["metadata"] for path in NOTEBOOKS.values()]
    assert {one["kernelspec"]["name"] for one in metadata} == {"python3"}


def test_the_settings_of_lab_are_ones_that_it_knows():
    said = json.loads((paths.ROOT / "setup/jupyter/labconfig/default_setting_overrides.json").read_text())
    schemas = Path(sys.prefix) / "share" / "jupyter" / "lab" / "schemas"
    for plugin, settings in said.items():
        package, name = plugin.split(":")
        known = json.loads((schemas / package / f"{name}.json").read_text())["properties"]
        assert set(settings) <= set(known)
