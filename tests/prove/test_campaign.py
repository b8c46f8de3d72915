# SPDX-License-Identifier: MIT
"""The boots of a check are not lost when it is broken off, and none is taken for another."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from lockscale.errors import BadInput
from lockscale.prove import campaign as module
from lockscale.prove.campaign import Counted, beside_others, campaign, refuse_fewer
from lockscale.prove.kept_rows import read_rows
from lockscale.study.file import load_study, load_target

STUDY, ARMS = load_study("inode-claim"), ["steal-retry", "search-locked"]


class Guests:
    """Guests that count by their number, so that a boot tells itself from every other; `at` breaks off."""

    def __init__(self) -> None:
        self.boots, self.at, self.build, self.qemu = 0, 0, "a", "7.2"
        self.busy: set[int] = set()  # the boots that other work ran beside

    def build_kernel(self, series: Any, kind: str) -> SimpleNamespace:
        return SimpleNamespace(build_id=f"{self.build}-{series.arm}-{kind}")

    @contextmanager
    def booted(self, *_: Any) -> Iterator[tuple[SimpleNamespace, None]]:
        self.boots += 1
        if self.boots == self.at:
            raise KeyboardInterrupt
        yield SimpleNamespace(group=0), None

    def others(self, _: int) -> SimpleNamespace:
        return SimpleNamespace(cpus=lambda: 1.3 if self.boots in self.busy else 0.1)

    def count(self, *_: Any) -> dict[int, dict[str, int]]:
        return {STUDY.check.processes: {"trace:ext4_inode_bit_retry": self.boots}}


@pytest.fixture
def guests(monkeypatch: pytest.MonkeyPatch) -> Guests:
    found = Guests()
    monkeypatch.setattr(module, "build", found.build_kernel)
    monkeypatch.setattr(module, "booted_guest", found.booted)
    monkeypatch.setattr(module, "count_points", found.count)
    monkeypatch.setattr(module, "OthersOnCpus", found.others)
    monkeypatch.setattr(module, "guest_facts", lambda: {"QEMU": found.qemu})
    return found


def kept_values(folder: Path) -> list[int]:
    return [one.value for one in read_rows(folder / "counts-inode-claim.csv", Counted)]


def counts(folder: Path, study: Any = STUDY, iterations: int = 3) -> list[int]:
    return [one.value for one in campaign(study, ARMS, load_target("qemu"), iterations, folder)]


def test_a_check_that_was_broken_off_goes_on_at_the_boot_that_did_not_end(guests: Guests, tmp_path: Path):
    guests.at = 4
    with pytest.raises(KeyboardInterrupt):
        counts(tmp_path)
    assert kept_values(tmp_path) == [1, 2, 3]
    assert counts(tmp_path) == [1, 2, 3, 5, 6, 7] and guests.boots == 7
    assert kept_values(tmp_path) == [1, 2, 3, 5, 6, 7]


def test_what_is_whole_is_read_and_more_iterations_are_added(guests: Guests, tmp_path: Path):
    whole = counts(tmp_path, iterations=2)
    assert counts(tmp_path, iterations=2) == whole and guests.boots == 4
    assert counts(tmp_path, iterations=3)[:4] == whole and guests.boots == 6


def test_fewer_iterations_than_there_are_boots_are_refused_as_the_others_would_be_lost(
    guests: Guests, tmp_path: Path
):
    refuse_fewer(tmp_path, "inode-claim", 2)  # nothing is there
    counts(tmp_path, iterations=3)
    refuse_fewer(tmp_path, "inode-claim", 3)
    with pytest.raises(BadInput, match="has 3 boots of each arm of inode-claim: give --iterations 3 or more"):
        refuse_fewer(tmp_path, "inode-claim", 2)


def test_another_kernel_or_another_load_is_counted_anew(guests: Guests, tmp_path: Path):
    first = counts(tmp_path)
    guests.build = "b"
    assert not set(counts(tmp_path)) & set(first)
    more = STUDY.check.model_copy(update={"items_per_process": STUDY.check.items_per_process + 1})
    assert not set(counts(tmp_path, STUDY.model_copy(update={"check": more}))) & {*first, *range(7, 13)}


def test_counts_of_two_qemus_are_not_compared_and_older_ones_do_not_say_theirs(
    guests: Guests, tmp_path: Path
):
    first = counts(tmp_path)
    guests.qemu = "10.0"
    again = counts(tmp_path)
    assert not set(again) & set(first) and kept_values(tmp_path) == again
    path = tmp_path / "counts-inode-claim.csv"
    pd.read_csv(path).drop(columns="machine").to_csv(path, index=False)
    guests.qemu = "10.1"
    assert counts(tmp_path) == again


def test_boots_beside_other_work_are_told_and_counted_again_by_resume_alone(
    guests: Guests, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    guests.busy = {2, 5}
    assert counts(tmp_path) == [1, 2, 3, 4, 5, 6]
    said = "inode-claim: 2 of 6 boots were counted while other work had up to 1.3 of this machine's CPUs"
    assert said in capsys.readouterr().err
    guests.at = 8
    with pytest.raises(KeyboardInterrupt):
        counts(tmp_path)
    assert sorted(kept_values(tmp_path)) == [1, 3, 4, 5, 6, 7]  # what is not counted again yet stays
    assert counts(tmp_path) == [1, 7, 3, 4, 9, 6]
    assert "beside" not in capsys.readouterr().err and guests.boots == 9
    assert beside_others(read_rows(tmp_path / "counts-inode-claim.csv", Counted), ARMS) == 0


def test_counts_that_do_not_say_how_busy_their_host_was_are_not_repeated(guests: Guests, tmp_path: Path):
    guests.busy = {1}
    first, path = counts(tmp_path), tmp_path / "counts-inode-claim.csv"
    pd.read_csv(path).drop(columns="others_cpus").to_csv(path, index=False)
    assert counts(tmp_path) == first


def test_where_one_arm_is_another_kernel_the_counts_of_the_other_stay(
    guests: Guests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def build_other(series: Any, kind: str) -> SimpleNamespace:
        return SimpleNamespace(build_id=f"{'b' if series.arm == ARMS[0] else 'a'}-{series.arm}-{kind}")

    first = counts(tmp_path)  # of both arms in turn: 1 2, 3 4, 5 6
    monkeypatch.setattr(module, "build", build_other)
    guests.at = 8
    with pytest.raises(KeyboardInterrupt):
        counts(tmp_path)
    assert {first[1], first[2], first[5]} <= set(kept_values(tmp_path))
    again = counts(tmp_path)
    assert guests.boots == 10 and again == [7, 2, 3, 9, 10, 6]
    assert kept_values(tmp_path) == again


def test_to_count_some_arms_again_loses_no_boot_of_the_others(guests: Guests, tmp_path: Path):
    counts(tmp_path)  # of both arms in turn: 1 2, 3 4, 5 6
    guests.build = "b"
    one = campaign(STUDY, ARMS[1:], load_target("qemu"), 3, tmp_path)
    assert [each.value for each in one] == [7, 8, 9]
    assert sorted(kept_values(tmp_path)) == [1, 4, 5, 7, 8, 9]
    guests.build = "a"
    assert counts(tmp_path) == [1, 10, 11, 4, 5, 12]


@pytest.mark.parametrize("text", ["", "study,arm\nx\n,,,", "study,arm,iteration,value\ns,a,one,2\n"])
def test_a_damaged_table_of_counts_is_one_sentence(guests: Guests, tmp_path: Path, text: str):
    (tmp_path / "counts-inode-claim.csv").write_text(text)
    with pytest.raises(BadInput, match=r"counts-inode-claim\.csv cannot be read .*: move it away"):
        counts(tmp_path)
    assert guests.boots == 0
