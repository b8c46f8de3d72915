# SPDX-License-Identifier: MIT
"""An arm whose patches change no code, or nothing of the kernel, is the other arm under another name."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels import source as source_module
from lockscale.kernels.series import read_series
from lockscale.kernels.source import VARIABLE
from lockscale.prove import series_checks as differs_module
from lockscale.prove.series_checks import applies, differs, kernels_differ
from small_study import write_study

MOUNTED = {"name": "mounted", "role": "variant", "mount": ["noatime"]}
A_C = "int f(int a)\n{\n\treturn a;\n}\n"
PATCH = """\
From: a <a@x>
Subject: [PATCH] {subject}

---
diff --git a/fs/a.c b/fs/a.c
--- a/fs/a.c
+++ b/fs/a.c
@@ -1,4 +1,{lines} @@
 int f(int a)
 {{
{change} }}
"""
SAME, COMMENT, CODE = "", "+\t/* why */\n \treturn a;\n", "-\treturn a;\n+\treturn 2 * a;\n"


class Study:
    """Study s on a kernel of one C file; an arm is what it does to that file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "kernel-patches"
        tree = folder / "linux"
        (tree / "fs").mkdir(parents=True)
        (tree / "Kbuild").touch()
        (tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 99\n")
        (tree / "fs/a.c").write_text(A_C)
        self.tree = tree

    def arm(self, name: str, change: str, subject: str = "change a"):
        arm = self.folder / "s" / name
        arm.mkdir(parents=True)
        (arm / "series").write_text("0001-x.patch\n" if change else "")
        lines = 4 + change.count("+\t") - change.count("-\t")
        (arm / "0001-x.patch").write_text(PATCH.format(subject=subject, change=change, lines=lines))
        return read_series("s", name)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    made = Study(tmp_path)
    made.folder.mkdir()
    (made.folder / "base.toml").write_text((paths.KERNEL_PATCHES / "base.toml").read_text())
    (made.folder / "s").mkdir()
    monkeypatch.setattr(paths, "STUDIES", tmp_path / "studies")
    write_study()
    monkeypatch.setattr(paths, "KERNEL_PATCHES", made.folder)
    monkeypatch.setattr(paths, "BUILD_CACHE", tmp_path / "build")
    monkeypatch.setattr(source_module, "UNPACKED_MIB", 1)
    monkeypatch.setenv(VARIABLE, str(made.tree))
    return made


def test_a_patch_of_a_comment_is_the_base_under_another_name(study: Study):
    upstream, ours = study.arm("upstream", SAME), study.arm("ours", COMMENT)
    assert ours.sha256 != upstream.sha256
    for one, other in ((ours, upstream), (upstream, ours)):
        found = differs(one)
        assert not found.ok and found.detail.endswith(f"mkfs, mount options and knobs as {other.name}")


def test_a_patch_of_code_beside_a_comment_is_an_arm(study: Study):
    study.arm("upstream", SAME)
    study.arm("comment", COMMENT)
    found = differs(study.arm("ours", COMMENT.replace(" \treturn a;\n", CODE)))
    assert found.ok and "patched sources compared, not kernels" in found.detail


def test_another_message_over_the_same_change_makes_no_arm(study: Study):
    one, twin = study.arm("one", CODE), study.arm("twin", CODE, subject="say it otherwise")
    assert one.sha256 != twin.sha256 and not differs(one).ok and not differs(twin).ok


def test_the_same_code_with_another_mount_is_an_arm(study: Study):
    write_study(MOUNTED)
    one, mounted = study.arm("one", CODE), study.arm("mounted", CODE)
    assert differs(one).ok and differs(mounted).ok


def test_arms_that_do_not_apply_or_cannot_be_read_are_no_twins(study: Study):
    ours = study.arm("ours", CODE)
    study.arm("rotten", CODE.replace("-\treturn a;", "-\treturn b;"))
    study.arm("unreadable", CODE)
    (study.folder / "s/unreadable/series").write_bytes(b"\xff")
    assert differs(ours).ok


@pytest.fixture
def built(study: Study, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Arm -> the code of its kernel, of those that were built."""
    found: dict[str, str] = {}

    def kernel(series):
        return SimpleNamespace(code_sha256=found[series.arm]) if series.arm in found else None

    monkeypatch.setattr(differs_module, "build", kernel)
    monkeypatch.setattr(differs_module, "built_before", kernel)
    return found


def test_a_change_that_no_kernel_has_is_found_by_the_kernels(study: Study, built: dict[str, str]):
    """The sources differ; the configuration or the compiler drops the difference."""
    ours, _, _ = (study.arm(arm, change) for arm, change in (("ours", CODE), ("base", SAME), ("other", SAME)))
    built.update(ours="code 1", base="code 1", other="code 2")
    assert differs(ours).ok
    found = kernels_differ(ours)
    assert not found.ok and found.detail == "same kernel but for its name, mkfs, mount and knobs as s/base"


def test_kernels_that_differ_are_said_to_be_compared(study: Study, built: dict[str, str]):
    ours, _, _ = (study.arm(arm, change) for arm, change in (("ours", CODE), ("base", SAME), ("later", SAME)))
    built.update(ours="code 1", base="code 2")
    found = kernels_differ(ours)
    assert found.ok and found.detail.endswith("mkfs, mount and knobs (s/later: not built, sources compared)")
    built["later"] = "code 2"
    assert kernels_differ(ours).detail == "no other arm has this kernel, mkfs, mount and knobs"


def test_an_arm_that_changes_the_line_below_the_hook_of_the_observe_patch_does_not_apply(study: Study):
    """Its events could not be counted."""
    observe = study.folder / "observe"
    observe.mkdir()
    (observe / "series").write_text("0001-x.patch\n")
    (observe / "0001-x.patch").write_text(PATCH.format(subject="trace f()", change=COMMENT, lines=5))
    assert applies(study.arm("before", SAME)).ok
    with pytest.raises(BadInput, match="does not apply"):
        applies(study.arm("after", CODE))


def test_a_study_that_counts_an_event_that_its_kernel_lacks_is_told_before_a_kernel_is_built(study: Study):
    header = study.tree / "include/trace/events/ext4.h"
    header.parent.mkdir(parents=True)
    header.write_text("TRACE_EVENT(ext4_allocate_inode,\n")
    (study.folder / "observe").mkdir()
    (study.folder / "observe/series").touch()
    counter = {"name": "retries", "unit": "per create", "expect": ["patched = 0"]}
    counted = {"count": ["trace:ext4_inode_bit_rety"], "per": ["trace:ext4_allocate_inode"]}
    write_study(counters=[counter | counted], check={"processes": 2, "items_per_process": 10, "cpus": 1})
    arm = study.arm("patched", CODE)
    with pytest.raises(BadInput, match=r"has no trace event ext4_inode_bit_rety: correct the name"):
        applies(arm)
    header.write_text("TRACE_EVENT(ext4_allocate_inode,\nTRACE_EVENT(ext4_inode_bit_rety,\n")
    assert applies(arm).ok


@pytest.mark.parametrize(("name", "is_there"), [("f", True), ("ff", False), ("twice", True), ("g", True)])
def test_a_function_that_no_source_has_is_told_before_a_kernel_is_built(
    study: Study, name: str, is_there: bool
):
    """One of the base, none, one that another arm of the study adds, and one far from the file systems."""
    (study.tree / "drivers").mkdir()
    (study.tree / "drivers/g.c").write_text("int g(void)\n{\n\treturn 1;\n}\n")
    (study.folder / "observe").mkdir()
    (study.folder / "observe/series").touch()
    counter = {"name": "calls", "unit": "calls", "expect": ["patched = 0"]}
    counter |= {"count": [f"calls:{name}"], "per": ["trace:ext4_allocate_inode"]}
    header = study.tree / "include/trace/events/ext4.h"
    header.parent.mkdir(parents=True)
    header.write_text("TRACE_EVENT(ext4_allocate_inode,\n")
    write_study(counters=[counter], check={"processes": 2, "items_per_process": 10, "cpus": 1})
    study.arm("unpatched", SAME)
    arm = study.arm("patched", CODE.replace("2 * a", "twice(a)"))
    if is_there:
        assert applies(arm).ok
    else:
        with pytest.raises(BadInput, match="the kernel source has no function ff, whose calls s counts"):
            applies(arm)
