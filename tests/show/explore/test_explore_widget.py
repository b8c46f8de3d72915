# SPDX-License-Identifier: MIT
"""The explorer's controls: the last value wins, nothing stale stays, a button writes what is set."""

import asyncio
import html
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.show.explore import widget
from lockscale.show.explore.controls import EXPLORER, REACH, Keys, TimeSlider
from lockscale.show.explore.setting import (
    TIMES,
    Setting,
    changed,
    default,
    keep_parameters,
    keep_study,
    scenes,
)
from lockscale.show.explore.view import view
from lockscale.show.explore.widget import Explorer, lock_explorer
from lockscale.sim import simulate
from lockscale.study.file import load_study


@pytest.fixture
def explorer() -> Explorer:
    return lock_explorer()


def shows(explorer: Explorer, setting: Setting) -> bool:
    found = view(setting)
    curve, point = explorer.figure.data[1], explorer.figure.data[5]
    return list(curve.y) == [r.rate_per_s for r in found.curve] and list(point.y) == [found.at.rate_per_s]


def a_time(explorer: Explorer, name: str, index: int) -> float:
    """What the slider stands for at this position."""
    return explorer.controls[name].options[index][1]


def sent(slider: TimeSlider, monkeypatch: pytest.MonkeyPatch) -> list:
    """What the kernel tells the browser of this slider from now on."""
    messages: list = []
    monkeypatch.setattr(
        slider, "send_state", lambda key: messages.append({key} if isinstance(key, str) else set(key))
    )
    return messages


def test_after_a_fast_drag_the_last_value_is_shown(explorer: Explorer):
    for threads in (20, 55, 3, 40, 41, 42):
        explorer.controls["threads"].value = threads
    assert explorer.setting.threads == 42 and shows(explorer, Setting(threads=42))
    assert "at 42 threads" in explorer.words.value and "42" in explorer.setting.command()


def test_what_two_controls_say_in_two_threads_both_stands(explorer: Explorer):
    """JupyterLab sends a control's messages to the main thread or to one of ipykernel's subshells."""
    for steps in range(1, 21):
        at = {"hold": REACH + 3 * steps, "elsewhere": REACH - 2 * steps}
        together = threading.Barrier(len(at))

        def told(name: str, index: int, together: threading.Barrier = together) -> None:
            together.wait()
            explorer.controls[name].set_state({"index": index})

        threads = [threading.Thread(target=told, args=one) for one in at.items()]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        for name, index in at.items():
            assert explorer.controls[name].index == index
            assert getattr(explorer.setting, name) == a_time(explorer, name, index)


@pytest.mark.slow
def test_every_control_moves_the_setting(explorer: Explorer):
    moves = {
        "arm": "search-locked", "threads": 24, "hold": a_time(explorer, "hold", 52),
        "elsewhere": a_time(explorer, "elsewhere", 61), "kind": "ticket", "skew_us": 500.0, "cpus": 8,
        "compare": False,
    }  # fmt: skip
    for name, value in moves.items():
        explorer.controls[name].value = value
    assert explorer.setting == Setting(**moves) and shows(explorer, Setting(**moves))


@pytest.mark.slow
def test_another_scene_takes_the_controls_along(explorer: Explorer):
    for one in (*scenes()[1:], scenes()[0]):
        explorer.controls["scene"].value = one.name
        assert explorer.controls["arm"].options == tuple(one.arms)
        assert shows(explorer, changed(Setting(), scene=one.name))
        assert explorer.controls["kind"].disabled == (not one.any_kind)
        assert explorer.controls["kind"].layout.visibility == ("visible" if one.any_kind else "hidden")
        for name, parameter in TIMES.items():
            times = [time for _, time in explorer.controls[name].options]
            assert times[0] < explorer.controls[name].value == default(one, parameter) < times[-1]
            assert times == sorted(times)


def test_while_another_contention_is_simulated_the_figure_is_said_to_be_the_one_of_before(explorer: Explorer):
    said: list[str] = []
    explorer.words.observe(lambda change: said.append(change["new"]), "value")
    other = scenes()[1]
    explorer.controls["scene"].value = other.name
    assert f"Simulating {other.title}" in said[0] and "the one of before" in said[0]
    assert "Simulating" not in said[-1] and explorer.setting.command() in html.unescape(said[-1])
    del said[:]
    explorer.controls["threads"].value = 3
    assert len(said) == 1, "a move of the same model draws at once"
    explorer._clear("this path cannot go on")
    del said[:]
    explorer.controls["threads"].value = 4
    assert said[0].endswith("no figure yet.</p>"), "there is no figure of before"


def test_reset_goes_back_to_the_studys_own_and_keeps_contention_and_threads(explorer: Explorer):
    own = explorer.setting
    (reset,) = (one for one in explorer.children[-1].children if one.description == "Reset")
    explorer.move(
        arm="steal-retry", threads=7, hold=150.0, elsewhere=3.0, kind="ticket", skew_us=500.0, cpus=2
    )
    reset.click()
    assert explorer.setting == replace(own, threads=7, fine=False)
    for name, parameter in TIMES.items():
        assert explorer.controls[name].value == default(own.of, parameter)


def test_a_move_writes_no_time_that_the_hand_has_set(explorer: Explorer, monkeypatch: pytest.MonkeyPatch):
    """The browser takes what it is told for the last word, while the hand is further on."""
    moved, other = explorer.controls["elsewhere"], explorer.controls["hold"]
    told, told_of_other = sent(moved, monkeypatch), sent(other, monkeypatch)
    moved.set_state({"index": 90})  # as a message of the browser does
    assert explorer.setting.elsewhere == moved.value == moved.options[90][1]
    assert f"elsewhere_us={moved.label} " in explorer.setting.command()
    assert told == told_of_other == []
    explorer.move(elsewhere=moved.options[80][1])
    assert told == [{"index"}], "but what a cell moves"


def test_times_of_another_scene_come_in_one_message(explorer: Explorer, monkeypatch: pytest.MonkeyPatch):
    explorer.controls["hold"].index = 100
    told = sent(explorer.controls["hold"], monkeypatch)
    explorer.controls["scene"].value = "orphan-file"
    assert told == [{"index", "_options_labels"}]
    assert explorer.controls["hold"].index == REACH and explorer.setting.parameters().keys() == {"locked"}
    assert ", calibrated," in explorer.figure.layout.title.text


@pytest.mark.parametrize("hold", [150.0, 0.01, 1e7])
def test_a_cell_can_set_a_time_between_the_steps(explorer: Explorer, hold: float):
    explorer.move(hold=hold)
    assert explorer.controls["hold"].value == explorer.setting.hold == hold
    assert len(explorer.controls["hold"].options) == 2 * REACH + 1
    assert f"hold_ns={explorer.controls['hold'].label} " in explorer.setting.command()


def test_refined_it_says_so_and_the_next_move_is_quick_again(explorer: Explorer):
    """The storm of S1 at 32 threads begins after a quick look ends."""
    explorer.move(threads=32)
    quick = explorer.figure.data[5].y[0]
    assert "Quick look: 4 runs of 500 operations" in explorer.words.value
    explorer.refine()
    assert "Quick look" not in explorer.words.value and "--operations 20000" in explorer.words.value
    assert "4 runs of 20,000 operations" in explorer.figure.layout.title.text
    assert explorer.figure.data[5].y[0] < 0.7 * quick and shows(explorer, Setting(threads=32, fine=True))
    explorer.move(threads=31)
    assert not explorer.setting.fine and "Quick look" in explorer.words.value


@pytest.mark.slow
def test_threads_that_share_cpus_are_simulated_at_length_or_not_shown(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
):
    """In runs of 2,000 creates hardly an owner of the lock is preempted: a rate 500 times too high."""
    monkeypatch.setattr(widget, "REST_S", 0.01)
    rates = []

    async def move():
        explorer.move(threads=48, cpus=8)
        rates.append(explorer.figure.data[1].y)
        assert "Simulating 20,000" in explorer.words.value
        await explorer._rest.task
        rates.append(explorer.figure.data[5].y)

    asyncio.run(move())
    none, (found,) = rates
    assert len(none) == 0 and found == pytest.approx(explored(threads=48, cpus=8)) and found < 0.05 * 80_000
    assert not Setting(cpus=8).is_quick and Setting("creat-clo", cpus=8).is_quick


def explored(**controls: int) -> float:
    """`lockscale sim`'s rate, with 20,000 operations."""
    setting = Setting(**controls)
    given = {"replications": 4, "operations": 20_000, "seed": 1}
    return simulate(setting.of.model, setting.threads, setting.parameters(), **given).rate_per_s


def test_keys_stay_in_what_has_the_class(explorer: Explorer):
    assert isinstance(explorer.children[0], Keys) and EXPLORER in explorer._dom_classes
    assert EXPLORER in explorer.children[0]._esm


def test_a_drag_is_one_message_and_no_trace_is_made_anew(explorer: Explorer):
    before = [trace.uid for trace in explorer.figure.data]
    explorer.controls["threads"].value = 30
    assert [trace.uid for trace in explorer.figure.data] == before


def test_what_cannot_run_leaves_no_stale_figure(explorer: Explorer, monkeypatch: pytest.MonkeyPatch):
    def refuse(setting: Setting):
        raise BadInput("thread 0 waits for ever")

    monkeypatch.setattr(widget, "view", refuse)
    explorer.controls["threads"].value = 12
    assert all(len(trace.x) == 0 for trace in explorer.figure.data)
    assert "waits for ever" in explorer.words.value and "role='alert'" in explorer.words.value
    monkeypatch.undo()
    explorer.controls["threads"].value = 13
    assert shows(explorer, Setting(threads=13))


def test_controls_are_those_that_a_keyboard_moves_and_have_names(explorer: Explorer):
    kinds = {type(control).__name__ for control in explorer.controls.values()}
    assert kinds <= {"Dropdown", "IntSlider", "FloatSlider", "TimeSlider", "Checkbox"}
    assert all(control.description for control in explorer.controls.values())


def test_written_parameters_simulate_to_what_was_shown(tmp_path: Path):
    setting = Setting(threads=40, hold=150.0, kind="unfair")
    said = yaml.safe_load(keep_parameters(setting, tmp_path).read_text())
    run = {key: said[key] for key in ("seed", "replications", "operations")}
    found = simulate(said["model"], 40, said["parameters"], **run)
    assert found.rate_per_s == view(setting).at.rate_per_s and said["command"] == setting.command()


def test_a_written_study_is_one_that_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = keep_study(Setting(hold=150.0, cpus=8), tmp_path)
    monkeypatch.setattr(paths, "STUDIES", tmp_path)
    study = load_study(path.stem)
    assert study.model == "any_lock"
    assert study.unpatched.model_parameters == {"hold_ns": 150.0, "shared_cpus": 8.0}
    assert study.patched.model_parameters["search_locked"] is True


def test_a_scene_without_a_study_says_so(tmp_path: Path):
    without = changed(Setting(), scene="creat-clo")
    with pytest.raises(BadInput, match="there is no study creat-clo to change"):
        keep_study(without, tmp_path)
    for setting in (without, Setting()):
        below = widget.lock_explorer(setting).children[-1].children
        (button,) = [one for one in below if getattr(one, "description", "") == "Write study file"]
        assert button.disabled is (setting is without)


def test_the_buttons_say_what_they_wrote(explorer: Explorer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said = []
    monkeypatch.setattr("lockscale.show.explore.setting.write_text", lambda *written: said.append(written))
    below = explorer.children[-1].children
    buttons = [one for one in below if getattr(one, "description", "").startswith("Write")]
    assert len(buttons) == 2
    for button in buttons:
        button.click()
        assert f"wrote {said[-1][0]}" in explorer.kept.value
        assert said[-1][1].startswith("# SPDX-License-Identifier: MIT\n")
    assert "a study simulates 20,000 operations per run, this quick look 500" in explorer.kept.value
    explorer.move(threads=20)
    assert explorer.kept.value == "", "that is not what was written"
    explorer.refine()
    buttons[-1].click()
    assert "operations" not in explorer.kept.value
    said.pop()
    assert [path.suffix for path, _ in said] == [".yaml", ".yaml"]
