# SPDX-License-Identifier: MIT
"""What a study's file says of its arms besides their patches, and of what must differ between them."""

import re
import subprocess
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.filesystems import Options
from lockscale.kernels.series import all_series
from lockscale.programs import need
from lockscale.study.checks import relations
from lockscale.study.file import Study, list_studies, load_study, named_series
from lockscale.tools.fsload import PHASES
from small_study import study_of, write_study

STUDIES = list_studies()
COUNTER = {
    "name": "retries",
    "count": ["trace:x"],
    "per": ["trace:y"],
    "unit": "per create",
    "expect": ["unpatched > patched"],
    "not_shown": {"unpatched > patched": "too few processors"},
}


@pytest.fixture
def series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of the test's own for studies and their patches; that of series s/patched."""
    monkeypatch.setattr(paths, "STUDIES", tmp_path / "studies")
    monkeypatch.setattr(paths, "KERNEL_PATCHES", tmp_path / "patches")
    folder = tmp_path / "patches/s/patched"
    folder.mkdir(parents=True)
    (folder / "0001.patch").write_text("")
    (folder / "series").write_text("# unsafe: it forgets\n0001.patch\n")
    return folder


@pytest.mark.parametrize("name", STUDIES)
def test_every_arm_with_a_series_is_compared_by_some_counter(name: str):
    study = load_study(name)
    chains = [chain for counter in study.counters for chain in counter.expect]
    links = [one for chain in chains for one in relations(chain, study.checked_arms)]
    compared = {arm for one in links for arm in (one.left, one.right)} - {"0"}
    assert compared == {series.arm for series in all_series() if series.study == name}


@pytest.mark.parametrize("name", [one for one in STUDIES if load_study(one).filesystem == "ext4"])
def test_the_orphan_file_is_always_said_and_asserted(name: str):
    study = load_study(name)
    for arm in study.checked_arms:
        whole = study.options_of(arm)
        (features,) = [whole.mkfs[n + 1] for n, word in enumerate(whole.mkfs) if word == "-O"]
        (asserted,) = [one for one in whole.mkfs_asserts if one.endswith("orphan_file")]
        assert asserted in features.split(",")


@pytest.mark.parametrize(
    ("made", "asserted"), [("orphan_file", "^orphan_file"), ("^orphan_file", "orphan_file")]
)
def test_a_feature_that_the_mkfs_of_an_arm_turns_round_is_refused(made: str, asserted: str):
    """Else a run would find it out by dumpe2fs, once its kernels are built."""
    arm = {"name": "ours", "role": "variant", "mkfs": ["-O", f"quota,{made}"], "mkfs_asserts": [asserted]}
    with pytest.raises(ValueError, match=rf"mkfs makes {re.escape(made)}, but mkfs_asserts has "):
        study_of(arm)
    assert study_of(arm | {"mkfs_asserts": [made]}).options_of("ours").mkfs_asserts == [made]


def test_arms_may_share_a_kernel_and_differ_by_mkfs():
    study = load_study("orphan-file")
    assert len({study.options_of(arm).line for arm in ("orphan-mutex", "orphan-lockless")}) == 2


def test_block_groups_are_of_the_usual_size_and_many_enough_for_a_trylock_to_skip(tmp_path: Path):
    """S3 needs 128 groups or more, with fewer every search comes to its waiting pass: mke2fs counts them."""
    study, image = load_study("group-trylock"), tmp_path / "disk"
    with image.open("wb") as stream:
        stream.truncate((study.disk_mib or 0) << 20)
    command = [need("mkfs.ext4"), "-n", *study.mkfs, image]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    blocks, backup = re.search(r"with (\d+) 4k blocks", said), re.search(r"stored on blocks:\s+(\d+)", said)
    assert blocks and backup and int(backup[1]) == 32768  # the second group's first block
    assert int(blocks[1]) // 32768 >= 128


def test_an_arms_own_options_come_behind_the_common_ones():
    common = Options(filesystem="ext4", mkfs=["-b", "4096"], mount=["noatime"], knobs={"a": 1})
    own = Options(mkfs=["-O", "orphan_file"], mount=["nobarrier"], knobs={"a": 2, "b": 3})
    both = own.added_to(common)
    assert both.mkfs == ["-b", "4096", "-O", "orphan_file"] and both.mount == ["noatime", "nobarrier"]
    assert both.line == "mkfs.ext4 -b 4096 -O orphan_file; mount -o noatime,nobarrier; a=2; b=3"


def test_of_a_mount_option_given_twice_the_own_one_holds_and_a_variants_before_all():
    arm = {"name": "x", "role": "variant", "mount": ["scan=1"]}
    study = study_of(arm, mount=["noatime", "scan=0"], check={"variants": {"": [], "two": ["scan=2"]}})
    assert study.options_of("unpatched").mount == ["noatime", "scan=0"]
    assert study.options_of("x").mount == ["noatime", "scan=1"] == study.options_of("x", "").mount
    assert study.options_of("x", "two").mount == ["noatime", "scan=2"]


def test_an_arm_may_be_the_kernel_of_another_one_mounted_differently(series: Path):
    write_study({"name": "other", "role": "variant", "series": "patched", "mount": ["scan=1"]})
    own, shared = named_series("s/patched"), named_series("s/other")
    assert shared == load_study("s").series_of("other")
    assert shared.name == "s/other" and shared.unsafe == own.unsafe == "it forgets"
    assert shared.patches == own.patches and shared.sha256 == own.sha256
    assert [one.arm for one in all_series()] == ["patched"]  # nothing is checked twice
    with pytest.raises(BadInput, match="no series s/third"):
        named_series("s/third")


def test_an_arm_of_another_folder_that_is_not_there_is_one_sentence(series: Path):
    write_study({"name": "other", "role": "variant", "series": "ghost"})
    with pytest.raises(BadInput, match=r"no series s/ghost under .* \(known: s/patched\)"):
        named_series("s/other")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"arms": [{"name": "a", "role": "old"}]}, "arms.0.role: write 'unpatched', 'patched',"),
        ({"check": {"processes": 0}}, "check.processes: write a number above 0"),
        ({"check": {"variants": {}}}, "check.variants: "),
        ({"workload": "creat"}, "workload: fsload has no test 'creat': use one of app"),
        (
            {"counters": [COUNTER | {"count": ["rate:x"]}]},
            "counters.0.count.0: write trace:, calls:, acquisitions: or contentions: before",
        ),
        (
            {"counters": [COUNTER | {"variants": ["scan2"]}]},
            "counter 'retries' names variant 'scan2', which check lacks",
        ),
        (
            {"counters": [COUNTER | {"expect": ["unpatched > patchd"]}]},
            "counter 'retries': .*there is no arm 'patchd', only unpatched, patched",
        ),
        ({"counters": [COUNTER | {"expect": ["unpatched < patched"]}]}, "counter 'retries': .*is not a rel"),
        (
            {"counters": [COUNTER | {"not_shown": {"unpatched >= patched": "x"}}]},
            r"counter 'retries': not_shown 'unpatched >= patched' is not one of its relations \(unpatched >",
        ),
    ],
)
def test_what_it_does_not_know_is_refused_in_a_sentence(series: Path, changes: dict[str, object], says: str):
    write_study(**changes)
    with pytest.raises(BadInput, match=rf"^s\.yaml: {says}"):
        load_study("s")


def test_a_counter_knows_which_arms_it_compares():
    (counter,) = study_of(counters=[COUNTER | {"expect": ["unpatched > patched", "patched = 0"]}]).counters
    assert counter.arms == ["unpatched", "patched"] and counter.sources == ["trace:x", "trace:y"]


def test_counters_stay_those_of_the_study_when_a_run_takes_fewer_arms(series: Path):
    third = {"name": "third", "role": "variant"}
    write_study(third, counters=[COUNTER | {"expect": ["unpatched > third"], "not_shown": {}}])
    study = load_study("s", {"arms": ["unpatched", "patched"]})
    assert study.arm_names == ["unpatched", "patched"] and len(study.counters) == 1


@pytest.mark.parametrize("test", PHASES)
def test_an_arm_can_be_loaded_with_every_test_of_fsload(test: str):
    assert study_of(workload=test).workload == test


def test_a_study_that_still_has_an_arms_toml_is_told_where_its_words_go(series: Path):
    write_study()
    (series.parent / "arms.toml").touch()
    with pytest.raises(BadInput, match=r"arms\.toml is no longer read: move \[arm\.\*\] into arms, .*s\.y"):
        load_study("s")


def test_the_sides_are_known_by_their_roles():
    study: Study = load_study("group-trylock")
    assert (study.unpatched.name, study.patched.name) == ("wait-group", "trylock")
