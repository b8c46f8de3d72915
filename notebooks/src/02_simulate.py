# SPDX-License-Identifier: MIT
# %% [markdown]
# # 02 Simulate: the algorithm that explains the tables
#
# A model reads like the kernel function that it stands for, and the simulator runs it. Below: how the
# algorithm explains the numbers of the tables, what was calibrated to published ones, and both side by side.

# %% tags=["parameters"]
study = "inode-claim"
run = ""
# None: as the study file says
simulated_threads = None
replications = None
seed = None

# %% [markdown]
# ## The algorithm

# %%
from lockscale.show.figures import table_beside_simulated
from lockscale.show.headlines import simulated
from lockscale.show.simulated import calibration, errors, simulated_points, table_points, unfitted_check
from lockscale.show.story import open_story

story = open_story(study, run, simulated_threads=simulated_threads, replications=replications, seed=seed)
print(story.study.story, calibration(story.study), sep="\n\n")

# %% [markdown]
# ## The curves

# %%
points, table = simulated_points(story.study), story.tables[0]
said = table_points(story.study, points, table)
drawn = table_beside_simulated(story.study, points, said, table)
story.show(drawn, points, "02-table-against-simulated")

# %%
points[points.threads == points.threads.max()]

# %%
said

# %% [markdown]
# ## The errors
#
# Each point of the first table that was simulated. Where the calibration names a point, its error proves
# nothing; the others are the check.

# %%
found = errors(points, said)
found

# %% [markdown]
# ## The check
#
# A table to which nothing was fitted, where the study has one: of the function costs only the time of
# one operation is used, as the traced rate; calls, attempts and the mean spin follow.

# %%
print(story.study.limits)
unfitted_check(story.study)

# %% [markdown]
# ## In one sentence

# %%
simulated(found)
