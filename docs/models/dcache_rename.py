# SPDX-License-Identifier: MIT
"""Path walks take a reference to a directory's dentry, while renames hold its d_lock and sleep in between."""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model


@model(unit="walks/s")
def dcache_rename(
    m: Builder,
    *,
    walk_us: Annotated[float, Note("time from one walk to the next", "assumed")] = 1.5,
    rename_us: Annotated[float, Note("time from one rename to the next", "assumed")] = 10.0,
    disk_us: Annotated[float, Note("sleep of a rename under s_vfs_rename_mutex", "assumed")] = 0.0,
    move_ns: Annotated[float, Note("hold of rename_lock and d_lock by d_move()", "assumed")] = 1000.0,
    renames_pct: Annotated[float, Note("of all threads, those that rename", "assumed")] = 25.0,
) -> None:
    """A walk takes and puts a reference; while a rename holds the dentry it queues for d_lock."""
    m.machine(sockets=2)
    dentry = m.lockref("dentry", hold=ns(20), own=ns(8), socket=ns(60), remote=ns(150))
    rename_lock = m.queued_lock("rename_lock", hold=ns(20), remote=ns(100))
    moving = m.mutex("s_vfs_rename_mutex", hold=ns(50), wake=us(3), spin=us(100), owner_runs=True)

    walk = m.path("lockref_get", share=1 - renames_pct / 100)
    walk.spend(exponential(us(walk_us)), "the rest of the walk")
    walk.get_ref(dentry)
    walk.atomic(dentry.line)  # lockref_put_return()

    rename = m.path("d_move", share=renames_pct / 100, counted=False)
    rename.spend(exponential(us(rename_us)), "the rest of the rename")
    rename.lock(moving)
    rename.sleep(exponential(us(disk_us)), "the file system's own rename")
    rename.lock(rename_lock)
    rename.lock(dentry.lock)
    rename.spend(exponential(ns(move_ns)), "__d_move")
    rename.unlock(dentry.lock)
    rename.unlock(rename_lock)
    rename.unlock(moving)
