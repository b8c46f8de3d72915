# SPDX-License-Identifier: MIT
"""A load in virtual time is measured in a section for each phase, or in one: else its rates are none."""

from types import SimpleNamespace
from typing import Any

import pytest

from lockscale.errors import RunFailed
from lockscale.machines import virtual_time
from lockscale.machines.machine import Completed
from lockscale.machines.virtual_time import BROKEN, PARTS, Section
from lockscale.measure.load import Load, Point
from lockscale.measure.where_time_went import HALF, SystemMap, at_setting, where_time_went
from lockscale.study.target_file import HALF_QUANTUM
from lockscale.tools.parsed_rows import Parsed, ParsedRow

ROWS = tuple(ParsedRow(phase, 4, 1, "rate", "ops/s", 100.0, "total") for phase in ("create", "remove"))
LOAD = Load("fsload", lambda *_: ["load"], lambda _: Parsed("fsload", "1", ROWS, ()))
POINT = Point(LOAD, 4, 100)


def section(**wrong: int) -> Section:
    counts = {**dict.fromkeys((*BROKEN, "near", "far", "lost_lines"), 0), **wrong}
    return Section(1000, 1, 4000, dict.fromkeys((*PARTS, "instructions"), 0.0), counts)


def at_half(monkeypatch: pytest.MonkeyPatch, seen: list[Section]) -> list[tuple[str, float]]:
    """The rates at half the quantum of a load that was measured in `seen`, the first sections of its boot."""
    monkeypatch.setattr(virtual_time, "build_section", lambda: "/bin/section")
    ran: list[str] = []

    def run(argv: list[str], **_: Any) -> Completed:
        ran.append(" ".join(argv))
        return Completed(tuple(argv), 0, "", "")

    of_boot = SimpleNamespace(settings=(HALF_QUANTUM,), sections=lambda skip=0: seen[skip:] if ran else [])
    booted: Any = SimpleNamespace(machine=SimpleNamespace(run=run), virtual_time=of_boot)
    found = [(one.test, one.value) for one in at_setting(booted, POINT, HALF_QUANTUM, HALF)]
    assert ran == ["/bin/section --setting 1 load"]
    return found


@pytest.mark.parametrize("count", [1, 2])
def test_a_load_of_two_phases_is_two_sections_or_one(monkeypatch: pytest.MonkeyPatch, count: int):
    seen = [section() for _ in range(count)]
    tests = {one.test for one in where_time_went(seen, POINT, SystemMap((0,), ("_text",)))}
    assert tests == ({"create", "remove"} if count == 2 else {"create_remove"})
    assert at_half(monkeypatch, seen) == [("create", 100.0), ("remove", 100.0)]


@pytest.mark.parametrize("count", [0, 3])
def test_a_load_of_which_a_part_had_no_prices_has_no_rate(monkeypatch: pytest.MonkeyPatch, count: int):
    seen, why = [section() for _ in range(count)], f"{count} measured sections were seen instead of 2"
    with pytest.raises(RunFailed, match=f"^create_remove by 4 processes: {why}"):
        list(where_time_went(seen, POINT, SystemMap((0,), ("_text",))))
    with pytest.raises(RunFailed, match=f"^create_remove by 4 processes at half_quantum: {why}"):
        at_half(monkeypatch, seen)


def test_a_broken_section_is_named_by_its_phase(monkeypatch: pytest.MonkeyPatch):
    seen = [section(), section(late_timers=1)]
    with pytest.raises(RunFailed, match=r"^remove by 4 processes at half_quantum: the host starved"):
        at_half(monkeypatch, seen)
