# SPDX-License-Identifier: MIT
"""A run is one study, one plan, one target and one build of each arm: any line of its journal can say no."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import write_json
from lockscale.journal import drop_torn_line, line_of, read_lines
from lockscale.machines.qemu_backport import Qemu
from lockscale.machines.virtual_time import VirtualTime
from lockscale.measure import target, target_qemu
from lockscale.measure.plan import Step
from lockscale.measure.resume import (
    Journal,
    open_journal,
    refuse_other,
    refuse_other_build,
    refuse_other_target,
    to_resume,
)
from lockscale.measure.rows import read_rows
from lockscale.measure.run_folder import Run, curated_run, run_by_hand
from lockscale.measure.target_manycore import HeldManycore
from lockscale.measure.target_qemu import HeldQemu
from lockscale.study.file import load_study, load_target

SMALL = {"guests": [{"cpus": 1, "processes": [1]}], "operations_per_point": 40, "iterations": 2}
STUDY = load_study("inode-claim", SMALL)
ROW: dict[str, Any] = {
    **read_rows(curated_run("inode-claim").rows).iloc[0].to_dict(),
    **{"arm": "a", "threads": 1, "target": "here", "build_id": "ab" * 20},
}
STEPS = [Step(n, "ab", n, n, arm, 1, (1,)) for n, arm in ((1, "a"), (2, "b"), (3, "c"))]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """Three steps of three arms, each with a row."""
    made = open_journal(Run(tmp_path), STUDY)
    for step in STEPS:
        made.add(step, rows=[{**ROW, "arm": step.arm}], as_found={}, wall_s=1.0)
    return made


def changed(journal: Journal, at: int, change: Callable[[dict[str, Any]], object]) -> None:
    """Let one line say otherwise, as if it had been written so."""
    names = list(journal.entries)
    change(journal.entries[names[at]])
    journal.path.write_text("".join(line_of(entry) + "\n" for entry in journal.entries.values()))


@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_line_of_another_study_is_enough_to_refuse(journal: Journal, at: int):
    changed(journal, at, lambda entry: entry.update(study_sha256="0" * 64))
    with pytest.raises(BadInput, match="started with other parameters: start a new run"):
        open_journal(Run(journal.path.parent), STUDY)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_build_of_an_arm_is_looked_for_in_every_step(journal: Journal, at: int):
    arm = STEPS[at].arm
    refuse_other_build(journal, arm, "ab" * 20)
    refuse_other_build(journal, "an arm that was not measured", "cd" * 20)
    for other in ("cd" * 20, "ab" * 19 + "ac"):
        with pytest.raises(BadInput, match=f"arm {arm} was measured as build-id abab"):
            refuse_other_build(journal, arm, other)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_another_target_or_plan_is_refused_whichever_step_says_so(journal: Journal, at: int):
    refuse_other(journal, STEPS, "here")
    fewer = [step for step in STEPS if step is not STEPS[at]]
    with pytest.raises(BadInput, match=f"has step {STEPS[at].name}, which is not in the plan"):
        refuse_other(journal, fewer, "here")
    changed(journal, at, lambda entry: entry["rows"][0].update(target="there"))
    with pytest.raises(BadInput, match="started on there, not on here"):
        refuse_other(journal, STEPS, "here")


def described(journal: Journal, **more: Any) -> Run:
    """The run, as its provenance describes a machine in virtual time, with some of it otherwise."""
    run = Run(journal.path.parent)
    target = {**load_target("manycore").public(), **more}
    write_json(run.provenance, {"origin": "virtual", "kernels": {}, "target": target})
    return run


@pytest.mark.parametrize("name", ["prices", "memory_mib", "quantum_ns", "disk"])
def test_a_machine_that_was_described_otherwise_is_another_one(journal: Journal, name: str):
    """Or rates at two prices would be one run's, and all of them told to be at the later ones."""
    here = load_target("manycore")
    with pytest.raises(
        BadInput, match=rf"manycore was changed after run .* \({name}\): restore it, or start"
    ):
        refuse_other_target(described(journal, **{name: 7}), journal, here)
    nothing = open_journal(Run(journal.path.parent / "new"), STUDY)
    refuse_other_target(described(journal, **{name: 7}), nothing, here)  # nothing is measured yet


def test_a_machine_may_be_given_more_time_to_boot_and_an_old_run_does_not_know_all(journal: Journal):
    here = load_target("manycore")
    refuse_other_target(described(journal, boot_timeout_s=1, gone=2), journal, here)
    write_json(Run(journal.path.parent).provenance, {"origin": "virtual", "kernels": {}})
    refuse_other_target(Run(journal.path.parent), journal, here)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_machine_that_became_another_one_between_two_sessions_is_refused(journal: Journal, at: int):
    """QEMU, its plugin or the processor of a run that was interrupted: no target's file says of them."""
    begun = {"QEMU": "10.0.2", "the plugin": "manycore.so-ab"}
    changed(journal, at, lambda entry: entry.update(machine=begun))
    again = open_journal(Run(journal.path.parent), STUDY)
    again.go_on_with(begun)
    again.go_on_with({**begun, "further": "what an older lockscale did not say"})
    for what, now in (("QEMU", "10.1.0"), ("the plugin", "manycore.so-cd")):
        with pytest.raises(
            BadInput, match=rf"{STEPS[at].name} of .* with {what} {begun[what]}, and here is {now}:"
        ):
            again.go_on_with({**begun, what: now})


def test_each_step_says_what_it_was_done_on(journal: Journal):
    journal.go_on_with({"QEMU": "10.0.2"})
    journal.add(Step(4, "ab", 4, 4, "a", 1, (1,)), rows=[ROW], as_found={}, wall_s=1.0)
    with pytest.raises(BadInput, match=r"step 004-ab4-a-1cpu of .* and here is 10\.1\.0"):
        open_journal(Run(journal.path.parent), STUDY).go_on_with({"QEMU": "10.1.0"})


def test_what_a_guest_is_known_by_says_qemu_and_in_virtual_time_the_plugin(monkeypatch: pytest.MonkeyPatch):
    many, plain = object.__new__(HeldManycore), object.__new__(HeldQemu)
    qemu = Qemu(Path("qemu"), "10.0.2")
    many.machine = VirtualTime(qemu, Path("bin/manycore.so-ab"), {}, {})
    assert many.machine_facts() == {"QEMU": "10.0.2", "the plugin": "manycore.so-ab"}
    monkeypatch.setattr(target_qemu, "need", lambda _: "qemu")
    monkeypatch.setattr(target_qemu, "version_of", lambda _: "10.0.3")
    monkeypatch.setattr(target, "host", lambda: {"cpus": 2, "cpu_model": "EPYC"})
    assert plain.machine_facts() == {"QEMU": "10.0.3", "the processor": "2 x EPYC"}


def test_rates_of_two_tools_or_of_two_versions_of_one_are_not_in_one_run(journal: Journal):
    """As mdtest has them that was installed, or updated, while the run was interrupted."""
    rate = {**ROW, "metric": "rate", "test": "create", "tool": "fsload", "tool_version": "0.2.0"}
    first, *_ = journal.entries.values()
    first["rows"] = [rate]
    step = Step(4, "ab", 4, 4, "a", 1, (1,))
    for other in ({"tool": "mdtest"}, {"tool_version": "0.3.0"}):
        with pytest.raises(
            BadInput, match=r"the rates of create in .* are by fsload 0\.2\.0, and the target has"
        ):
            journal.add(step, rows=[rate | other])
    assert journal.left([step]) == [step] and len(journal.path.read_text().splitlines()) == len(STEPS)
    profiled = rate | {"tool": "mdtest", "profiled": True}
    journal.add(step, rows=[rate, profiled, rate | {"test": "remove", "tool": "mdtest"}])


def test_where_notebooks_by_hand_write_a_person_is_told_what_to_remove(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
):
    """There is no other run to start: the notebook always writes there."""
    monkeypatch.setattr(paths, "RUNS", journal.path.parents[1])
    by_hand = run_by_hand(STUDY.name)
    journal.path.parent.rename(by_hand.folder)
    with pytest.raises(
        BadInput, match=f"parameters: remove {by_hand.folder}, which notebooks by hand write to"
    ):
        open_journal(by_hand, load_study("inode-claim", {**SMALL, "iterations": 3}))


def test_steps_that_are_done_are_not_left_and_rows_come_in_the_order_of_the_plan(journal: Journal):
    more = Step(4, "ab", 4, 4, "a", 1, (1,))
    assert journal.left([*STEPS, more]) == [more]
    assert [row.arm for row in journal.rows(STEPS[::-1])] == ["c", "b", "a"]


@pytest.mark.parametrize("value", ["1", 1.0, None])
def test_a_line_whose_values_are_of_another_type_is_damaged(journal: Journal, value: object):
    changed(journal, 1, lambda entry: entry["rows"][0].update(threads=value))
    with pytest.raises(BadInput, match="line 2 is damaged"):
        open_journal(Run(journal.path.parent), STUDY)


def test_nan_is_never_written(journal: Journal):
    with pytest.raises(ValueError, match="JSON"):
        journal.add(STEPS[0], rows=[], as_found={}, wall_s=float("nan"))
    assert len(journal.path.read_text().splitlines()) == 3


def test_lines_that_are_passed_over_are_those_at_the_beginning(journal: Journal):
    lines = read_lines(journal.path, lambda line: line, "", skip=1)
    assert len(lines) == 2 and b"002-" in lines[0] and b"line_sha256" not in lines[0]
    journal.path.write_text(journal.path.read_text().replace('"arm": "c"', '"arm": "d"'))
    with pytest.raises(BadInput, match=r"journal\.jsonl line 3 was changed after it was written: fix it"):
        read_lines(journal.path, bytes, "fix it")


@pytest.mark.parametrize("torn", ["{", '{"s', '{"step'])
def test_a_torn_line_is_taken_off_however_short(journal: Journal, torn: str):
    whole = journal.path.read_text()
    journal.path.write_text(whole + torn)
    assert len(read_lines(journal.path, bytes, "")) == 3
    drop_torn_line(journal.path)
    assert journal.path.read_text() == whole


def test_a_run_of_the_repository_is_never_gone_on_with():
    with pytest.raises(BadInput, match="is a curated run in data/measured"):
        to_resume(curated_run("inode-claim").id)
