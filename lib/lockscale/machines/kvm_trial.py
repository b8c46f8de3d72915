# SPDX-License-Identifier: MIT
"""KVM only after a trial boot: /dev/kvm may open and still hang an unmodified guest."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

from lockscale import paths
from lockscale.errors import RunFailed
from lockscale.files import write_json
from lockscale.machines.qemu import Guest, QemuMachine
from lockscale.progress import progress

TRIAL_S = 25  # a TCG guest boots in 6 s here; a KVM guest that is not up by then never will be
ACCELS = ("kvm", "tcg")
REMEMBERED = paths.CACHE / "accel.json"


def choose_accel(guest: Guest) -> str:
    """ "kvm" if a guest really booted with it on this machine since its start, else "tcg"."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    if known := _remembered(boot_id):
        return known
    with progress("trial boot with KVM") as shown:
        shown.update(0, f"at most {TRIAL_S} s")
        started_s = time.monotonic()
        accel = "kvm" if _boots(replace(guest, accel="kvm", disk=None)) else "tcg"
        tried_s = round(time.monotonic() - started_s, 1)
    write_json(REMEMBERED, {"boot_id": boot_id, "accel": accel, "tried_s": tried_s})
    return accel


def _remembered(boot_id: str) -> str:
    """What the trial since this start of the machine found; empty for none, and for a damaged file."""
    try:
        known = json.loads(REMEMBERED.read_bytes())
        return str(known["accel"]) if known["boot_id"] == boot_id and known["accel"] in ACCELS else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _boots(guest: Guest) -> bool:
    try:
        with QemuMachine(replace(guest, boot_timeout_s=TRIAL_S)) as machine:
            return machine.run(["true"], timeout_s=TRIAL_S).status == 0
    except RunFailed:
        return False
