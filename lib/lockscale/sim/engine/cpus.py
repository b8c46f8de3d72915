# SPDX-License-Identifier: MIT
"""More threads than CPUs: each CPU runs its threads in turn, a time slice at a time.

Round robin on a queue a CPU, threads do not move between CPUs; a spinning thread uses its slice up,
a sleeping one gives its CPU away (the shape of kernel/sched, without priorities or balancing).
A model without CPUs has one for each thread, and nothing here costs it more than a comparison.
"""

from typing import Any

from lockscale.sim.engine.compiled import compiled
from lockscale.sim.engine.layout import NEVER, NOBODY, READY
from lockscale.sim.engine.world import SLICE_PS, SWITCH_PS, after, at, enter, note


@compiled
def work_for(w: Any, thread: Any, work_ps: Any, now: Any) -> None:
    """The thread, on its CPU or ready for it, has this much to do; NEVER: it spins."""
    if len(w.cpus) == 0:
        after(w, thread, work_ps, now)
    else:
        due = NEVER if work_ps == NEVER else now + work_ps
        th = w.threads[thread]
        if th.state == READY:
            th.left_ps = work_ps
        else:
            th.due_ps = due
            arm(w, th.cpu, now)


@compiled
def arm(w: Any, cpu: Any, now: Any) -> None:
    """The running thread's next event: its work is done, or its slice is over and others wait."""
    c = w.cpus[cpu]
    thread = c.running
    due = w.threads[thread].due_ps
    if c.ready > 0:
        due = min(due, max(now, c.slice_end_ps))
    at(w, thread, due)


@compiled
def queue_up(w: Any, cpu: Any, thread: Any) -> None:
    """The thread waits for the CPU behind the others."""
    c = w.cpus[cpu]
    w.ready_queue[cpu, (c.first + c.ready) & (w.ready_queue.shape[1] - 1)] = thread
    c.ready += 1
    at(w, thread, NEVER)


@compiled
def run_next(w: Any, cpu: Any, now: Any) -> None:
    """The CPU is free: its next ready thread has it."""
    c = w.cpus[cpu]
    c.running = NOBODY
    if c.ready == 0:
        return
    thread = w.ready_queue[cpu, c.first]
    c.first = (c.first + 1) & (w.ready_queue.shape[1] - 1)
    c.ready -= 1
    c.running = thread
    c.slice_end_ps = now + w.clock[SWITCH_PS] + w.clock[SLICE_PS]
    th = w.threads[thread]
    th.in_state_ps[READY] += now - th.state_since_ps
    th.state = th.resume
    th.state_since_ps = now
    note(w, thread, now)
    th.due_ps = NEVER if th.left_ps == NEVER else now + w.clock[SWITCH_PS] + th.left_ps
    arm(w, cpu, now)


@compiled
def leave_cpu(w: Any, thread: Any, now: Any) -> None:
    """The thread sleeps: another may run."""
    if len(w.cpus) > 0 and w.cpus[w.threads[thread].cpu].running == thread:
        run_next(w, w.threads[thread].cpu, now)


@compiled
def has_cpu(w: Any, thread: Any, state: Any, work_ps: Any, now: Any) -> bool:
    """A thread that slept wants to go on; False: it has to wait for its CPU."""
    th = w.threads[thread]
    enter(w, thread, state, now)
    if len(w.cpus) == 0:
        return True
    c = w.cpus[th.cpu]
    if c.running == NOBODY:
        c.running = thread
        c.slice_end_ps = now + w.clock[SLICE_PS]
        return True
    enter(w, thread, READY, now)
    th.resume = state
    th.left_ps = work_ps
    queue_up(w, th.cpu, thread)
    arm(w, th.cpu, now)
    return False


@compiled
def preempt(w: Any, thread: Any, now: Any) -> None:
    """The slice is over: the thread keeps what is left of its work."""
    th = w.threads[thread]
    th.left_ps = NEVER if th.due_ps == NEVER else th.due_ps - now
    resume = th.state
    enter(w, thread, READY, now)
    th.resume = resume
    note(w, thread, now)
    queue_up(w, th.cpu, thread)
    run_next(w, th.cpu, now)
