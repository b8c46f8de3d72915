# SPDX-License-Identifier: MIT
# %% [markdown]
# # 06 Profile: the counters that carry the proof
#
# `jbd2_journal_get_write_access` is called once more for every lost claim, so its calls per create
# count the retries, whatever the speed of the machine.
# Before: [05 Measure](05_measure.ipynb). Next: [07 Fit](07_fit.ipynb).

# %% tags=["parameters"]
study = "inode-claim"
run = ""

# %%
from lockscale.experiment.compare import extra_calls, function_costs
from lockscale.experiment.overheads import UNDER_PROFILER, overheads
from lockscale.experiment.profiles import lock_waits_of
from lockscale.report import figures
from lockscale.story import open_story

story = open_story(study, run)
extra = extra_calls(story.rows, story.study)
extra

# %%
drawn = figures.extra_calls(story.study, extra, story.where)
story.show(drawn, extra, "06-extra-calls")

# %% [markdown]
# Function cost of both arms at the point with the most extra calls, profiler on.

# %%
most = extra.loc[extra.extra.idxmax()]
point = (int(most.cpus), int(most.threads))
names = (story.study.arm("before").name, story.study.arm("upstream").name)
costs = [function_costs(story.rows, arm, *point) for arm in names]
says = f"measured {story.where}, profiled; {point[0]} CPUs, {point[1]} processes"
story.show(figures.function_shares(*costs, names, says), costs[0], "06-function-cost")

# %% [markdown]
# Who waits for which lock at that point (perf lock, by caller), and where the processors are (perf
# record): for the arms and points that the run was profiled at.

# %%
lock_waits_of(story.rows, names, *point)

# %%
story.show_flame_graph(names[0], *point, says)

# %%
story.show_flame_graph(names[1], *point, says)

# %% [markdown]
# What each profiler cost: the create rate with it on, against the rate without it in the same boot.

# %%
overheads(story.rows) if UNDER_PROFILER in set(story.rows.metric) else None
