# SPDX-License-Identifier: MIT
# %% [markdown]
# # 02 Simulate: the algorithm that explains the tables
#
# A create searches the group's inode bitmap for a zero bit without a lock, asks the journal for
# access, and only then takes the group lock to claim the bit. When many creators wait in a FIFO
# queue they all hold the same stale bit: one claim succeeds per turn of the queue and the others
# start again. Searching again under the lock ends that.
# Before: [01 Audit](01_audit.ipynb). Next: [03 Predict](03_predict.ipynb).

# %% tags=["parameters"]
study = "inode-claim"
run = ""
# None: as the study file says
simulated_threads = None
replications = None
seed = None

# %%
from lockscale.report import figures
from lockscale.simulated import calibration, check_table, s1_function_cost_check, simulated_points
from lockscale.story import open_story
from lockscale.tables import published

story = open_story(study, run, simulated_threads=simulated_threads, replications=replications, seed=seed)
calibration(story.study)

# %%
points = simulated_points(story.study)
rates = published("s1_rates")
drawn = figures.published_against_simulated(story.study, points, rates)
story.show(drawn, points, "02-published-against-simulated")

# %%
points[points.threads == points.threads.max()]

# %% [markdown]
# Two numbers were calibrated to two rates, so the curves above prove little by themselves. The
# function cost table was not fitted: only its create time is used (as the traced rate), and the
# calls, the attempts and the mean spin follow. The model lets every waiting thread spin; on S1's
# machine some sat in `jbd2__journal_start` instead, so its spin is too long.

# %%
check = check_table(s1_function_cost_check(story.study))
check
