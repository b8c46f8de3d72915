# SPDX-License-Identifier: MIT
"""kernel-patches/<study>/arms.toml: what an arm is besides its patches."""

from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.arms import Options, arms_file, relations
from lockscale.kernels.series import all_series, read_series
from lockscale.tools.fsload import PHASES

STUDIES = sorted(path.parent.name for path in paths.KERNEL_PATCHES.glob("*/arms.toml"))
LOAD = """[load]
testcase = "create_unlink"
filesystem = "ext4"
processes = 8
items_per_process = 9
cpus = 4
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "KERNEL_PATCHES", tmp_path)
    (tmp_path / "s/arm").mkdir(parents=True)
    (tmp_path / "s/arm/series").write_text("")
    return tmp_path / "s/arms.toml"


@pytest.mark.parametrize("study", STUDIES)
def test_every_arm_with_a_series_is_compared_by_some_counter(study: str):
    found = arms_file(study)
    said = [one for counter in found.counter for text in counter.expect for one in relations(text, found.arm)]
    compared = {name for one in said for name in (one.left, one.right)} - {"0"}
    assert compared == {series.arm for series in all_series() if series.study == study}


@pytest.mark.parametrize("study", STUDIES)
def test_the_orphan_file_is_always_said_and_asserted(study: str):
    found = arms_file(study)
    for arm in found.arm:
        whole = found.checked_with(arm)
        (features,) = [whole.mkfs[n + 1] for n, word in enumerate(whole.mkfs) if word == "-O"]
        (asserted,) = [one for one in whole.mkfs_asserts if one.endswith("orphan_file")]
        assert asserted in features.split(",")


def test_arms_may_share_a_kernel_and_differ_by_mkfs():
    found = arms_file("orphan-file")
    lines = {arm: found.checked_with(arm).line for arm in ("orphan-mutex", "orphan-lockless")}
    assert len(set(lines.values())) == 2


def test_block_groups_are_many_enough_for_a_trylock_to_skip():
    """S3 needs 128 groups or more: with fewer, every search comes to its waiting pass."""
    mkfs = arms_file("group-trylock").load.mkfs
    blocks_per_group = int(mkfs[mkfs.index("-g") + 1])
    assert 3072 * 256 / blocks_per_group >= 128


def test_an_arms_own_options_come_behind_the_common_ones():
    common = Options(filesystem="ext4", mkfs=["-b", "4096"], mount=["noatime"], knobs={"a": 1})
    own = Options(mkfs=["-O", "orphan_file"], mount=["nobarrier"], knobs={"a": 2, "b": 3})
    both = own.added_to(common)
    assert both.mkfs == ["-b", "4096", "-O", "orphan_file"] and both.mount == ["noatime", "nobarrier"]
    assert both.line == "mkfs.ext4 -b 4096 -O orphan_file; mount -o noatime,nobarrier; a=2; b=3"


def test_of_a_mount_option_given_twice_the_own_one_holds():
    both = Options(mount=["scan=1"]).added_to(Options(mount=["noatime", "scan=0"]))
    assert both.mount == ["noatime", "scan=1"]


def test_an_arm_may_be_the_kernel_of_another_one_mounted_differently(file: Path):
    (file.parent / "arm/0001.patch").write_text("")
    (file.parent / "arm/series").write_text("# unsafe: it forgets\n0001.patch\n")
    file.write_text(LOAD + '[arm.arm]\n[arm.other]\nseries = "arm"\nmount = ["scan=1"]\n')
    own, shared = read_series("s", "arm"), read_series("s", "other")
    assert shared.name == "s/other" and shared.unsafe == own.unsafe == "it forgets"
    assert shared.patches == own.patches and shared.sha256 == own.sha256
    assert [series.arm for series in all_series()] == ["arm"]  # nothing is checked twice
    with pytest.raises(BadInput, match="no series s/third"):
        read_series("s", "third")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LOAD + '[arm.other]\nseries = "ghost"\n', r"\[arm.other\] has no ghost/series beside it"),
        ("[load", r"is not TOML \("),
        (LOAD + "[arm.ghost]\n", r"\[arm.ghost\] has no ghost/series beside it"),
        (LOAD + "[arm.arm]\nmkfs = '-b'\n", "arm.arm.mkfs: Input should be a valid list"),
        (LOAD + "[arm.arm]\nmkfz = []\n", "arm.arm.mkfz: Extra inputs are not permitted"),
        (LOAD.replace("8", "0"), "load.processes: Input should be greater than 0"),
        (LOAD.replace("create_unlink", "creat"), "load.testcase: fsload has no test 'creat': use one of app"),
        (
            LOAD + '[[counter]]\nname = "x"\ncount = ["rate:x"]\nper = ["trace:y"]\nunit = "1"\n'
            'expect = ["arm = 0"]\n',
            "counter.0.count.0: write trace:, calls:, acquisitions: or contentions: before",
        ),
        (
            LOAD + '[[counter]]\nname = "x"\ncount = ["trace:x"]\nper = ["trace:y"]\nunit = "1"\n'
            'expect = ["arm = 0"]\nvariants = ["scan2"]\n',
            "counter 'x' names variant 'scan2', which load lacks",
        ),
    ],
)
def test_what_it_does_not_know_is_refused_in_a_sentence(file: Path, text: str, says: str):
    file.write_text(text)
    with pytest.raises(BadInput, match=rf"arms.toml: .*{says}|arms.toml {says}"):
        arms_file("s")


@pytest.mark.parametrize("test", PHASES)
def test_an_arm_can_be_loaded_with_every_test_of_fsload(file: Path, test: str):
    file.write_text(LOAD.replace("create_unlink", test))
    assert arms_file("s").load.testcase == test


def test_a_file_that_is_no_utf_8_is_refused(file: Path):
    file.write_bytes(b"# gr\xfc\n" + LOAD.encode())
    with pytest.raises(BadInput, match=r"arms\.toml is not UTF-8 text \(byte 4\): save it as UTF-8$"):
        arms_file("s")


def test_a_study_without_the_file_says_what_to_do(file: Path):
    with pytest.raises(BadInput, match=r"arms\.toml is not there: say in it what each arm of s is"):
        arms_file("s")
