# SPDX-License-Identifier: MIT
"""A study's tables may be files of one's own: read as promised, called by their origin, kept in the run."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure.curate import curate
from lockscale.measure.run_folder import Run, keep_study
from lockscale.predict.predicted_against_measured import judge_published
from lockscale.show.audit import audit_tables
from lockscale.show.batch.plan import read_batch
from lockscale.show.figures.study import table_beside_simulated
from lockscale.show.figures.tables import table_figure
from lockscale.show.pipeline import preflight, resume_study, run_study
from lockscale.show.simulated import errors, table_points
from lockscale.show.story import open_story
from lockscale.study.file import Study, load_study
from lockscale.study.tables import StudyTable, own_claims, study_tables

SHIPPED = yaml.safe_load((paths.STUDIES / "inode-claim.yaml").read_text())
MINE = "arm,threads,value,unit,origin\nsteal-retry,1,20,kops/s,hardware\nsteal-retry,8,90,kops/s,hardware\n"
SIMULATED = pd.DataFrame(
    {"arm": "steal-retry", "threads": [1, 8], "value": 3e4, "low": 2e4, "high": 4e4}
).assign(runs="30000 30000")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a study `mine` with its table; what lockscale knows of it is a link."""
    (tmp_path / "studies").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "studies/mine.yaml").symlink_to(tmp_path / "home/mine.yaml")
    monkeypatch.setattr(paths, "STUDIES", tmp_path / "studies")
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    (tmp_path / "home/rates.csv").write_text(MINE)
    return tmp_path / "home"


def mine(home: Path, *tables: str, name: str = "mine") -> Study:
    said = {**SHIPPED, "name": name, "tables": list(tables or ("rates.csv",))}
    (home / f"{name}.yaml").write_text(yaml.safe_dump(said))
    return load_study(name)


def table(home: Path, text: str = MINE) -> StudyTable:
    (home / "rates.csv").write_text(text)
    (found,) = study_tables(mine(home))
    return found


def refusal(home: Path, text: str) -> str:
    with pytest.raises(BadInput) as refused:
        table(home, text)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_it_is_read_per_second_beside_the_file_that_the_link_leads_to(home: Path):
    found = table(home)
    assert found.path == home / "rates.csv" and found.kind == "rates.csv"
    rows = found.frame[["arm", "threads", "unit", "value", "origin"]].values.tolist()
    assert rows == [
        ["steal-retry", 1, "ops/s", 2e4, "hardware"],
        ["steal-retry", 8, "ops/s", 9e4, "hardware"],
    ]


def test_a_plain_table_names_no_arm_and_no_origin_and_none_is_made_up(home: Path):
    found = table(home, "threads,value,unit\n1,100,creates/s\n2,150,creates/s\n")
    assert found.origins == ["not stated"] and found.described()["origin"] == "not stated"
    drawn = table_figure(found)
    assert drawn.layout.meta["says"] == "origin not stated (rates.csv)" and list(drawn.data[0].y) == [
        100,
        150,
    ]


def test_two_numbers_of_threads_are_a_curve_and_one_is_bars_from_0(home: Path):
    (curve,) = table_figure(table(home, "threads,value\n1,100\n2,150\n")).data
    assert (curve.type, list(curve.x)) == ("scatter", [1, 2])
    bars = table_figure(table(home, "threads,value\n8,100\n8,150\n")).data
    assert [(bar.type, list(bar.y)) for bar in bars] == [("bar", [100]), ("bar", [150])]


def test_repeats_are_points_and_no_line(home: Path):
    (once,) = table_figure(table(home, "threads,value\n1,1\n2,2\n4,3\n")).data
    (twice,) = table_figure(table(home, "threads,value\n1,1\n2,2\n4,3\n4,5\n")).data
    assert (once.mode, twice.mode) == ("lines+markers", "markers")


def test_of_rows_of_a_run_the_first_unprofiled_rate_is_shown_and_no_extreme(home: Path):
    head = "arm,cpus,threads,metric,statistic,unit,value,profiled,origin\n"
    rows = ["a,4,1,slow,total,ops/s,1,True,qemu", "a,4,1,calls,total,calls,9,False,qemu"]
    rows += ["a,4,1,create,mean,ops/s,70,False,qemu", "a,4,1,create,max,ops/s,99,False,qemu"]
    rows += ["a,4,1,unlink,mean,ops/s,50,False,qemu", "b,2,1,create,mean,ops/s,30,False,qemu"]
    rows += ["b,4,1,create,mean,ops/s,40,False,qemu"]
    frame = table(home, head + "\n".join(rows) + "\n").frame
    assert dict(zip(frame.arm, frame.value, strict=True)) == {"a": 70, "b 2": 30, "b 4": 40}


def test_it_stands_beside_the_simulated_curve_by_its_own_origin(home: Path):
    found = table(home, MINE + "older,8,5,kops/s,LU-1234\n")
    study = load_study("mine")
    said = table_points(study, SIMULATED, found)
    drawn = table_beside_simulated(study, SIMULATED, said, found)
    names = [one.name for one in drawn.data]
    assert names == [
        "steal-retry, simulated",
        "steal-retry, measured on hardware (rates.csv)",
        "older, LU-1234 (rates.csv)",
    ]
    assert drawn.layout.meta["title"] == "mine: simulated and rates.csv"
    assert "measured on hardware and LU-1234 (rates.csv)" in drawn.layout.meta["says"]
    off = errors(SIMULATED, said)
    assert list(off.error_pct) == pytest.approx([50, -200 / 3]) and set(off.origin_of_table) == {"hardware"}


def test_further_arms_of_a_published_table_are_left_out_as_those_of_the_study_are():
    study = load_study("inode-claim", {"arms": ["steal-retry", "search-locked"]})
    found = study_tables(study)[0]
    said = table_points(study, SIMULATED, found)
    said.loc[said.index[-1], "arm"] = "left-out"
    drawn = table_beside_simulated(study, SIMULATED, said, found)
    assert not [one.name for one in drawn.data if "left-out" in one.name]


def test_rates_alone_are_no_claim_and_printed_changes_are_recomputed(home: Path):
    found = table(home)
    assert found.path and own_claims(found.path) == [] and "verdict" in audit_tables([found])
    head = "arm,threads,metric,statistic,unit,value\n"
    rates = "old,8,create,mean,ops/s,100\nnew,8,create,mean,ops/s,150\n"
    for change, verdict in (("50", "holds"), ("70", "fails")):
        found = table(home, f"{head}{rates}new,8,create_change,vs_old,%,{change}\n")
        assert set(audit_tables([found]).verdict) == {verdict}
        assert sorted(found.frame.value) == [100, 150]


def test_a_study_may_name_both_kinds_and_only_the_published_one_is_called_so(home: Path):
    study = mine(home, "rates.csv", "s1_rates")
    assert [one.kind for one in study_tables(study)] == ["rates.csv", "published"]
    said: dict[str, Any] = {"arm": "steal-retry", "metric": "rate", "unit": "ops/s", "naive_value": None}
    said |= {"threads": 8, "value": 1.0, "low": 0.5, "high": 2.0}
    for one in (study, mine(home)):
        assert judge_published({"predictions": [said]}, one).published.isna().all()


@pytest.mark.parametrize(
    "entry", ["../rates.csv", "/tmp/rates.csv", "sub/rates.csv", ".csv", "..", "a\n.csv", "~/rates.csv", ""]
)
def test_a_table_elsewhere_is_refused_by_file_entry_and_what_to_do(home: Path, entry: str):
    with pytest.raises(BadInput, match=r"^mine\.yaml: tables\.0: .*the same folder as the study") as refused:
        mine(home, entry)
    assert repr(entry) in str(refused.value) and "\n" not in str(refused.value)


def test_a_file_that_is_not_there_or_is_a_folder(home: Path):
    (home / "rates.csv").unlink()
    sentence = (
        f"mine.yaml: tables: rates.csv is not a file in {home}: put the CSV there, or name a published table"
    )
    for _ in ("nothing", "a folder"):
        assert set(refusals(mine(home))) == {sentence}
        (home / "rates.csv").mkdir(exist_ok=True)


def refusals(study: Study) -> list[str]:
    """Of a notebook by hand, of a run's preflight, and of a run on this machine; nothing was begun."""
    ways = (
        lambda: open_story(study.name).tables,
        lambda: preflight(study.model_copy(update={"arms": []})),
        lambda: run_study(study.name, "local", {}),
    )
    said = []
    for way in ways:
        with pytest.raises(BadInput) as refused:
            way()
        said.append(str(refused.value))
    assert not paths.RUNS.exists()
    return said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "rates.csv row 1 is empty"),
        ("threads;value\n1;2\n", "write commas"),
        ("threads,value\n1,two\n", "rates.csv row 2, column value is 'two': write plain numbers"),
        ("threads,value\n", "rates.csv has no rows"),
        ("function,total_us,count,avg_us\nf,1,1,1\n", "rates.csv row 1 names no column threads"),
        ("threads,value,unit\n1,5,MB/s\n", "rates.csv has rates in bytes: give operations per second"),
        ("threads,value,statistic\n1,5,min\n", "rates.csv has only minima and maxima"),
        (
            "arm,threads,metric,statistic,unit,value\na,1,c,mean,ops/s,5\na,1,c,vs_b,%,5\n",
            "a change needs one c at 1 for b",
        ),
    ],
)
def test_a_damaged_table_is_refused_with_its_study(home: Path, text: str, says: str):
    said = refusal(home, text)
    assert said.startswith("mine.yaml: tables: ") and says in said and "rates.csv" in said


def test_a_misspelt_published_table_is_named_with_its_study(home: Path):
    with pytest.raises(BadInput, match=r"^mine\.yaml: tables: no published table is called 's1_ratios'"):
        study_tables(mine(home, "s1_ratios"))


def test_a_run_keeps_a_copy_that_is_read_wherever_it_goes(home: Path, tmp_path: Path):
    run = Run(paths.RUNS / "mine-20260101T000000Z")
    keep_study(run, mine(home), "qemu")
    moved = Path(shutil.move(run.folder, tmp_path / "elsewhere"))
    (home / "rates.csv").unlink()
    (found,) = open_story("mine", str(moved)).tables
    assert found.path == moved / "tables/rates.csv" and found.path.read_text() == MINE
    keep_study(Run(moved), load_study("mine"), "qemu")  # as a resumed run does
    assert found.path.read_text() == MINE


def test_a_curated_run_keeps_it_too(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    run = Run(paths.RUNS / "mine-20260101T000000Z")
    keep_study(run, mine(home), "qemu")
    run.rows.write_text("")
    run.provenance.write_text('{"origin": "qemu", "kernels": {"steal-retry": {}}}')
    kept = curate(run)
    (home / "rates.csv").write_text(MINE.replace("20,", "21,"))
    (found,) = open_story("mine", str(kept)).tables
    assert found.path == kept / "tables/rates.csv" and found.path.read_text() == MINE


def test_a_measured_run_is_not_resumed_with_another_table(home: Path):
    run = Run(paths.RUNS / "mine-20260101T000000Z")
    keep_study(run, mine(home), "qemu")
    run.journal.write_text("{}\n")
    (home / "rates.csv").write_text(MINE.replace("20,", "21,"))
    with pytest.raises(BadInput, match=r"was started with another rates\.csv: start a new run"):
        resume_study(run.id)
    assert (run.tables / "rates.csv").read_text() == MINE


def test_a_batch_runs_a_set_again_when_its_table_changed(home: Path):
    mine(home)
    file = home / "storm.yaml"
    file.write_text(yaml.safe_dump({"notebooks": ["02_simulate"], "parameters": {"study": "mine"}}))
    hashes = []
    for text in (MINE, MINE.replace("20,", "21,"), MINE):
        (home / "rates.csv").write_text(text)
        hashes.append(read_batch(file).sets[0].sha256)
    assert hashes[0] == hashes[2] != hashes[1]
    (home / "rates.csv").unlink()
    with pytest.raises(BadInput, match=r"^storm\.yaml: mine\.yaml: tables: rates\.csv is not a file in "):
        read_batch(file)


def test_what_a_study_is_known_by_has_its_tables_as_names_and_nothing_more():
    """study_sha256 is of this: a further field would make every run one of another study."""
    study = load_study("inode-claim").model_dump(mode="json")
    given = {"workloads_beside", "aa_counter", "own_lines"}  # where a file has them not
    assert set(study) == {*SHIPPED, *given} and study["tables"] == SHIPPED["tables"]
