# SPDX-License-Identifier: MIT
"""ldlm_lock_match(): a Lustre client looks for a lock of its own and moves it to the end of the LRU list."""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model


@model(unit="matches/s")
def ldlm_lru(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, Note("time from one match to the next", "assumed")] = 8.0,
    resource_ns: Annotated[float, Note("hold of lr_lock: the resource's lists", "assumed")] = 400.0,
    lru_ns: Annotated[float, Note("hold of ns_lock: the lock moves on the LRU list", "assumed")] = 150.0,
    open_files: Annotated[int, Note("files, each with a resource of its own", "assumed")] = 1024,
    hash_locks: Annotated[int, Note("locks onto which the resources are hashed", "assumed")] = 1024,
    touch_matches: Annotated[int, Note("matches of a CPU for one move on the LRU list", "assumed")] = 1,
    nearest: Annotated[bool, Note("ns_lock goes to a waiter of the same socket (CNA)", "a patch")] = False,
) -> None:
    """Any file's resource under its lock in a hash; the LRU list of all under one."""
    m.machine(sockets=2)
    costs = {"hold": exponential(ns(lru_ns)), "handover": ns(70), "remote": ns(180)}
    lru = m.cna_lock("ns_lock", **costs) if nearest else m.queued_lock("ns_lock", **costs)
    resource = m.queued_lock("lr_lock", hold=exponential(ns(resource_ns)), shards=hash_locks)
    file, bucket = m.place("file", shards=open_files), m.place("bucket", shards=hash_locks)
    cpu = m.place("cpu", shards=m.threads)
    matched = m.counter("matches", shards=m.threads)

    match = m.path("ldlm_lock_match")
    match.spend(exponential(us(elsewhere_us)), "the rest of the operation")
    match.pick_cpu(cpu)
    match.pick_random(file)
    match.pick_hash(bucket, file)
    match.lock(resource, bucket)
    match.unlock(resource, bucket)
    with match.every(touch_matches, matched, cpu):
        match.lock(lru)  # ldlm_lock_touch_in_lru()
        match.unlock(lru)
