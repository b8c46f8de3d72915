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
from lockscale.show.notebooks import all_sources, notebook_names, notebook_of, sources

NOTEBOOKS = notebook_names()
NUMBERED = [notebook_of(source) for source in sources()]
BATCHES = ("committed.yaml", "all-studies.yaml")
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
def test_it_is_short_and_holds_no_output(name: str):
    code = [cell for cell in json.loads(NOTEBOOKS[name].read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(code) <= 12
    lines = [[line for line in "".join(cell["source"]).splitlines() if line] for cell in code]
    assert max(map(len, lines)) <= 10
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_calls_the_library_and_computes_nothing_itself(name: str):
    """A function, a class or a loop belongs into lib/lockscale."""
    banned = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.Lambda, ast.Try)
    for text in cells(NOTEBOOKS[name], "code"):
        assert not [node for node in ast.walk(ast.parse(text)) if isinstance(node, banned)]


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
    assert "-m lockscale.show.notebooks" in recipe and "for batch in committed all-studies;" in recipe
    every, numbered = (read_batch(paths.NOTEBOOKS / "batches" / name) for name in BATCHES)
    assert every.notebooks == NOTEBOOKS and list(numbered.notebooks.values()) == NUMBERED
    read = [one.reads.folder for batch in (every, numbered) for one in batch.sets if one.reads]
    assert len(read) == 6 and {folder.parent for folder in read} == {paths.MEASURED}


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
