# SPDX-License-Identifier: MIT
"""goal-fold: what S3's machine, as it is known without several shared goals, says of where goals are chosen.

The model's times are calibrated to one goal for all and to one for each file (sim/models/group_goals.py);
which writers then meet at a goal is arithmetic on inode numbers. What a meeting costs is the model's word.
Files are in flex groups of their own, the first of each; rates are those of one container.
"""

from lockscale.predict.answer import Open
from lockscale.studies.group_trylock_tables import TABLE
from lockscale.studies.hooks import StudyParts
from lockscale.studies.simulated_gains import SimulatedGains

GAINS = SimulatedGains(
    study_name="goal-fold",
    operation="fallocate",
    metric="fallocate_rate",
    unit="ops/s per container",
    locks=("ext4_lock_group",),
    used=f"group_goals, calibrated to {TABLE} and two Linux commits; no arm with several shared goals",
    varied=("goal_ns", "serial_ns", "moved_ns", "others_us", "hold_ns", "line_ns"),
    open=[
        Open(
            "serial_ns",
            "what remains once no two writers share a goal, assumed to be the journal, takes as long as in "
            "S3 at 64 containers",
            "a profile of 64 containers with a goal for each file: the share of jbd2's start and stop",
        )
    ],
    arguments={
        "multi-goal-fold": "one cache line, and files of different flex groups no longer share a goal",
        "goals-apart": "in the model, nearly all of the gain comes from the fold",
        "goals-per-cpu": "in the model, nearly all of the gain comes from the fold; the rest from files with "
        "arbitrary inode numbers",
    },
    worth_at=16,  # where the journal does not yet hide what goals cost
)

STUDY = StudyParts(name=GAINS.study_name, order=6, whatif=GAINS.whatif)
