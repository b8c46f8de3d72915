# SPDX-License-Identifier: MIT
"""The keep file of a sweep: what was flushed is read back bit for bit; nothing foreign is touched."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.keep_file import KeepFile
from lockscale.sim.sweep import POINT_KEYS

SETTINGS: dict[str, object] = {"model": "inode_claim", "seed": 1, "simulator": "0123"}


def point(threads: int, value: float = 1 / 3) -> dict[str, Any]:
    some = {"parameters": {"hold_ns": 0.1}, "threads": threads, "value": value, "attempts_per_op": 1.5}
    return {**dict.fromkeys(POINT_KEYS), **some}


def kept(path: Path, *points: dict[str, Any]) -> KeepFile:
    file = KeepFile(path, SETTINGS)
    for one in points:
        file.add(one)
    return file


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5))
def test_points_come_back_bit_for_bit(tmp_path: Path, values: list[float]) -> None:
    path = tmp_path / "points"
    path.unlink(missing_ok=True)
    points = [point(n, value) for n, value in enumerate(values)]
    assert kept(path, *points).read() == points


def test_a_file_cut_anywhere_keeps_its_whole_lines_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "points"
    kept(path, point(1), point(2))
    whole = path.read_bytes()
    ends = [at for at, byte in enumerate(whole, start=1) if byte == ord("\n")]
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        before = [point(n) for n in range(1, sum(end <= cut for end in ends))]
        assert KeepFile(path, SETTINGS).read() == before
        assert kept(path, point(9)).read() == [*before, point(9)]


def test_another_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for content in (b"my notes", b"my notes\n", b'{"model": "inode_claim"}\n', b"[1]\nx", b"\xff\xfe\n\n"):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=r"notes\.txt is not a file that lockscale sweep wrote"):
            KeepFile(path, SETTINGS).read()
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seed": 2}, "keeps points of seed 1, not 2: name another file"),
        ({"simulator": "4567"}, "keeps points of simulator 0123, not 4567"),
        ({"model": "machine_repairman"}, "keeps points of model inode_claim, not machine_repairman"),
    ],
)
def test_points_of_other_settings_are_refused(
    tmp_path: Path, changed: dict[str, object], message: str
) -> None:
    kept(tmp_path / "points", point(1))
    with pytest.raises(BadInput, match=message):
        KeepFile(tmp_path / "points", {**SETTINGS, **changed}).read()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        *((line, "is not a point") for line in ("", "{", "[]", "{}", "null")),
        (json.dumps({"threads": 1}), "is a point without parameters, metric, unit, value, low"),
        *((json.dumps({k: v for k, v in point(1).items() if k != name}), f"is a point without {name}")
          for name in POINT_KEYS),
        (json.dumps({**point(1), "value": math.nan}), "whose value is NaN, no finite number"),
        (json.dumps({**point(1), "high": math.inf}), "whose high is Infinity, no finite number"),
        (json.dumps({**point(1), "high": 10**400}), "whose high is 1000"),
        (json.dumps({**point(1), "low": "x"}), 'whose low is "x", no finite number'),
        (json.dumps({**point(1), "value": None}), "whose value is null, no finite number"),
        (json.dumps({**point(1), "value": True}), "whose value is true, no finite number"),
        (json.dumps({**point(1), "locks": {"a": [math.nan]}}), "a point with NaN or Infinity"),
    ],
)  # fmt: skip
def test_a_damaged_line_is_named(tmp_path: Path, line: str, fault: str) -> None:
    file = kept(tmp_path / "points", point(1))
    with file.path.open("a") as stream:
        stream.write(line + "\n")
    file.add(point(2))
    with pytest.raises(BadInput) as refused:
        file.read()
    said = str(refused.value)
    assert said.startswith(f"{file.path} line 3 ") and fault in said
    assert said.endswith(": delete the line, it is then redone")


def test_a_second_sweep_waits_its_turn(tmp_path: Path) -> None:
    file = KeepFile(tmp_path / "points", SETTINGS)
    with (
        file.in_use(),
        pytest.raises(BadInput, match=r"points is in use by .* \(process \d+\)"),
        KeepFile(tmp_path / "points", SETTINGS).in_use(),
    ):
        raise AssertionError("two at once")
    with file.in_use():
        assert file.read() == []
