# SPDX-License-Identifier: MIT
"""The proof of an arm, shortened: boot, load, unmount, e2fsck; and counters from an observe kernel."""

from collections import Counter
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.kernels.build import Kernel, build
from lockscale.kernels.series import all_series, read_series
from lockscale.measure.count_calls import OBSERVE
from lockscale.prove.campaign import Counted, campaign
from lockscale.prove.check import runs_its_load
from lockscale.study.file import Target, load_study, load_target

pytestmark = [pytest.mark.guest, pytest.mark.alone]
ARMS = ("steal-retry", "search-locked")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> list[Counted]:
    """Both arms' observe kernels, each booted and counted once."""
    folder = tmp_path_factory.mktemp("counts")
    return campaign(load_study("inode-claim"), ARMS, load_target("qemu"), 1, folder)


def total(counted: list[Counted], arm: str) -> Counter[str]:
    sums: Counter[str] = Counter()
    for one in counted:
        if one.arm == arm:
            sums[one.source] += one.value
    return sums


@pytest.mark.parametrize("arm", [pytest.param("search-locked", marks=pytest.mark.long), "steal-retry"])
def test_every_arm_of_the_shared_build_keeps_its_file_system_whole(kernels: dict[str, Kernel], arm: str):
    said = runs_its_load(read_series("inode-claim", arm), load_target("qemu"))
    assert kernels[arm].build_id in said and "e2fsck -f -n clean" in said


def test_the_trace_point_counts_every_create(counted: list[Counted]):
    load = load_study("inode-claim").check
    # a directory for each process and one around them are inodes too
    creates = load.processes * (load.items_per_process + 1) + 1
    for arm in ARMS:
        assert total(counted, arm)["trace:ext4_allocate_inode"] == creates


def test_a_retry_calls_get_write_access_once_more_than_the_base(counted: list[Counted]):
    """Two counters of different tools agree: each lost bit costs one more call, give or take a journal's."""
    retry, locked = (total(counted, arm) for arm in ARMS)
    more = retry["calls:jbd2_journal_get_write_access"] - locked["calls:jbd2_journal_get_write_access"]
    lost = retry["trace:ext4_inode_bit_retry"]
    creates = retry["trace:ext4_allocate_inode"]
    assert lost > 0 and abs(more - lost) < 0.02 * creates + 0.1 * lost


def test_counts_are_of_observe_kernels_alone(counted: list[Counted], kernels: dict[str, Kernel]):
    built = {build(read_series("inode-claim", arm), kind=OBSERVE).build_id for arm in ARMS}
    assert {one.build_id for one in counted} == built
    assert not built & {kernel.build_id for kernel in kernels.values()}
    assert {one.origin for one in counted} == {"qemu"}


def test_an_unsafe_arm_boots_on_a_disposable_target_only():
    (unsafe,) = [series for series in all_series() if series.unsafe]
    server: Target = load_target("qemu").model_copy(update={"disposable": False})
    with pytest.raises(BadInput, match="runs only on a target with `disposable: true`"):
        runs_its_load(unsafe, server)
    with pytest.raises(BadInput, match="runs only on a target with `disposable: true`"):
        campaign(load_study(unsafe.study), [unsafe.arm], server, 2, Path())
