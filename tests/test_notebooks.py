# SPDX-License-Identifier: MIT
"""The committed notebooks: made from their sources and the data, valid, with known parameters."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from lockscale import paths
from lockscale.show.execution import all_sources, notebook_of, sources
from lockscale.show.notebooks import METADATA, clean, committed, made_from
from lockscale.study.file import Parameters

SOURCES = {source.stem: source for source in sources()}


class Part(dict[str, Any]):
    """A part of a notebook, as nbformat gives it: that one takes seconds to import."""

    def __getattr__(self, name: str) -> Any:
        return "".join(self[name]) if name == "source" else self[name]


def read(name: str) -> Any:
    return json.loads(notebook_of(SOURCES[name]).read_text(), object_hook=Part)


def test_the_notebooks_tell_the_study_in_eight_steps():
    steps = ["audit", "simulate", "predict", "build_kernels", "measure", "profile", "fit", "changelog"]
    assert list(SOURCES) == [f"{k:02}_{step}" for k, step in enumerate(steps, start=1)]
    assert {path.stem for path in paths.NOTEBOOKS.glob("*.ipynb")} == {*SOURCES, "runs"}


@pytest.mark.slow
@pytest.mark.parametrize("source", all_sources(), ids=lambda source: source.stem)
def test_a_committed_notebook_equals_its_source_byte_for_byte(source: Path):
    assert notebook_of(source).read_bytes() == committed(source).encode(), "run `make ipynb`"


@pytest.mark.slow
@pytest.mark.parametrize("source", all_sources(), ids=lambda source: source.stem)
def test_its_outputs_were_made_from_the_code_and_the_data_that_are_here(source: Path):
    said = json.loads(notebook_of(source).read_text())["metadata"].get(METADATA, {})
    assert said.get("made_from") == made_from(clean(source), said["run"]), "run `make notebooks`"


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_it_is_valid_and_each_cell_has_an_id_of_its_own(name: str):
    import nbformat

    notebook = nbformat.read(notebook_of(SOURCES[name]), as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", SOURCES)
def test_its_one_parameters_cell_names_only_what_a_study_or_a_run_knows(name: str):
    (cell,) = [c for c in read(name).cells if "parameters" in c.metadata.get("tags", [])]
    found = {}
    for line in ast.parse(cell.source).body:
        assert isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name), cell.source
        found[line.targets[0].id] = ast.literal_eval(line.value)
    assert set(found) <= {"study", "run", "target", "cpus"} | set(Parameters.model_fields)
    assert found["study"] == "inode-claim" and found["run"] == ""
    # None leaves a parameter as the study file says: one place to change it
    assert all(found[parameter] is None for parameter in set(found) & set(Parameters.model_fields))


@pytest.mark.slow
def test_equal_cells_still_get_ids_of_their_own(tmp_path: Path):
    source = tmp_path / "09_twins.py"
    source.write_text("# %%\nx = 1\n\n# %%\nx = 1\n\n# %% [markdown]\n# x = 1\n")
    ids = [cell.id for cell in clean(source).cells]
    assert len(ids) == len(set(ids)) == 3
    assert [cell.id for cell in clean(source).cells] == ids


def test_the_index_names_every_notebook():
    index = (paths.NOTEBOOKS / "README.md").read_text()
    assert [name for name in SOURCES if f"({name}.ipynb)" not in index] == []
