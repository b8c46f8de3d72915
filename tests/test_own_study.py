# SPDX-License-Identifier: MIT
"""README, "A study of your own", followed word for word; what needs no guest is tried without one."""

import re
import shutil
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest

from blocks import blocks
from clone import clone, typed
from lockscale import paths
from lockscale.kernels.series import apply_beside
from lockscale.measure.rows import read_rows
from lockscale.measure.run_folder import Run
from lockscale.show.prediction import answer_for
from lockscale.sim import simulate
from lockscale.study.file import load_study, named_series
from test_studies_in_notebooks import made_up, run_cells, shown  # noqa: F401  fixtures

EXAMPLE = paths.ROOT / "docs/own-study"
(SECTION,) = re.findall(r"(?ms)^## A study of your own$(.*?)^## ", (paths.ROOT / "README.md").read_text())
BLOCKS = blocks(SECTION)
LOOK, PROVE = (block.commands for block in BLOCKS if block.kind == "sh")
PATCH = next((EXAMPLE / "look-again").glob("*.patch")).read_text()
RATES = pd.read_csv(EXAMPLE / "rates.csv")
# The kernel behind the example's rates and profile: two of its three times are what whatif has to find.
HIDDEN = {"elsewhere_us": 45.0, "hold_ns": 380.0, "access_ns": 220.0}
OWN = ("notebooks/studies", "kernel-patches")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example as a study of this project, for tests inside this process."""
    for name, folder in (("STUDIES", paths.STUDIES), ("KERNEL_PATCHES", paths.KERNEL_PATCHES)):
        shutil.copytree(folder, tmp_path / name)
        monkeypatch.setattr(paths, name, tmp_path / name)
    (tmp_path / "KERNEL_PATCHES/look-again").symlink_to(EXAMPLE)
    (tmp_path / "STUDIES/look-again.yaml").symlink_to(EXAMPLE / "look-again.yaml")


def test_what_the_section_shows_is_what_the_example_holds():
    shown_of = {block.kind: block.text for block in BLOCKS}
    assert shown_of["diff"] in PATCH and shown_of["yaml"] in (EXAMPLE / "look-again.yaml").read_text()
    assert len(re.findall(r"(?m)^\+\t", PATCH)) == 2
    assert set(RATES.origin) == {"simulated"}


def test_its_series_goes_into_the_place_that_it_names(own: None, tmp_path: Path):
    ((start, hunk),) = re.findall(r"^@@ -(\d+).*?@@.*\n((?:[ +\-].*\n)+)", PATCH, re.MULTILINE)
    lines = [f"/* {n} */" for n in range(1200)]
    old = [line[1:] for line in hunk.splitlines() if line[0] in " -"]
    lines[int(start) - 1 : int(start) - 1 + len(old)] = old
    source = tmp_path / "fs/ext4/ialloc.c"
    source.parent.mkdir(parents=True)
    source.write_text("".join(f"{line}\n" for line in lines))
    changed = apply_beside(named_series("look-again/look-again"), tmp_path)["fs/ext4/ialloc.c"]
    assert changed is not None and changed.decode().count("find_inode_bit(") == 1
    assert named_series("look-again/search-locked").patches == ()


@pytest.mark.slow
def test_the_notebooks_before_the_kernels_speak_of_it(own: None, shown: list[str], tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    _, tables, claims, picture, headline = run_cells("01", "look-again", "")
    assert (tables.name.item(), tables.origin.item()) == ("rates.csv", "simulated")
    assert claims.empty and "no table of the study prints a claim" in headline.says
    assert picture.layout.meta["says"] == "simulated (rates.csv)"
    assert sorted(picture.data[0].y) == sorted(RATES.value)
    (drawn,) = [one for one in run_cells("02", "look-again", "") if isinstance(one, go.Figure)]
    assert "open marks: simulated (rates.csv)" in " ".join(drawn.layout.meta["says"].split())
    (marks,) = [one for one in drawn.data if one.name == "base, simulated (rates.csv)"]
    assert sorted(marks.y) == sorted(RATES.value)
    assert not [one.name for one in drawn.data if "published" in one.name]
    run_cells("03", "look-again", "")
    (asked,) = [one.measurement for one in answer_for(load_study("look-again")).open]
    assert "--rates rates.csv --model inode_claim" in asked
    assert (tmp_path / "runs/look-again-by-hand/prediction.json").is_file()


@pytest.mark.slow
@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("made_up", ["look-again"], indirect=True)
def test_the_notebooks_after_the_measurement_compare_its_arms(own: None, made_up: Run, shown: list[str]):  # noqa: F811
    study = load_study("look-again")
    counts = next(t for t in run_cells("06", study.name, str(made_up.folder)) if hasattr(t, "counter"))
    assert set(counts.arm) == {"look-again"} and counts.counter.iloc[0] == "lost claims"
    judged = [t for t in run_cells("07", study.name, str(made_up.folder)) if isinstance(t, pd.DataFrame)]
    assert any("holds" in table for table in judged)
    run_cells("08", study.name, str(made_up.folder))
    assert "lost claims per create" in made_up.changelog.read_text()


@pytest.mark.slow
def test_one_looks_before_one_builds(tmp_path: Path):
    """Every claim of the section is what its commands print; the kernel behind the files is known here."""
    where, home = clone(tmp_path / "clone", *OWN), tmp_path / "home"
    home.mkdir()
    said = {command.split()[1]: typed(command, where, home) for command in LOOK}
    assert "rates.csv" in said["compare"] and said["study"].lstrip().startswith("look-again: ")
    assert "in the fit: calls of jbd2_journal_get_write_access" in said["whatif"].splitlines()[0]
    worth = re.findall(r"search_locked: yes; ([\d.]+) to ([\d.]+) times the unpatched rate", said["whatif"])
    low, high = map(float, worth[0])
    rate, naive = _last(said["whatif"])
    claimed = [float(x) for x in re.findall(r"([\d.]+) to ([\d.]+) times", SECTION)[0]]
    assert claimed == [pytest.approx(low, abs=0.05), pytest.approx(high, abs=0.05)]
    base = RATES[RATES.threads == 32].value.mean()
    assert f"does {round(base, -3):,.0f} creates/s" in SECTION
    (promised,) = re.findall(r"promise ([\d.]+) times", SECTION)
    assert float(promised) == pytest.approx(naive / base, abs=0.05)
    truth = simulate("inode_claim", 32, {**HIDDEN, "search_locked": True}, seed=1).rate_per_s
    assert rate == pytest.approx(truth, rel=0.05) and naive < 0.8 * truth


def _last(text: str) -> tuple[float, float]:
    """Predicted and naive rate at the most threads."""
    row = [line.split() for line in text.splitlines() if line.startswith("search_locked")][-1]
    return float(row[4]), float(row[7])


@pytest.mark.guest
@pytest.mark.long
def test_then_the_patch_is_built_booted_and_counted(tmp_path: Path):
    where, home = clone(tmp_path / "clone", *OWN), tmp_path / "home"
    home.mkdir()
    for command in LOOK[:3]:
        typed(command, where, home)
    checked, text = (typed(command, where, home) for command in PROVE)
    assert "look-again" in checked and "lost claims per create" in text
    (rows,) = (home / "runs").glob("look-again-*/rows.csv")
    assert set(read_rows(rows).arm) == {"search-locked", "look-again"}
