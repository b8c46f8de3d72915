# SPDX-License-Identifier: MIT
"""handle-start: what S3's flat end says of jbd2's handles, before any kernel with another jbd2 was booted.

With a goal for each file S3's 64 containers do 1.49 million fallocates a second, 671 ns for each one: six
visits of one line at 112 ns. Which of a handle's operations are visits of their own is open, and tells its
arms apart: with one visit for what lies side by side, t_handle_count costs nothing and t_expires a third.
An operation is a truncate of a file of its own, three handles; rates are those of one process.
"""

from lockscale.predict.answer import Open
from lockscale.studies.group_trylock_tables import TABLE
from lockscale.studies.hooks import StudyParts
from lockscale.studies.simulated_gains import SimulatedGains

GAINS = SimulatedGains(
    study_name="handle-start",
    operation="truncate",
    metric="truncate_rate",
    unit="ops/s per process",
    locks=("j_state_lock", "counters of the transaction"),
    used=f"handle_start, calibrated to {TABLE}'s linear at 1 and 64 containers; no kernel with another jbd2",
    varied=("elsewhere_us", "within_us", "line_ns"),
    also=({"one_visit": True},),
    open=[
        Open(
            "one_visit",
            "whether a cache line that was fetched for one atomic operation is still there for the next one",
            "count-per-cpu against the unpatched kernel on real hardware: no gain means that it is",
        )
    ],
    arguments={
        "count-per-cpu": "saves nothing, or one visit of the line in six: the measurement shows which",
        "reads-apart": "saves one visit of the line in six, or in three",
        "updates-per-cpu": "t_outstanding_credits and a read of t_expires remain",
        "updates-reads-apart": "only t_outstanding_credits remains",
        "local-hits": "one look-up in the cache per truncate; the counter's lock is taken once in 128",
    },
    worth_at=64,
)

STUDY = StudyParts(name=GAINS.study_name, order=7, whatif=GAINS.whatif)
