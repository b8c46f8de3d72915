# SPDX-License-Identifier: MIT
"""xlog_cil_commit(): transactions enter XFS's log in memory, the CIL, until it is full and pushed."""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model


@model(unit="commits/s")
def xfs_cil(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, Note("time from one commit to the next", "assumed")] = 20.0,
    insert_ns: Annotated[float, Note("to format and insert a transaction's items", "assumed")] = 900.0,
    fold_ns: Annotated[float, Note("a fold; in the kernel an atomic_add_return()", "assumed")] = 150.0,
    batch_commits: Annotated[int, Note("commits of a CPU until its space is folded", "assumed")] = 32,
    push_commits: Annotated[int, Note("commits until the CIL is full", "assumed")] = 2000,
    switch_us: Annotated[float, Note("the CIL is changed for an empty one", "assumed")] = 40.0,
) -> None:
    """Commits hold xc_ctx_lock as readers; who fills the CIL changes it as the only writer.

    In the kernel that is a worker, for which the commit does not wait. What taking xc_ctx_lock as a reader
    costs where its line moves is not modelled.
    """
    m.machine(sockets=2)
    ctx = m.rwsem("xc_ctx_lock", hold=ns(20), wake=us(3), spin=us(20), wake_cost=us(1), owner_runs=True)
    total = m.queued_lock("ctx->space_used", hold=exponential(ns(fold_ns)), remote=ns(60))
    cpu = m.place("cpu", shards=m.threads)
    used, full = m.counter("space used", shards=m.threads), m.counter("CIL")

    commit = m.path("xlog_cil_commit")
    commit.spend(exponential(us(elsewhere_us)), "the rest of the operation")
    commit.pick_cpu(cpu)
    commit.read_lock(ctx)
    commit.spend(exponential(ns(insert_ns)), "xlog_cil_insert_items")
    with commit.every(batch_commits, used, cpu):  # this CPU's cilpcp->space_used
        commit.lock(total)
        commit.unlock(total)
    commit.read_unlock(ctx)
    with commit.every(push_commits, full):  # xlog_cil_push_background()
        commit.lock(ctx)
        commit.spend(us(switch_us), "xlog_cil_push_work")
        commit.unlock(ctx)
