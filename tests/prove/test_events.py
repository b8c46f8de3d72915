# SPDX-License-Identifier: MIT
"""Which trace events a kernel has is read from its source, before it is built."""

from pathlib import Path

from lockscale.filesystems import fs_type
from lockscale.kernels.series import Series
from lockscale.prove.series_checks import events_of

EXT4 = fs_type("ext4")
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
