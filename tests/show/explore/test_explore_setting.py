# SPDX-License-Identifier: MIT
"""A setting of the explorer: what the controls say, as parameters of a model and as a command line."""

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.show.explore.setting import LOCK_KINDS, TIMES, Setting, changed, default, rounded, scenes
from lockscale.sim import load_model
from lockscale.sim.model import read_parameters
from lockscale.study.file import list_studies, load_study
from lockscale.tables import published


@pytest.mark.parametrize("one", scenes(), ids=lambda one: one.name)
def test_a_scene_is_what_its_model_and_its_table_have(one):
    model = load_model(one.model)
    for switches in one.arms.values():
        model.bind(switches)
    assert set(TIMES.values()) <= {p.name for p in model.parameters if p.unit}
    rows = published(one.table)
    printed = set(rows[(rows.metric == one.metric) & (rows.statistic == one.statistic)].arm)
    assert printed & set(one.arms) and set(one.patch) | set(one.locks) <= set(one.arms)
    of_the_table = {arm for other in scenes() if other.table == one.table for arm in other.arms}
    assert printed <= of_the_table


@pytest.mark.parametrize(
    "one", [one for one in scenes() if one.name in list_studies()], ids=lambda one: one.name
)
def test_an_arm_of_a_study_is_simulated_as_the_study_does(one):
    arms = {arm.name: arm for arm in load_study(one.name).arms}
    for name, switches in one.arms.items():
        if name in arms and arms[name].simulated:
            thrown = {key: value for key, value in arms[name].model_parameters.items() if value}
            assert thrown == switches, name


SETTINGS = st.builds(
    Setting,
    threads=st.integers(1, 64),
    hold=st.floats(1, 1e5),
    elsewhere=st.floats(0.01, 1e5),
    kind=st.sampled_from(LOCK_KINDS),
    skew_us=st.floats(0, 10_000),
    cpus=st.integers(0, 64),
    arm=st.sampled_from(["steal-retry", "search-locked"]),
)


@given(SETTINGS)
def test_the_command_says_every_parameter_to_the_last_digit(setting: Setting):
    argv = shlex.split(setting.command())
    given = read_parameters([argv[k + 1] for k, word in enumerate(argv) if word == "-p"])
    model = load_model(argv[2])
    assert model.bind(given) == model.bind(setting.parameters())
    counts = [int(n) for n in argv[argv.index("--threads") + 1].split(",")]
    assert setting.threads in counts and counts == sorted(set(counts))


def test_what_is_the_models_own_is_not_said():
    known = Setting().of
    same = Setting(hold=default(known, "hold_ns"), elsewhere=default(known, "elsewhere_us"))
    assert Setting().parameters() == same.parameters() == {}


def test_the_patched_arm_differs_in_the_patch_alone():
    setting = Setting(hold=100.0, kind="ticket", cpus=8)
    before, after = (setting.parameters(arm) for arm in setting.of.patch)
    assert {**before, "search_locked": True} == after


def test_another_scene_starts_at_its_own_arm_and_times():
    moved = changed(Setting(hold=100.0, kind="unfair", cpus=4), scene="creat-clo")
    assert (moved.arm, moved.threads, moved.hold, moved.kind) == ("orphan-mutex", 31, 0.0, "queued")


def test_a_lock_of_another_kind_is_of_the_free_scene_only():
    assert Setting("creat-clo", "orphan-mutex", kind="unfair", skew_us=10.0, cpus=4).parameters() == {}


@pytest.mark.parametrize(
    ("value", "said"), [(285.3, 285.3), (0.0, 0.0), (123.456, 123.5), (0.00098765, 0.0009877)]
)
def test_four_digits_count(value: float, said: float):
    assert rounded(value) == said


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"scene": "s9"}, "no scene 's9'"), ({"arm": "none"}, "no arm 'none'"),
        ({"threads": 0}, "threads is 0"),
        ({"kind": "spin"}, "no kind of lock 'spin'"), ({"cpus": -1}, "cpus is -1"),
        ({"hold": -1.0}, "hold is -1"),
        ({"skew_us": 1e6}, "skew_us is"), ({"elsewhere": float("nan")}, "elsewhere is nan"),
    ],
)  # fmt: skip
def test_what_no_control_can_say_is_refused(wrong: dict, says: str):
    with pytest.raises(BadInput, match=says):
        Setting(**wrong)


def test_another_scene_may_come_with_its_arm_and_threads():
    both = changed(Setting(), scene="write-access", arm="fast-retry", threads=32)
    assert (both.scene, both.arm, both.threads) == ("write-access", "fast-retry", 32)
    assert changed(Setting(), scene="orphan-file", threads=8).threads == 8


@pytest.mark.parametrize(
    ("moved", "says"),
    [
        ({"thread": 40}, "no control thread: did you mean threads?"),
        ({"hold_ns": -5}, "no control hold_ns"),
        ({"threads": "many"}, "threads is 'many': give 1 to"),
        ({"threads": True}, "threads is True"),
    ],
)
def test_what_no_control_can_say_is_a_sentence(moved: dict[str, object], says: str):
    with pytest.raises(BadInput, match=re.escape(says)):
        changed(Setting(), **moved)
