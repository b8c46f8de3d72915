# SPDX-License-Identifier: MIT
"""Each file system is made, described and checked by its own tools; blkid says what was really made."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.filesystems import FS_TYPES, FsType, fs_type
from lockscale.study.file import list_studies, load_study

IMAGE_MIB = 1024  # eight allocation groups of XFS, and the studies' journals of ext4
OPTIONS = {
    "btrfs": (["-m", "single", "-O", "^no-holes"], {"node_bytes": 16384, "sector_bytes": 4096}),
    "ext4": (["-g", "4096"], {"block_groups": 64, "inodes_per_group": 1024, "journal_size": "32M"}),
    "xfs": (
        ["-d", "agcount=8", "-l", "size=64m", "-m", "reflink=0"],
        {
            "allocation_groups": 8,
            "allocation_group_bytes": 128 << 20,
            "inode_bytes": 512,
            "log_bytes": 64 << 20,
        },
    ),
}
FEATURES = {
    "btrfs": ("extended_iref", "no_holes"),
    "ext4": ("has_journal", "quota"),
    "xfs": ("crc", "reflink"),
}


def run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def fault(fs: FsType, image: str) -> str:
    """What its check has to mend, but for what xfs_repair says of an image that is no disk."""
    done = run(fs.check(image))
    of_images = ("Cannot get host", "Repair may fail", "the image and the host")
    lines = f"{done.stdout}\n{done.stderr}".splitlines()
    return fs.fault(done.returncode, "\n".join(line for line in lines if not line.startswith(of_images)))


@pytest.fixture(params=[name for name, one in sorted(FS_TYPES.items()) if one.on_disk])
def fs(request: pytest.FixtureRequest) -> FsType:
    return fs_type(request.param)


@pytest.fixture
def image(tmp_path: Path) -> str:
    path = tmp_path / "image"
    path.touch()
    with path.open("r+b") as stream:
        stream.truncate(IMAGE_MIB << 20)
    return str(path)


def test_what_it_makes_is_what_the_system_finds_there_with_our_label(fs: FsType, image: str):
    assert run(fs.mkfs([], "lockscale", image, "")).returncode == 0
    found = dict(
        line.split("=", 1) for line in run(["blkid", "-p", "-o", "export", image]).stdout.splitlines()
    )
    assert (found["TYPE"], found["LABEL"]) == (fs.name, "lockscale")


def test_one_that_is_whole_passes_its_check_and_one_that_is_not_fails_it(fs: FsType, image: str):
    run(fs.mkfs([], "lockscale", image, ""))
    assert run(fs.check(image)).returncode == 0 and fault(fs, image) == ""
    with Path(image).open("r+b") as stream:  # over the first inodes and their bitmaps, behind the superblock
        stream.seek(1 << 16)
        stream.write(bytes(8 << 20))
    assert run(fs.check(image)).returncode != 0
    assert fault(fs, image) and not fault(fs, image).startswith(("Pass", "Phase", "[", "it ended"))


@pytest.mark.parametrize(
    ("damage", "status", "said"),
    [
        ("ssv free_blocks_count 77", 0, r"Free blocks count wrong \(77, counted=\d+\)\."),
        ("ssv free_inodes_count 5", 0, r"Free inodes count wrong \(5, counted=\d+\)\."),
        ("sif /lost+found links_count 77", 4, r"Inode 11 ref count is 77, should be 2\.  Fix\? no"),
    ],
)
def test_what_e2fsck_has_to_mend_is_told_whatever_status_it_ends_with(
    image: str, damage: str, status: int, said: str
):
    """A kernel that loses count of free blocks writes a wrong number at unmount."""
    ext4 = fs_type("ext4")
    run(ext4.mkfs(["-b", "4096"], "lockscale", image, ""))
    run(["debugfs", "-w", "-R", damage, image])
    assert run(ext4.check(image)).returncode == status
    assert re.fullmatch(said, fault(ext4, image))


def test_a_count_that_xfs_has_wrong_is_told_by_what_is_wrong(image: str):
    xfs = fs_type("xfs")
    run(xfs.mkfs([], "lockscale", image, ""))
    run(["xfs_db", "-x", "-c", "sb 0", "-c", "write -d icount 9999", image])
    assert "sb_icount 9999, counted 64" in fault(xfs, image)


def test_a_check_that_fails_without_a_word_is_told_by_its_status():
    assert fs_type("ext4").fault(8, "\ne2fsck 1.47.0 (5-Feb-2023)\n") == "it ended with status 8"


@pytest.mark.parametrize("study", list_studies())
def test_what_a_study_asserts_is_what_its_own_mkfs_line_gives(study: str, image: str):
    said = load_study(study)
    os.truncate(image, 4 << 30)  # a log of XFS lies in one of its allocation groups
    for arm in said.arm_names:
        options = said.options_of(arm)
        fs = fs_type(options.filesystem)
        assert run(fs.mkfs(options.mkfs, "lockscale", image, "")).returncode == 0
        made = fs.read(run(fs.describe(image)).stdout)
        for wanted in options.mkfs_asserts:
            assert (wanted.lstrip("^") in made.features) is not wanted.startswith("^")


@pytest.mark.slow
def test_a_size_leaves_the_rest_of_the_disk_alone(fs: FsType, image: str):
    assert run(fs.mkfs([], "lockscale", image, "500M")).returncode == 0
    with Path(image).open("rb") as stream:
        stream.seek(500 << 20)
        assert not any(stream.read())


@pytest.mark.parametrize("option", ["/dev/sda", "size=1,device=/dev/sda", "-L/dev/sda"])
def test_an_option_that_reaches_beyond_the_disk_is_refused(fs: FsType, option: str):
    with pytest.raises(BadInput, match="beyond the disk"):
        fs.refuse_options([option], "")


@pytest.mark.parametrize("option", ["-Lother", "-L", "--", "-", "-c", "-Z", "--other=x"])
def test_an_option_that_its_mkfs_is_not_given_is_said_to_be_none_of_its(fs: FsType, option: str):
    with pytest.raises(BadInput, match=rf"none of those that lockscale gives mkfs\.{fs.name}: leave it out"):
        fs.refuse_options([option], "")


@pytest.mark.parametrize("option", ["/dev/sda", "4 G", "-"])
def test_a_size_that_is_none_is_refused(fs: FsType, option: str):
    with pytest.raises(BadInput, match="not a file system size"):
        fs.refuse_options([], shlex.quote(option))


FLAG = {"btrfs": "-M", "ext4": "-D", "xfs": "-K"}
VALUE = {"btrfs": "-m", "ext4": "-E", "xfs": "-d"}


@pytest.mark.parametrize("form", ["{f}", "{flag} {f}", "{value} single {f}", "{value} {value} {f}"])
def test_a_word_that_is_no_options_value_is_a_device_and_is_refused(fs: FsType, form: str):
    """mkfs.btrfs formats any file named so, beside the disk."""
    said = form.format(f="swap.img", flag=FLAG[fs.name], value=VALUE[fs.name]).split()
    with pytest.raises(BadInput, match=r"option 'swap\.img' reaches beyond the disk"):
        fs.refuse_options(said, "")
    fs.refuse_options([FLAG[fs.name], VALUE[fs.name], "single", f"{VALUE[fs.name]}single"], "")


def test_a_file_system_that_begins_elsewhere_on_the_disk_is_refused():
    with pytest.raises(BadInput, match="reaches beyond the disk"):
        fs_type("ext4").refuse_options(["-E", "lazy_itable_init=0,offset=1048576"], "")


def test_an_option_without_its_value_would_take_the_disk_for_it(fs: FsType):
    with pytest.raises(BadInput, match=f"the mkfs option '{VALUE[fs.name]}' lacks its value: write it"):
        fs.refuse_options([VALUE[fs.name]], "")


def test_the_tools_that_decide_a_result_say_their_version(fs: FsType):
    for argv in fs.versions:
        said = run(list(argv))
        assert any(char.isdigit() for char in (said.stdout or said.stderr).partition("\n")[0])


def test_what_its_options_make_is_what_is_read_of_it(fs: FsType, image: str):
    options, facts = OPTIONS[fs.name]
    assert run(fs.mkfs(options, "lockscale", image, "")).returncode == 0
    made = fs.read(run(fs.describe(image)).stdout)
    assert made.facts == facts
    on, off = FEATURES[fs.name]
    assert on in made.features and off not in made.features


def test_one_in_memory_has_nothing_to_format():
    tmpfs = fs_type("tmpfs")
    with pytest.raises(BadInput, match="nothing to format"):
        tmpfs.mkfs([], "lockscale", "/dev/vda", "")
    with pytest.raises(BadInput, match="leave mkfs empty"):
        tmpfs.refuse_options(["-b"], "")


def test_a_file_system_that_there_is_not_is_one_sentence():
    with pytest.raises(BadInput, match="there is no file system 'ext5': use one of btrfs, ext4, tmpfs, xfs"):
        fs_type("ext5")


@pytest.mark.parametrize("option", ["-J device=LABEL=x", "-Jdevice=LABEL=x", "-Jsize=4,device=UUID=x"])
def test_ext4_has_its_journal_nowhere_else(option: str):
    with pytest.raises(BadInput, match="beyond the disk"):
        fs_type("ext4").refuse_options(option.split(), "")


@pytest.mark.parametrize(
    "option",
    [
        "-d name=image",
        "-d agcount=4,file",
        "-l logdev=sdb",
        "-r size=1m,rtdev=sdb",
        "-llogdev=sda",
        "-dname=a",
    ],
)
def test_xfs_puts_nothing_elsewhere(option: str):
    with pytest.raises(BadInput, match="beyond the disk"):
        fs_type("xfs").refuse_options(option.split(), "")


@pytest.mark.parametrize("option", ["-p", "-N"])
def test_xfs_copies_no_prototype_and_only_pretends_nothing(option: str):
    with pytest.raises(BadInput, match=r"none of those that lockscale gives mkfs\.xfs"):
        fs_type("xfs").refuse_options([option], "")


@pytest.mark.parametrize("before", OPTIONS)
def test_made_over_another_one_every_signature_that_is_left_is_ours(fs: FsType, before: str, image: str):
    """Else the disk guard would refuse the disk of a run after one of another file system."""
    for one in (fs_type(before), fs):
        assert run(one.mkfs([], "lockscale", image, "")).returncode == 0
    left = json.loads(run(["wipefs", "--json", image]).stdout)["signatures"]
    assert {(one["type"], one["label"]) for one in left} <= {(name, "lockscale") for name in FS_TYPES}
    assert fs.name in {one["type"] for one in left}
