# SPDX-License-Identifier: MIT
"""Around a load: trace events, calls and lock classes, each counted only where the study asks for it."""

from collections.abc import Sequence
from typing import Any

import pytest

from lockscale.machines.machine import Completed
from lockscale.measure import count_calls
from lockscale.measure.count_calls import Sources, count, sources_of
from lockscale.study.file import list_studies, load_study
from lockscale.tools import event_counts

LOAD = ["load"]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The steps that a machine would carry out; it answers each with what nothing counted prints."""
    seen: list[Any] = []

    def carried_out(_: object, wanted: Sequence[Any], **__: object) -> list[Completed]:
        seen.extend(wanted)
        return [Completed(("step",), 0, "", "") for _ in wanted]

    monkeypatch.setattr(count_calls, "must_all", carried_out)
    monkeypatch.setattr(count_calls, "must", lambda *_: f"{event_counts.EVENTS}/ext4/ext4_x/hist\n")
    monkeypatch.setattr(count_calls, "with_one_cpu_online", lambda _machine, _cpus, writes: list(writes))
    monkeypatch.setattr(count_calls, "_traced", lambda _, events: {f"trace:{one}": 0 for one in events})
    monkeypatch.setattr(count_calls, "_called", lambda _, names: {f"calls:{name}": 0 for name in names})
    monkeypatch.setattr(count_calls, "_locked", lambda _, locks: {f"{k}:{name}": 0 for k, name in locks})
    return seen


@pytest.mark.parametrize("trace", [(), ("ext4_x",)])
@pytest.mark.parametrize("calls", [(), ("ext4_y",)])
@pytest.mark.parametrize("locks", [(), (("acquisitions", "z"),)])
def test_each_kind_is_turned_on_before_the_load_only_where_it_is_counted(
    steps: list[Any], trace: tuple[str, ...], calls: tuple[str, ...], locks: tuple[tuple[str, str], ...]
):
    found = count(None, LOAD, Sources(trace, calls, locks), 2, "ext4")  # type: ignore[arg-type]
    assert len(found) == len(trace) + len(calls) + len(locks)
    before, after = (str(part) for part in (steps[: steps.index(LOAD)], steps[steps.index(LOAD) :]))
    for is_counted, word in ((trace, "trigger"), (calls, "function_profile"), (locks, "lock_stat")):
        assert (word in before) == bool(is_counted) and (word in after or not is_counted)


@pytest.mark.parametrize("study", list_studies())
def test_the_counters_of_every_study_can_be_counted(steps: list[Any], study: str, monkeypatch):
    wanted = sources_of(load_study(study))
    monkeypatch.setattr(event_counts, "check", lambda *_: None)
    found = count(None, LOAD, wanted, 2, "ext4")  # type: ignore[arg-type]
    assert len(found) == len(wanted.trace) + len(wanted.calls) + len(wanted.locks)
