# SPDX-License-Identifier: MIT
"""Power cuts in booted guests: the arms keep what was fsynced, a kernel that drops a flush does not."""

from pathlib import Path

import pytest

from lockscale import paths
from lockscale.kernels.build import Kernel, build
from lockscale.kernels.series import Series, chosen_series, safe_of
from lockscale.progress import progress
from lockscale.prove.powercut.campaign import CutOutcome, PowerCuts, cut_arms
from lockscale.prove.powercut.load import Plan
from lockscale.study.file import load_study, load_target

pytestmark = [pytest.mark.guest, pytest.mark.alone]  # a load of seconds, which have to suffice
BROKEN = Path(__file__).parent / "broken" / "drop-flush"


def cut_base(kernel: Kernel, plan: Plan, folder: Path) -> CutOutcome:
    """Cut `kernel` with what inode-claim/search-locked is besides its kernel."""
    options = load_study("inode-claim").options_of("search-locked")
    cuts = PowerCuts("inode-claim/search-locked", kernel, options, load_target("qemu"), plan, folder)
    with progress("power cuts", plan.cuts) as shown:
        return cuts.run(shown)


def test_the_base_keeps_what_was_fsynced(kernels: dict[str, Kernel], tmp_path: Path) -> None:
    found = cut_base(kernels["search-locked"], Plan(cuts=4, load_s=5), tmp_path)
    assert found.faults == () and found.replayed == 4 and found.orphans > 0
    assert found.flushes > 50 and found.promised_files > 50
    assert list(tmp_path.iterdir()) == [], "a clean cut leaves no image"


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """The base without one flush, in a cache of its own: no command lists it, no other test boots it."""
    monkeypatch.setattr(paths, "KERNEL_CACHE", paths.CACHE / "broken-kernels")
    return build(Series("broken", "drop-flush", BROKEN, tuple(BROKEN.glob("*.patch")), "for tests only"))


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 4])
def test_a_kernel_that_drops_one_flush_is_caught(broken: Kernel, tmp_path: Path, processes: int) -> None:
    """Replay and e2fsck stay clean on it; only what was fsynced tells, and only if the cache is lost."""
    found = cut_base(broken, Plan(cuts=8, processes=processes), tmp_path)
    lost = [fault for fault in found.faults if "was fsynced" in fault]
    assert lost and list(found.faults) == lost
    assert all("nothing of the cache kept" in fault or "some of the cache kept" in fault for fault in lost)
    assert list(tmp_path.glob("*-cut-*.img")), "what a cut with faults left is kept to be looked at"


@pytest.mark.long
@pytest.mark.parametrize("name", [series.name for series in safe_of(chosen_series(None))])
def test_every_safe_arm_keeps_what_was_fsynced(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "RUNS", tmp_path)
    cuts = 50 if name == "group-trylock/goal-spread" else 20
    (found,) = cut_arms(safe_of(chosen_series(name)), Plan(cuts))
    assert found.faults == () and found.cuts == cuts
