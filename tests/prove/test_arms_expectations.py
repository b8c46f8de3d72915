# SPDX-License-Identifier: MIT
"""A misspelt expectation or event is refused before a kernel is built for it."""

from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.filesystems.ext4 import EXT4
from lockscale.kernels.arms import arms_file
from lockscale.kernels.series import Series
from lockscale.prove.series_checks import events_of

TEXT = """
[load]
testcase = "create_unlink"
filesystem = "ext4"
processes = 8
items_per_process = 9
cpus = 4

[arm.before]
[arm.upstream]

[[counter]]
name = "retries"
count = ["trace:x"]
per = ["trace:y"]
unit = "per create"
expect = ["before > upstream"]
not_shown = { "before > upstream" = "too few processors" }
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "KERNEL_PATCHES", tmp_path)
    for arm in ("before", "upstream"):
        (tmp_path / "s" / arm).mkdir(parents=True)
        (tmp_path / "s" / arm / "series").touch()
    (tmp_path / "s/arms.toml").write_text(TEXT)
    return tmp_path / "s/arms.toml"


def test_a_counter_knows_which_arms_it_compares(file: Path):
    (counter,) = arms_file("s").counter
    assert counter.arms == {"before", "upstream"} and counter.sources == ["trace:x", "trace:y"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('["before > upstream"]', '["before > upstraem"]', "before > upstraem is not `arm > arm`"),
        ('["before > upstream"]', '["before < upstream"]', "says nothing"),
        ('{ "before > upstream"', '{ "before >= upstream"', "not_shown 'before >= upstream' is none of its"),
        ('{ "before > upstream"', '{ "before > upstraem"', r"its relations \(before > upstream\)"),
    ],
)
def test_a_misspelt_relation_is_refused_when_the_file_is_read(file: Path, old: str, new: str, says: str):
    file.write_text(TEXT.replace(old, new))
    with pytest.raises(BadInput, match=rf"arms\.toml: counter 'retries': .*{says}"):
        arms_file("s")


EVENTS = """\
TRACE_EVENT(ext4_allocate_inode,
  TP_PROTO(struct inode *inode),
DECLARE_EVENT_CLASS(ext4__bitmap_load,
DEFINE_EVENT(ext4__bitmap_load, ext4_mb_bitmap_load,
"""
PATCH = f"""\
From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001
From: A Developer <a.developer@example.org>
Date: Thu, 1 Jan 1970 00:00:00 +0000
Subject: [PATCH] ext4: trace retries of an inode bit

Count them.

Signed-off-by: A Developer <a.developer@example.org>
---
 {EXT4.trace_header} | 1 +
 1 file changed, 1 insertion(+)

diff --git a/{EXT4.trace_header} b/{EXT4.trace_header}
--- a/{EXT4.trace_header}
+++ b/{EXT4.trace_header}
@@ -2,3 +2,4 @@
   TP_PROTO(struct inode *inode),
 DECLARE_EVENT_CLASS(ext4__bitmap_load,
 DEFINE_EVENT(ext4__bitmap_load, ext4_mb_bitmap_load,
+DEFINE_EVENT(ext4__bitmap_load, ext4_inode_bit_retry,
"""


def test_the_events_of_a_kernel_are_the_tree_s_and_its_patches(tmp_path: Path):
    header, patch = tmp_path / EXT4.trace_header, tmp_path / "1.patch"
    header.parent.mkdir(parents=True)
    header.write_text(EVENTS)
    patch.write_text(PATCH)
    of_tree = {"ext4_allocate_inode", "ext4_mb_bitmap_load"}
    assert events_of(Series("s", "base", tmp_path, ()), tmp_path, EXT4) == of_tree
    patched = events_of(Series("s", "observe", tmp_path, (patch,)), tmp_path, EXT4)
    assert patched == of_tree | {"ext4_inode_bit_retry"}
