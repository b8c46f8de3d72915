# SPDX-License-Identifier: MIT
"""A machine in virtual time, without a guest: its file, its QEMU, its sections and when they are none."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from lockscale import apt_download, paths
from lockscale.apt_download import unpacked_packages
from lockscale.errors import BadInput, RunFailed
from lockscale.machines import qemu_backport
from lockscale.machines.format import formatting_in_memory
from lockscale.machines.guest_disks import CHECK, InMemory
from lockscale.machines.qemu_backport import find_qemu, is_enough, version_of
from lockscale.machines.virtual_time import PARTS, read_sections, refuse_broken
from lockscale.measure.provenance import run_command
from lockscale.measure.target import refuse_too_large
from lockscale.measure.where_time_went import gains_at_price_ends
from lockscale.show.pipeline import study_on
from lockscale.study.file import (
    DEFAULT_TARGET,
    RATES_TARGET,
    ManycoreTarget,
    list_studies,
    load_study,
    load_target,
)
from lockscale.study.target_file import HALF_QUANTUM, TargetFile

LINE = {
    "section": 1, "virtual_ns": 7_000_000, "real_ns": 2_000_000_000, "cpu_ns": 100_000_000,
    "pause_ns": 60_000_000, "atomic_ns": 1_000_000, "transfer_ns": 10_000_000, "queue_ns": 4_000_000,
    "io_ns": 0, "near": 7, "far": 5, "atomics": 9, "pauses": 3, "turns_refused": 1000, "idle_jumps": 2,
    "held_jumps": 0, "late_timers": 0, "broken_waits": 0,
    "lines": [[0x81000040, 900, 60_000, 5_000], [0, 40, 2_500, 0]],
}  # fmt: skip


def described() -> ManycoreTarget:
    found = load_target("manycore")
    assert isinstance(found, ManycoreTarget)
    return found


def said() -> dict[str, object]:
    return yaml.safe_load((paths.TARGETS / "manycore.yaml").read_text())


def test_a_study_runs_there_by_default_and_kernels_are_counted_in_plain_guests():
    assert (RATES_TARGET, DEFAULT_TARGET) == ("manycore", "qemu")


def test_every_price_has_a_source_and_lies_in_its_range():
    for name, price in described().prices:
        assert price.low_ns <= price.ns <= price.high_ns and len(price.source) > 30, name


def test_a_misspelt_price_is_the_one_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = said()
    file["prices"]["nearline"] = file["prices"].pop("near_line")
    (tmp_path / "manycore.yaml").write_text(yaml.safe_dump(file))
    monkeypatch.setattr(paths, "TARGETS", tmp_path)
    with pytest.raises(BadInput, match=r"prices\.nearline: .*its name: did you mean near_line\?$"):
        load_target("manycore")


@pytest.mark.parametrize("wrong", [{"ns": 0.1}, {"low_ns": -1}, {"source": ""}, {"high_ns": 0.25}])
def test_a_price_out_of_its_range_or_without_a_source_is_refused(wrong: dict[str, object]):
    file = said()
    file["prices"]["instruction"] |= wrong  # type: ignore[index]
    with pytest.raises(ValueError):
        TargetFile.model_validate(file)


def test_the_plugin_is_told_picoseconds():
    options = described().plugin_options
    assert options["insn_ps"] == 300 and options["far_ps"] == 120_000 and options["quantum_ps"] == 100_000
    assert described().settings["far_line.high"] == ("far_ps", 200_000)
    assert described().settings[HALF_QUANTUM] == ("quantum_ps", 50_000)
    assert options["per_socket"] == 32 and all(isinstance(value, int) for value in options.values())


def test_only_the_target_changes_the_points_of_a_study():
    plain = study_on(load_target("qemu"), "inode-claim", {})
    many = study_on(described(), "inode-claim", {})
    assert {guest.cpus for guest in plain.parameters.guests} == {4}
    assert many.parameters.guests == load_study("inode-claim").parameters.manycore
    own = study_on(described(), "inode-claim", {"guests": [{"cpus": 2, "processes": [1, 2]}]})
    assert [guest.cpus for guest in own.parameters.guests] == [2]
    refuse_too_large(many, described())
    with pytest.raises(BadInput, match="has 32: ask for fewer"):
        refuse_too_large(many, described().model_copy(update={"most_cpus": 32}))


def test_a_short_run_measures_and_profiles_fewer_points_of_the_same_machine():
    guests = [
        {"cpus": 64, "processes": [1, 16, 48], "profiled": [1, 16], "short": [48, 1], "loads_at": {48: 3}}
    ]
    (few,) = study_on(described(), "inode-claim", {"guests": guests}, short=True).parameters.guests
    assert (few.cpus, few.processes, few.profiled, few.loads_at) == (64, [1, 48], [1], {})
    (whole,) = study_on(described(), "inode-claim", {"guests": guests}).parameters.guests
    assert (whole.processes, whole.profiled) == ([1, 16, 48], [1, 16])
    plain = study_on(load_target("qemu"), "inode-claim", {}, short=True)
    assert plain.parameters.guests == load_study("inode-claim").parameters.guests


@pytest.mark.parametrize("study", list_studies())
def test_a_short_run_profiles_where_processes_meet(study: str):
    """At one process no claim is lost and nobody waits: the counter would prove nothing."""
    for guest in study_on(described(), study, {}, short=True).parameters.guests:
        profiled = guest.processes if guest.profiled is None else guest.profiled
        assert max(profiled) > 1


def test_a_boots_points_may_have_creates_of_their_own_and_a_given_number_wins():
    asked = study_on(described(), "inode-claim", {}).parameters
    (guest,) = asked.guests
    assert guest.operations_per_point == 7200 != asked.operations_per_point
    assert asked.items_each(guest, 48) == 150 and asked.items_each(guest, 100_000) == 1
    assert [asked.items_each(guest, n) for n in (1, 2, 4)] == [1200, 2400, 1800]
    given = study_on(described(), "inode-claim", {"operations_per_point": 480}).parameters
    assert (given.items_each(given.guests[0], 48), given.items_each(given.guests[0], 1)) == (10, 480)
    own: dict[str, Any] = {"operations_per_point": 480}
    own["guests"] = [{"cpus": 2, "processes": [2], "operations_per_point": 100}]
    both = study_on(described(), "inode-claim", own).parameters
    assert both.items_each(both.guests[0], 2) == 50
    own["guests"][0]["operations_at"] = {"2": 60}  # as JSON spells a number there
    (at,) = study_on(described(), "inode-claim", own).parameters.guests
    assert both.operations(at, 2) == 60
    own["guests"][0]["operations_at"] = {3: 60}
    with pytest.raises(BadInput, match="operations_at names 3 processes, which are not measured"):
        study_on(described(), "inode-claim", own)


@pytest.mark.parametrize(
    ("ends", "short", "target", "said"),
    [
        ([7], False, "manycore", "price_ends names 7 processes, which are not measured"),
        ([32], True, "manycore", "price_ends names 32 processes, which are not measured"),
        ([48], False, "qemu", "target qemu has no prices"),
    ],
)
def test_ends_of_prices_are_of_points_in_virtual_time(ends: list[int], short: bool, target: str, said: str):
    with pytest.raises(BadInput, match=said):
        study_on(load_target(target), "inode-claim", {"price_ends": ends}, short=short)


def test_a_tool_without_containers_is_refused_before_anything_runs():
    with pytest.raises(BadInput, match="mdtest has no containers"):
        study_on(described(), "group-trylock", {"tool": "mdtest"})


@pytest.mark.parametrize("name", ["short", "profiled"])
def test_a_point_that_is_not_measured_is_refused(name: str):
    with pytest.raises(BadInput, match=f"{name} names 4 processes, which are not measured"):
        load_study("inode-claim", {"guests": [{"cpus": 4, "processes": [1, 2], name: [1, 4]}]})


def test_shares_of_a_section_are_of_its_busy_time_and_sum_to_one(tmp_path: Path):
    (tmp_path / "sections.jsonl").write_text(f"{json.dumps(LINE)}\n{json.dumps({**LINE, 'section': 2})}\n")
    first, second = read_sections(tmp_path / "sections.jsonl")
    assert sum(first.shares.values()) == pytest.approx(1) and first.shares["pause"] == pytest.approx(0.6)
    assert first.shares["instructions"] == pytest.approx(0.25) and set(first.shares) == {
        *PARTS,
        "instructions",
    }
    assert read_sections(tmp_path / "sections.jsonl", 1) == [second]
    assert read_sections(tmp_path / "absent") == []


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"late_timers": 1}, "host starved"),
        ({"held_jumps": 1}, "in flight"),
        ({"broken_waits": 1}, "1 waits between CPUs"),
    ],
)
def test_a_section_whose_rates_are_none_is_refused(tmp_path: Path, wrong: dict[str, int], why: str):
    path = tmp_path / "sections.jsonl"
    path.write_text("".join(json.dumps({**LINE, **more}) + "\n" for more in ({}, wrong)))
    good, bad = read_sections(path)
    refuse_broken(good, "create")
    with pytest.raises(RunFailed, match=why):
        refuse_broken(bad, "create")


def program(folder: Path, version: str, exports: str) -> Path:
    path = folder / "qemu-system-x86_64"
    path.write_text(f"#!/bin/sh\necho 'QEMU emulator version {version} (Debian 1:{version})' # {exports}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("version", "exports", "enough"),
    [
        ("9.1.0", "cpu_loop_exit_restore", True),
        ("10.0.2", "cpu_loop_exit_restore", True),
        ("9.0.9", "cpu_loop_exit_restore", False),
        ("7.2.22", "cpu_loop_exit_restore", False),
        ("10.0.2", "nothing", False),
    ],
)
def test_a_qemu_is_enough_by_its_version_and_by_what_it_exports(
    tmp_path: Path, version: str, exports: str, enough: bool
):
    found = program(tmp_path, version, exports)
    assert version_of(found) == version and is_enough(found, version) == enough


def test_without_qemu_and_without_a_mirror_one_sentence_says_that_qemu_still_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(qemu_backport, "UNPACKED", tmp_path / "qemu")
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    program(tmp_path, "7.2.22", "cpu_loop_exit_restore")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput) as error:
        find_qemu()
    assert "needs QEMU 9.1 or newer" in str(
        error.value
    ) and "target qemu, simulation, audits and fits work" in str(error.value)
    assert "\n" not in str(error.value) and "://" not in str(error.value)
    assert not (tmp_path / "qemu").exists()


def test_what_is_fetched_is_on_disk_before_it_takes_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A power cut would leave firmware of no length, which nobody fetches again."""

    sync = tmp_path / "sync"
    sync.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/synced\n')
    sync.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(apt_download, "_private_apt", lambda *_: [])
    monkeypatch.setattr(apt_download, "_apt", lambda *_: None)
    with unpacked_packages(["qemu"], "backports", tmp_path, "it is wanted", "nothing") as unpacked:
        assert (tmp_path / "synced").read_text() == f"--file-system {unpacked}\n"


def test_the_disk_in_memory_is_whole_gibibytes_with_a_timer_for_its_latency():
    disk = InMemory(3000, 20_000, 64)
    assert {"null_blk.gb=3", "null_blk.irqmode=2", "null_blk.completion_nsec=20000"} < set(
        disk.kernel_arguments
    )
    assert formatting_in_memory(disk, []).sectors == 3 << 21
    assert disk.qemu_options() == ""


@pytest.mark.parametrize(
    ("file", "text", "status"),
    [
        ("proc/swaps", "Filename\n", 0),
        ("proc/swaps", "Filename\n/dev/nullb0 partition 1 0 -2\n", 1),
        ("proc/mounts", "/dev/nullb0 /run/lockscale ext4 rw 0 0\n", 1),
        ("sys/module/null_blk/parameters/memory_backed", "N\n", 1),
        ("sys/class/block/nullb0/size", "8\n", 1),
    ],
)
def test_the_disk_in_memory_is_formatted_only_where_it_is_the_guests_own_and_unused(
    file: str, text: str, status: int, tmp_path: Path
):
    files = {
        "proc/swaps": "Filename\n",
        "proc/mounts": "/dev/vda / ext4 rw 0 0\n",
        "sys/module/null_blk/parameters/memory_backed": "Y\n",
        "sys/devices/virtual/block/nullb0/size": "6291456\n",
    }
    for name, said in {**files, file.replace("class", "devices/virtual"): text}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(said)
    (tmp_path / "sys/devices/virtual/block/nullb0/holders").mkdir()
    (tmp_path / "sys/class/block").mkdir(parents=True)
    (tmp_path / "sys/class/block/nullb0").symlink_to(tmp_path / "sys/devices/virtual/block/nullb0")
    asks = CHECK.replace("[ -b /dev/nullb0 ]", "").replace("/sys/", f"{tmp_path}/sys/")
    asks = asks.replace("/proc/", f"{tmp_path}/proc/")
    assert subprocess.run(["sh", "-c", asks, "sh", "6291456"]).returncode == status


def test_a_gain_is_told_at_both_ends_of_each_price():
    """Of the same boot: what was not measured with other prices is left out."""
    study, common = (
        load_study("inode-claim"),
        {"tool": "manycore", "test": "create", "cpus": 64, "threads": 48},
    )
    common |= {"study": "inode-claim", "pair": "ab", "block": 1, "statistic": "total"}
    rows = pd.DataFrame(
        {**common, "arm": arm, "iteration": iteration, "metric": metric, "value": value}
        for arm, metric, iteration, value in [
            ("steal-retry", "rate", 1, 40.0), ("search-locked", "rate", 1, 320.0),
            ("steal-retry", "rate", 2, 400.0), ("search-locked", "rate", 2, 320.0),
            ("steal-retry", "rate_at.pause.low", 1, 50.0), ("search-locked", "rate_at.pause.low", 1, 300.0),
        ]
    )  # fmt: skip
    (row,) = gains_at_price_ends(rows, study).to_dict("records")
    assert (row["price"], row["gain"], row["as_described"]) == ("pause.low", 6.0, 8.0)
    assert gains_at_price_ends(rows[rows.metric == "rate"], study).empty
    other = rows.assign(cpus=16, value=rows.value.where(rows.arm == "steal-retry", rows.value / 2))
    both = gains_at_price_ends(pd.concat([rows, other]), study).set_index("cpus")
    assert both.gain.to_dict() == {16: 3.0, 64: 6.0} and both.as_described.to_dict() == {16: 4.0, 64: 8.0}


def test_the_command_that_repeats_a_run_says_only_what_was_asked():
    guests = [{"cpus": 64, "processes": [1, 48], "profiled": [48]}]
    asked = study_on(described(), "inode-claim", {"guests": guests}).model_dump(mode="json")["parameters"]
    command = shlex.split(run_command("inode-claim", asked, "manycore"))
    assert [json.loads(word.removeprefix("guests=")) for word in command if word.startswith("guests=")] == [
        guests
    ]
    whole = study_on(described(), "inode-claim", {}).model_dump(mode="json")["parameters"]
    assert "-p" not in shlex.split(run_command("inode-claim", whole, "manycore"))
