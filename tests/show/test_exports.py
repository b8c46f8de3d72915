# SPDX-License-Identifier: MIT
"""`lockscale export`: what it writes twice is equal, and equal to what is committed in figures/."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.show import exports
from lockscale.show.exports import export, export_names
from lockscale.study.file import list_studies, load_study
from lockscale.tables import list_tables

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")
CURATED = max(path.name for path in paths.MEASURED.glob("inode-claim-2*"))
NEAR_PX = 2.0  # browsers and fonts differ


def test_every_published_table_and_every_study_can_be_exported():
    assert set(export_names()) == set(list_tables()) | set(list_studies()) | {"scale", "casebook"}


def committed(form: str) -> list[Path]:
    found = sorted(paths.FIGURES.glob(f"*.{form}"))
    assert found
    return found


@pytest.mark.slow
def test_numbers_and_texts_are_those_committed(tmp_path: Path):
    written = export(export_names(), ["txt", "csv"], tmp_path)
    assert {path.name for path in written} == {
        path.name for form in ("txt", "csv") for path in committed(form)
    }
    for path in written:
        kept = (paths.FIGURES / path.name).read_bytes()
        assert path.read_bytes() == kept, f"run `make figures`: {path.name}"


@pytest.mark.slow
def test_pictures_are_those_committed_but_for_a_pixel_or_two(tmp_path: Path):
    for path in export(["s1_rates", "s2_function_cost_with", "s4_creat_clo"], ["svg"], tmp_path):
        found, kept = path.read_text(), (paths.FIGURES / path.name).read_text()
        assert NUMBER.sub("0", found) == NUMBER.sub("0", kept), "run `make figures`"
        numbers = zip(NUMBER.findall(found), NUMBER.findall(kept), strict=True)
        assert all(abs(float(a) - float(b)) <= NEAR_PX for a, b in numbers)


@pytest.mark.slow
def test_every_format_is_the_same_bytes_again(tmp_path: Path):
    first, second = (export(["s3_fallocate2"], folder=tmp_path / name) for name in ("one", "two"))
    assert [path.suffix for path in first] == 2 * [".svg", ".pdf", ".html", ".txt", ".csv"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes() != b""


def test_a_committed_picture_has_words_for_those_who_do_not_see_it():
    for path in committed("svg"):
        text = path.read_text()
        label = re.search(r'role="img" aria-labelledby="(\S+) (\S+)"', text)
        assert label and all(f'id="{one}"' in text for one in label.groups()), path.name
        assert re.search(
            r"<desc [^>]*>[^<]*(published|simulated|measured|counted|in virtual time)[^<]*</desc>", text
        ), path.name


def test_every_committed_figure_says_where_its_numbers_are_from():
    for path in committed("txt"):
        says = path.read_text().splitlines()[1]
        where = r"published|simulated|in virtual time|counted in QEMU|measured (in QEMU|on hardware)"
        assert re.search(where, says), path.name
        if re.search("measured|counted", says) and not path.stem.endswith(
            "-simulated"
        ):  # those may have a file's points
            (run,) = re.findall(r"run (\S+?)[,;:]", says)
            assert (paths.MEASURED / run).is_dir()


@pytest.mark.parametrize("path", sorted(paths.FIGURES.glob("*-simulated.csv")), ids=lambda path: path.stem)
def test_a_tables_row_has_the_metric_and_unit_of_the_simulated_ones(path: Path):
    table = pd.read_csv(path)
    own = load_study(path.stem.removesuffix("-simulated")).own_tables
    assert {"virtual" if own else "published", "simulated"} == set(table.origin)
    assert not table[["arm", "threads", "metric", "unit", "value", "origin"]].isna().any(axis=None)
    assert len(table[["metric", "unit"]].drop_duplicates()) == 1


def test_a_page_needs_no_network_and_has_its_text(tmp_path: Path):
    path, _ = export(["s4_creat_clo"], ["html"], tmp_path)
    text = path.read_text()
    assert '<html lang="en">' in text and "<figcaption>reaim creat_clo" in text
    assert not re.search(r"<(script|link)[^>]+(src|href)=", text)


@pytest.mark.slow
def test_a_measured_studys_text_comes_in_three_forms(lockscale, tmp_path: Path):
    forms = "changelog,cover,ticket"
    said = lockscale("export", "group-trylock", "--format", forms, "--output", str(tmp_path), "--json")
    names = [Path(path).name for path in said.value]
    assert names == [f"group-trylock-{end}" for end in ("changelog.txt", "cover-letter.patch", "ticket.md")]
    for path in said.value:
        assert "measured in virtual time, 64 CPUs" in " ".join(Path(path).read_text().split()), "it has rates"


def test_without_a_name_the_names_are_listed(lockscale):
    assert json.loads(lockscale("export", "--json").out) == export_names()


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["s9_none"], "there is no table or study 's9_none'"),
        (["s1_rates", "--format", "svg,jpeg"], "there is no format 'jpeg'"),
        (["s1_rates", "--format", "ticket"], "s1_rates has no measured run"),
        (["inode-claim", "--run", "none", "--format", "csv"], "there is no run 'none'"),
        (
            ["orphan-file", "--run", CURATED, "--format", "csv"],
            f"run {CURATED} is not a run of study orphan-file",
        ),
    ],
)
def test_what_it_does_not_know_is_refused_in_a_sentence(
    lockscale, argv: list[str], says: str, tmp_path: Path
):
    said = lockscale("export", *argv, "--output", str(tmp_path))
    assert said.status == 2 and says in said.err.splitlines()[-1] and "Traceback" not in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_text_of_a_study_without_a_run_is_missed_aloud(monkeypatch, capsys, tmp_path: Path):
    """The figures that were asked for beside it are there all the same."""
    monkeypatch.setattr(exports, "_is_measured", lambda story: False)
    asked = ["txt", "changelog"]
    assert export(["xfs-create"], asked, tmp_path) == [tmp_path / "xfs-create-simulated.txt"]
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("xfs-create has no measured run, so there is no changelog of it: run `make study ")
    with pytest.raises(BadInput, match="run `make study STUDY=xfs-create`, then give --run RUN"):
        export(["xfs-create"], ["changelog"], tmp_path)


@pytest.mark.parametrize("names", [["s1_rates"], ["inode-claim", "scale"]])
def test_a_run_of_what_is_no_study_is_refused_in_a_sentence(names: list[str], tmp_path: Path):
    with pytest.raises(BadInput, match=rf"--run .* but {names[-1]} is not a study"):
        export(names, ["txt"], tmp_path, CURATED)
    assert not list(tmp_path.iterdir())
