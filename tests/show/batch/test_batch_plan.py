# SPDX-License-Identifier: MIT
"""A batch file: which sets it means, and what of it is refused before anything runs."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.show.batch.index import open_journal, state_of
from lockscale.show.batch.plan import Batch, _id, read_batch
from lockscale.show.execution import notebook_names

CURATED = "inode-claim"


def batch(folder: Path, **said: object) -> Batch:
    path = folder / "storm.yaml"
    path.write_text(yaml.safe_dump({"notebooks": ["02_simulate"], **said}, sort_keys=False))
    return read_batch(path)


def refusal(folder: Path, **said: object) -> str:
    with pytest.raises(BadInput) as refused:
        batch(folder, **said)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def refused_text(folder: Path, text: str, name: str = "storm.yaml") -> str:
    (folder / name).write_text(text)
    with pytest.raises(BadInput) as refused:
        read_batch(folder / name)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_grid_is_every_combination(inside: Path):
    grid = {"study": ["inode-claim", "orphan-file"], "seed": [1, 2, 3], "simulated_threads": [[1, 8]]}
    sets = batch(inside, grid=grid, parameters={"replications": 2}).sets
    assert [(one.varied["study"], one.varied["seed"]) for one in sets] == [
        (study, seed) for study in ("inode-claim", "orphan-file") for seed in (1, 2, 3)
    ]
    assert all("simulated_threads" not in one.varied for one in sets)
    first = sets[0].study
    assert first and first.parameters.simulated_threads == [1, 8] and first.parameters.replications == 2
    assert len({one.id for one in sets}) == 6


@pytest.mark.parametrize("said", [{}, {"grid": {}}])
def test_without_a_grid_or_with_an_empty_one_there_is_one_set(inside: Path, said: dict[str, object]):
    assert len(batch(inside, **said).sets) == 1


def test_a_set_keeps_its_name_when_others_join_the_grid(inside: Path):
    fewer = batch(inside, grid={"seed": [1, 2]}).sets
    more = batch(inside, grid={"seed": [1, 2, 3]}).sets
    assert [one.id for one in more[:2]] == [one.id for one in fewer]


def test_a_parameter_of_the_study_file_that_no_notebook_names_is_one_too(inside: Path):
    (one,) = batch(inside, grid={"ageing_loads": [3]}).sets
    assert one.study and one.study.parameters.ageing_loads == 3


def test_a_pattern_means_every_notebook_that_fits_once(inside: Path):
    assert list(batch(inside, notebooks=["07_fit", "0[67]*"]).notebooks) == ["07_fit", "06_profile"]
    assert list(batch(inside, notebooks=["*"]).notebooks) == list(notebook_names())


def test_a_curated_run_is_read_in_place_of_measuring(inside: Path):
    (one,) = batch(inside, notebooks=["05_measure"], parameters={"study": CURATED}, curated=True).sets
    assert one.reads and one.reads.folder.parent == paths.MEASURED


def test_what_decides_a_set_is_in_its_hash(inside: Path):
    plain = batch(inside).sets[0].sha256
    seeded = batch(inside, parameters={"seed": 7}).sets[0].sha256
    read = batch(inside, curated=True).sets[0].sha256
    assert len({plain, seeded, read}) == 3


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"notebooks": []}, "storm.yaml: notebooks is empty: give a list of notebooks' names or patterns"),
        ({"notebooks": ["9_none"]}, "there is no notebook '9_none' (known: 01_audit, "),
        ({"notebooks": ["../../../etc/passwd"]}, "there is no notebook '../../../etc/passwd'"),
        (
            {"note": 1},
            "storm.yaml: a batch has no key 'note': use notebooks, grid, parameters or curated",
        ),
        ({"grid": {"sead": [1]}}, "no chosen notebook has the parameter 'sead' (known: "),
        ({"grid": {"run": ["x"]}}, "no chosen notebook has the parameter 'run'"),
        ({"grid": {"seed": []}}, "storm.yaml: grid.seed has no values: give at least one, or leave seed out"),
        ({"grid": {"seed": 1}}, "storm.yaml: grid.seed is 1: write a list, such as seed: [1, 2]"),
        ({"grid": {"seed": [1, 1]}}, "a value appears twice in the grid"),
        ({"grid": {"seed": [1]}, "parameters": {"seed": 1}}, "seed is in both grid and parameters"),
        (
            {"grid": []},
            "storm.yaml: grid is or holds []: give names of parameters, each with a list of values",
        ),
        (
            {"grid": None},
            "storm.yaml: grid is empty: give names of parameters, each with a list of values, such",
        ),
        ({"curated": None}, "storm.yaml: curated is empty: give true or false, or leave it out"),
        ({"grid": {7: [1]}}, "storm.yaml: grid is or holds 7: give names of parameters"),
        ({"notebooks": "02"}, "storm.yaml: notebooks is or holds '02': give a list of notebooks' names"),
        ({"notebooks": [2]}, "storm.yaml: notebooks is or holds 2: give a list of notebooks' names"),
        (
            {"parameters": [1]},
            "storm.yaml: parameters is or holds [1]: give names of parameters, each with its",
        ),
        (
            {"grid": {"seed": ["one"]}},
            "storm.yaml: parameter seed: write a whole number",
        ),
        ({"grid": {"seed": [float("nan")]}}, "storm.yaml line 5 says .nan, which is not a number"),
        (
            {"grid": {"study": ["inode_claim"]}},
            "storm.yaml: there is no study 'inode_claim' in notebooks/studies: did you mean",
        ),
        ({"grid": {"study": [["inode-claim"]]}}, "(known: "),
        (
            {"notebooks": ["05_measure"], "grid": {"target": ["../qemu"]}},
            "storm.yaml: there is no target '../qemu'",
        ),
        ({"notebooks": ["05_measure"], "grid": {"target": ["local"]}}, "target local boots no arms"),
        ({"grid": {"seed": list(range(1001))}}, "asks for 1001 sets, but a batch has at most 1000"),
        ({"curated": "yes please"}, "storm.yaml: curated is or holds 'yes please': give true or false"),
    ],
)
def test_what_cannot_run_is_refused_in_one_sentence(inside: Path, said: dict[str, object], sentence: str):
    assert sentence in refusal(inside, **said)


def test_what_is_no_yaml_or_would_run_code_is_refused(inside: Path):
    assert "is not YAML that can be read safely" in refused_text(inside, "notebooks: [")
    assert "is not YAML that can be read safely" in refused_text(
        inside, "notebooks: [!!python/object/apply:os.system ['true']]"
    )
    assert "repeats the name" in refused_text(inside, "notebooks: ['*']\nnotebooks: ['*']\n")
    assert "storm.yaml has to contain names with values" in refused_text(inside, "- 1\n")
    assert "storm.yaml is empty: write at least notebooks" in refused_text(inside, "")
    assert "storm.yaml: the key notebooks is missing: give a list" in refused_text(inside, "grid: {}\n")
    with pytest.raises(BadInput, match="is not a file: give a batch file"):
        read_batch(inside)
    assert "cannot name a batch" in refused_text(inside, "notebooks: ['*']\n", ".yaml")


def test_aliases_that_make_a_short_file_enormous_are_refused(inside: Path):
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 12)]
    assert "has more than 100000 values" in refused_text(inside, "\n".join(lines))
    assert "has more than 100000 values" in refused_text(inside, "grid: &loop [*loop]\n")


def test_a_study_without_a_curated_run_says_how_to_get_one(inside: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "MEASURED", inside)
    assert "lockscale study keep" in refusal(inside, curated=True)


@settings(max_examples=50)
@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text()), max_size=3))
def test_no_value_leads_out_of_the_batchs_folder(values: dict[str, object]):
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,69}", _id(values, values))


def test_a_line_that_a_kill_tore_is_dropped_and_another_files_is_refused(inside: Path):
    journal = open_journal(inside / "journal.jsonl")
    entry = {"set": "a", "notebook": "n", "key": "k", "status": "done", "says": "", "numbers": {}}
    journal.add({**entry, "wall_s": 1.0, "started_utc": ""})  # type: ignore[typeddict-item]
    with journal.path.open("a") as torn:
        torn.write('{"set": "b", "noteb')
    again = open_journal(journal.path)
    states = [state_of([again.entry("a", "n", key)]) for key in ("k", "other")]
    assert states == ["done", "left"] and len(again.entries) == 1
    assert journal.path.read_text().endswith("}\n")
    journal.path.write_text("{}\n")
    with pytest.raises(BadInput, match="line 1 is not one of a batch"):
        open_journal(journal.path)
