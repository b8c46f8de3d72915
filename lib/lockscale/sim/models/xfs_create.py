# SPDX-License-Identifier: MIT
"""xfs_create() in directories of their own: each takes an inode of its directory's allocation group.

xfs_dialloc() locks the buffer of the group's inode header (AGI, fs/xfs/libxfs/xfs_ialloc.c, 6.12), and the
transaction holds it until xfs_trans_commit() is done.
"""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model

VIRTUAL = "calibrated: four groups in virtual time (notebooks/studies/xfs-create-four-groups.csv), "
ELSEWHERE = Note("mean of what a create does without the AGI", VIRTUAL + "1 process, less the rest")
HELD = Note("from xfs_ialloc_read_agi() to the commit", "assumed: three quarters of a create")
LOG = Note("what commits of all groups write: xc_ctx_lock, order_id, the grant heads", "assumed: one lock")
WAKE = Note("up() until the next holder runs", VIRTUAL + "32 processes, less the hold")
GROUPS = Note("allocation groups, mkfs.xfs -d agcount", "4: what mkfs.xfs gives a disk below 4 TiB")


@model(
    unit="creates/s",
    calibration="calibrated: 2 free parameters (elsewhere_us, wake_us) from two rates of four groups in "
    "notebooks/studies/xfs-create-four-groups.csv",
)
def xfs_create(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, ELSEWHERE] = 2.8,
    held_us: Annotated[float, HELD] = 10.0,
    log_ns: Annotated[float, LOG] = 300.0,
    wake_us: Annotated[float, WAKE] = 11.6,
    allocation_groups: Annotated[int, GROUPS] = 4,
) -> None:
    """One allocation group for each directory, in turn, and one log for all.

    Not modelled: waiters of a group that run on another's CPU, the log's checkpoints, chunks of new inodes.
    """
    agi = m.sleeping_lock("AGI", hold=us(held_us), wake=us(wake_us), barging=False, shards=allocation_groups)
    log = m.queued_lock("log", hold=ns(log_ns))
    group = m.place("allocation group", shards=allocation_groups)  # S_ISDIR: m_agirotor, one after the other

    create = m.path("create")
    create.spend(exponential(us(elsewhere_us)), "the rest of xfs_create")
    create.lock(agi, group)  # xfs_ialloc_read_agi()
    create.lock(log)  # xlog_cil_commit()
    create.unlock(log)
    create.unlock(agi, group)  # xfs_buf_item_release(), at the end of the commit
