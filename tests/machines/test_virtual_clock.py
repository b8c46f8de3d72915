# SPDX-License-Identifier: MIT
"""How a QEMU in virtual time is started: one thread for all CPUs, every clock of it that of the plugin."""

import os
import subprocess
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.machines import virtual_time
from lockscale.machines.qemu_backport import Qemu
from lockscale.machines.virtual_time import VirtualTime, refuse_library, with_setting
from lockscale.study.file import ManycoreTarget, load_target
from lockscale.study.target_file import HALF_QUANTUM

SETTINGS = {"a": ("insn_ps", 10), "b": ("far_ps", 2000)}


def machine(folder: Path) -> VirtualTime:
    program = folder / "qemu"
    program.write_text('#!/bin/sh\nenv | grep LD_ > "$OUT"; echo "$*" >> "$OUT"\n')
    program.chmod(0o755)
    return VirtualTime(Qemu(program, "10.0", (folder / "bios",)), folder / "m.so", {"insn_ps": 7}, SETTINGS)


def test_the_clock_is_preloaded_before_qemu_and_its_arguments_stay(tmp_path: Path):
    starter = machine(tmp_path).starter(tmp_path)
    out = tmp_path / "out"
    subprocess.run(
        [starter, "-smp", "64 "], env={**os.environ, "OUT": str(out)}, check=True, capture_output=True
    )
    preload, words = out.read_text().splitlines()
    assert preload == f"LD_PRELOAD={tmp_path}/m.so" and words == f"-L {tmp_path}/bios -smp 64 "


def test_all_cpus_run_in_one_thread_and_the_devices_clock_is_theirs(tmp_path: Path):
    words = machine(tmp_path).qemu_options(tmp_path)
    assert "-rtc clock=vm" in words
    (accel,) = [word for word in words if word.startswith("-accel")]
    assert "tcg" in accel and "thread=single" in accel
    (plugin,) = [word for word in words if word.startswith("-plugin")]
    assert plugin.split(",") == [
        f"-plugin {tmp_path}/m.so", "insn_ps=7", f"statistics={tmp_path}/sections.jsonl",
        "setting=insn_ps:10", "setting=far_ps:2000",
    ]  # fmt: skip


def test_a_guest_has_four_levels_of_page_tables(tmp_path: Path):
    """The plugin knows where the kernel's map of all memory begins with four."""
    (cpu,) = [word for word in machine(tmp_path).qemu_options(tmp_path) if word.startswith("-cpu ")]
    assert "-la57" in cpu.split(",")


def test_a_setting_is_asked_for_by_its_place_in_the_machines_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(virtual_time, "build_section", lambda: Path("/bin/section"))
    assert with_setting(3, ["load", "8"]) == ["/bin/section", "--setting", "3", "load", "8"]


def test_half_the_quantum_is_the_first_setting_and_each_price_has_two():
    target = load_target("manycore")
    assert isinstance(target, ManycoreTarget)
    names = list(target.settings)
    assert names[0] == HALF_QUANTUM and len(names) == 1 + 2 * len(list(target.prices))
    option, half_ps = target.settings[HALF_QUANTUM]
    assert half_ps == pytest.approx(target.plugin_options[option] / 2, abs=1)


def test_what_the_plugin_says_of_its_qemu_is_a_refusal():
    refuse_library("booting\nLinux says manycore: nothing\n")
    with pytest.raises(BadInput, match=r"^manycore: this QEMU is too old: name another QEMU on PATH"):
        refuse_library("booting\nmanycore: this QEMU is too old\n")
