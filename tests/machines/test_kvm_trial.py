# SPDX-License-Identifier: MIT
"""What a trial boot with KVM found is remembered until this machine starts anew, where it can be read."""

import json
import os
from pathlib import Path

import pytest

from lockscale.machines import kvm_trial
from lockscale.machines.qemu import Guest

BOOT_ID = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.mark.parametrize(
    ("kept", "tried"),
    [
        (json.dumps({"boot_id": BOOT_ID, "accel": "tcg"}), False),
        (json.dumps({"boot_id": "another", "accel": "tcg"}), True),
        (json.dumps({"boot_id": BOOT_ID, "accel": "other"}), True),
        (json.dumps({"boot_id": BOOT_ID}), True),
        ("", True),
        ("[1]", True),
        ("\xff", True),
        (None, True),
    ],
)
def test_a_trial_that_cannot_be_read_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str | None, tried: bool
):
    path, trials = tmp_path / "accel.json", list[Guest]()
    if kept is not None:
        path.write_text(kept, encoding="latin-1")
    monkeypatch.setattr(kvm_trial, "REMEMBERED", path)
    monkeypatch.setattr(kvm_trial, "_boots", lambda guest: bool(trials.append(guest)))
    monkeypatch.setattr(os, "access", lambda *_: True)
    assert kvm_trial.choose_accel(Guest(Path("bzImage"), 2, 512, "tcg", 60)) == "tcg"
    assert bool(trials) == tried
    assert json.loads(path.read_text())["boot_id"] == BOOT_ID
