# SPDX-License-Identifier: MIT
"""A study is found by its file alone: ours in the package, the user's own beside its patches."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.show import scoreboard as whole_scoreboard
from lockscale.show.audit import audit
from lockscale.show.explore.setting import scene, scenes
from lockscale.show.prediction import ask
from lockscale.sim import load_model
from lockscale.studies import registry
from lockscale.studies.hooks import switches_of
from lockscale.studies.registry import studies, study_parts
from lockscale.study.file import list_studies, load_study
from small_study import study_of

EXAMPLE = paths.ROOT / "docs/own-study"
CODE = dict(
    re.findall(r"```python\n# (\S+)\n(.*?)```\n", (paths.ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
)
SHOWN = CODE["kernel-patches/look-again/study.py"]
SEEDS = ["inode-claim", "write-access", "group-trylock", "orphan-file"]
SHIPPED = [*SEEDS, "xfs-create", "goal-fold", "handle-start"]
ANSWERS = """
from lockscale.studies.hooks import StudyParts
from lockscale.predict.answer import Answer


def whatif(given):
    return Answer("look-again", ["nothing"], [], [], [], [], [], "", [f"given {given}"])


STUDY = StudyParts(name="look-again", whatif=whatif, given={"hold_ns": "the hold"})
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, which is a link in kernel-patches, as README has it; the path of its study.py."""
    for name, folder in (("STUDIES", paths.STUDIES), ("KERNEL_PATCHES", paths.KERNEL_PATCHES)):
        shutil.copytree(folder, tmp_path / name)
        monkeypatch.setattr(paths, name, tmp_path / name)
    home = tmp_path / "look-again"
    shutil.copytree(EXAMPLE, home)
    (tmp_path / "KERNEL_PATCHES/look-again").symlink_to(home)
    (tmp_path / "STUDIES/look-again.yaml").symlink_to(home / "look-again.yaml")
    scenes.cache_clear()
    yield home / "study.py"
    scenes.cache_clear()


def test_every_shipped_study_has_a_file_and_they_come_in_the_order_of_the_seeds():
    assert [one.name for one in studies()] == SHIPPED and sorted(SHIPPED) == list_studies()
    told: set[str] = set()
    for one in studies():
        assert one.whatif and study_parts(one.name) is one
        study = load_study(one.name)
        if set(study.tables) - set(study.own_tables) - told:  # what is said of a published table is said once
            assert one.claims and one.simulated and one.scenes
        told |= set(study.tables)


@pytest.mark.slow
def test_a_new_file_of_the_package_is_a_study_and_nothing_names_it(tmp_path: Path):
    """Copied beside the package, as a developer would add it."""
    shutil.copytree(paths.ROOT / "lib/lockscale", tmp_path / "lib/lockscale")
    (tmp_path / "lib/lockscale/studies/look_again.py").write_text(ANSWERS)
    asked = "from lockscale.show.prediction import ask; print(ask('look-again', {'hold_ns': 2.0}).notes)"
    where = {"PYTHONPATH": str(tmp_path / "lib"), "LOCKSCALE_ROOT": str(paths.ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", asked], env=where, capture_output=True, text=True, check=True
    )
    assert "given {'hold_ns': 2.0}" in done.stdout


@pytest.mark.slow
def test_every_study_is_asked_without_the_compiler():
    asked = (
        "import sys; from lockscale.studies.registry import studies; studies(); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_study_without_a_file_of_its_own_adds_nothing(own: Path):
    assert study_parts("look-again").name == "look-again" and study_parts("look-again").scenes is None
    assert [one.name for one in studies()] == SHIPPED
    with pytest.raises(BadInput, match="study look-again predicts nothing from its unpatched arm"):
        ask("look-again")


def test_the_example_of_contributing_is_a_scene_of_the_explorer(own: Path):
    own.write_text(SHOWN)
    assert [one.name for one in studies()] == [*SHIPPED, "look-again"]
    shown = scene("look-again")
    assert dict(shown.arms) == {"steal-retry": {}, "search-locked": {"search_locked": True}}
    assert load_study("look-again").unpatched.model_parameters == shown.arms["search-locked"]
    for switches in shown.arms.values():
        load_model(shown.model).bind(switches)


def test_a_study_of_ones_own_has_a_prediction(own: Path):
    own.write_text(ANSWERS)
    found = ask("look-again", {"hold_ns": 2.0})
    assert found.notes == ["given {'hold_ns': 2.0}"] and found.origin == "not stated"
    with pytest.raises(BadInput, match=r"--given does not take 'hold'.*did you mean hold_ns"):
        ask("look-again", {"hold": 2.0})


def test_a_file_that_was_changed_is_run_again(own: Path):
    own.write_text(ANSWERS)
    first = study_parts("look-again")
    assert study_parts("look-again") is first
    own.write_text(SHOWN)
    assert study_parts("look-again").scenes and not study_parts("look-again").whatif


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import nothing_of_that_name\n", r"study.py line 1: ModuleNotFoundError: .*nothing_of_that_name"),
        ("x = (\n", r"study.py line 1: '\(' was never closed"),
        ("\nraise SystemExit(3)\n", r"study.py line 2: SystemExit: 3"),
        ("name = 'look-again'\n", "has no study: write STUDY = StudyParts"),
        ("STUDY = 'look-again'\n", "has no study: write STUDY = StudyParts"),
        (
            ANSWERS.replace('name="look-again"', 'name="look"'),
            "names study 'look': write name='look-again'",
        ),
    ],
)
def test_a_file_that_is_none_is_one_sentence_of_its_study_and_a_warning_for_the_others(
    own: Path, text: str, says: str, capsys: pytest.CaptureFixture[str]
):
    own.write_text(text)
    with pytest.raises(BadInput, match=says) as said:
        study_parts("look-again")
    assert "\n" not in str(said.value)
    with pytest.raises(BadInput, match=says):
        ask("look-again")
    registry._warn.cache_clear()
    assert [one.name for one in studies()] == SHIPPED == [one.name for one in studies()]
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(f"^warning: .*{says}.*; this study is left out$", line)
    assert ask("inode-claim").predictions and audit("s1_rates")


def test_a_name_of_ours_is_not_taken(own: Path, capsys: pytest.CaptureFixture[str]):
    (paths.KERNEL_PATCHES / "inode-claim/study.py").write_text(ANSWERS.replace("look-again", "inode-claim"))
    with pytest.raises(
        BadInput, match="lockscale already has a study 'inode-claim': give yours another name"
    ):
        study_parts("inode-claim")
    registry._warn.cache_clear()
    assert [one.name for one in studies()] == SHIPPED
    assert "lockscale already has a study 'inode-claim'" in capsys.readouterr().err


def test_a_scene_that_fails_costs_the_explorer_no_other_one(own: Path, capsys: pytest.CaptureFixture[str]):
    own.write_text(f"{BEGIN}def s(study):\n    return 1 / 0\nSTUDY = StudyParts('look-again', scenes=s)\n")
    registry._warn.cache_clear()
    names = registry.collected(
        lambda one: [one.name] if one.scenes and list(one.scenes(load_study(one.name))) else []
    )
    shown = [name for name in SHIPPED if study_parts(name).scenes]
    assert names == shown and "study.py line 3: ZeroDivisionError" in capsys.readouterr().err


def test_the_scoreboard_says_first_that_a_study_is_broken(own: Path, monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    own.write_text("raise SystemExit(3)\n")
    registry._warn.cache_clear()
    monkeypatch.setattr(registry, "print", lambda sentence, **_: said.append(sentence), raising=False)
    monkeypatch.setattr(whole_scoreboard, "queueing_scoreboard", lambda: said.append("fits") or [])
    monkeypatch.setattr(whole_scoreboard, "simulated_scoreboard", lambda: said.append("simulates") or [])
    assert whole_scoreboard.whole_scoreboard() == []
    assert "study.py line 1" in said[0] and said[1:] == ["fits", "simulates"]


def test_a_fit_that_is_kept_is_of_the_file_of_now(own: Path):
    text = """
from lockscale.fitting.simulated_model import Simulated
from lockscale.studies.hooks import StudyParts

of = Simulated("s1_rates", "inode_claim", {"hold_ns": (1, 2)}, {})
STUDY = StudyParts(name="look-again", simulated=[of])
"""
    kept = []
    for one in (text, f"{text}# another\n"):
        own.write_text(one)
        (of,) = [of for of in whole_scoreboard.simulated_tables() if list(of.free) == ["hold_ns"]]
        kept.append(whole_scoreboard._settings(of))
    assert kept[0] != kept[1] and kept[0]["model"] == kept[1]["model"]
    shipped = study_parts("inode-claim").simulated[0]
    assert "source" not in whole_scoreboard._settings(shipped)


def test_what_it_prints_is_not_on_stdout(own: Path, capsys: pytest.CaptureFixture[str]):
    own.write_text(f"print('hello')\n{ANSWERS}")
    registry.study_parts("look-again")
    said = capsys.readouterr()
    assert said.out == "" and said.err == "hello\n"


def test_a_dataclass_of_ones_own_may_have_annotations_that_are_text(own: Path):
    """dataclasses look for the module of such a class, and found none."""
    shape = "from dataclasses import dataclass\n\n@dataclass\nclass Costs:\n    hold_ns: float = 1.0\n"
    own.write_text(f"from __future__ import annotations\n{shape}{ANSWERS}")
    registry.study_parts("look-again")
    assert own.name not in sys.modules


BEGIN = "from lockscale.studies.hooks import StudyParts\n"
FAILS = {
    "raises": (
        "def w(given):\n    return given['nope']\nSTUDY = StudyParts('look-again', whatif=w)\n",
        r"study\.py line 3: KeyError: 'nope'$",
    ),
    "returns None": (
        "def w(given):\n    pass\nSTUDY = StudyParts('look-again', whatif=w)\n",
        r"study\.py.*: w\(\) returned None",
    ),
    "returns another thing": (
        "def w(given):\n    return 'much'\nSTUDY = StudyParts('look-again', whatif=w)\n",
        "returned 'much': make it return an Answer",
    ),
    "takes nothing": ("STUDY = StudyParts('look-again', whatif=lambda: 3)\n", "TypeError"),
    "is no function": ("STUDY = StudyParts('look-again', whatif=3)\n", "is 3, where a function belongs"),
}


@pytest.mark.parametrize("how", FAILS)
def test_a_part_of_ones_own_that_fails_when_it_is_asked_is_one_sentence(own: Path, how: str):
    text, said = FAILS[how]
    own.write_text(BEGIN + text)
    with pytest.raises(BadInput, match=said):
        ask("look-again")


def test_a_claim_of_ones_own_that_fails_is_one_sentence(own: Path):
    own.write_text(
        f"{BEGIN}def c():\n    return 1 / 0\nSTUDY = StudyParts('look-again', claims={{'s1_rates': c}})\n"
    )
    with pytest.raises(BadInput, match=r"study\.py line 3: ZeroDivisionError"):
        audit("s1_rates")


def test_a_study_that_has_no_whatif_is_told_from_one_that_there_is_not(own: Path):
    with pytest.raises(BadInput, match="predicts nothing from its unpatched arm: give --profile"):
        ask("look-again")
    with pytest.raises(BadInput, match="whatif knows no study 'look-agian'"):
        ask("look-agian")


def test_a_time_of_zero_is_a_number_of_the_arm():
    arm = {"name": "cheap", "role": "variant", "model_parameters": {"access_ns": 0, "search_locked": False}}
    assert switches_of(study_of(arm), "cheap") == {"cheap": {"access_ns": 0.0}}


def test_a_scene_whose_patch_is_no_arm_of_it_is_one_sentence(own: Path):
    own.write_text(SHOWN.replace('patch=("steal-retry"', 'patch=("steal-rety"'))
    with pytest.raises(BadInput, match=r"scene look-again has no arm 'steal-rety': did you mean steal-retry"):
        study_parts("look-again").scenes(load_study("look-again"))  # type: ignore[misc]
