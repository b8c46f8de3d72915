# SPDX-License-Identifier: MIT
# %% [markdown]
# # 06 Profile: the counters that prove the effect
#
# Counts per operation are meaningful even in plain QEMU, where rates are not. The study names the counter
# that proves the effect; the others show what else an arm changes.

# %% tags=["parameters"]
study = "inode-claim"
run = ""

# %% [markdown]
# ## The proof
#
# `extra`: the study's count per operation in the unpatched arm, minus that in the patched arm. Its interval
# is `low` to `high` and covers `level_pct` percent, which is less than 95 with few repeats. `spread`: the
# range of the patched arm's repeats. `above`: whether even `low` is larger than that. `significant`: at 5%,
# corrected for all points (Holm).

# %%
import pandas as pd
from IPython.display import display

from lockscale.measure.compare_arms import counted_arms, extra_calls, function_costs, most_extra
from lockscale.measure.profiling import UNDER_PROFILER, lock_waits_of, overheads
from lockscale.measure.rows import origin_of
from lockscale.show.figures.study import counted_against_unpatched, function_shares
from lockscale.show.headlines import counted, shown_counter
from lockscale.show.readable import sentences, show_tables_whole
from lockscale.show.story import open_story

show_tables_whole()
story = open_story(study, run)
extra = extra_calls(story.rows, story.study)
display(sentences(shown_counter(story.rows, story.study)), extra)

# %%
counts = counted_arms(story.rows, story.study)
drawn = counted_against_unpatched(story.study, counts, story.where)
story.show(drawn, counts, "06-counters")

# %% [markdown]
# ## All counters

# %%
counts

# %% [markdown]
# ## Function cost
#
# Function costs of the unpatched and the patched arm at the point where the counter differs most, with the
# profiler on.

# %%
point = most_extra(extra)
names = (story.study.unpatched.name, story.study.patched.name)
origin = origin_of(story.rows)
costs = [function_costs(story.rows, arm, *point).assign(arm=arm, origin=origin) for arm in names]
says = f"measured {story.where}, profiled; {point[0]} CPUs, {point[1]} processes"
story.show(function_shares(*costs, names, says), pd.concat(costs), "06-function-cost")

# %% [markdown]
# ## Locks and CPUs
#
# Who waits for which lock at that point (perf lock, by caller), and where the CPUs spend their time (perf
# record), for those arms and points at which the run was profiled; where it was not, the table has no
# rows and there is no figure.

# %%
lock_waits_of(story.rows, names, *point)

# %%
story.show_flame_graph(names[0], *point, says)

# %%
story.show_flame_graph(names[1], *point, says)

# %% [markdown]
# ## In virtual time
#
# First, how the busy time of the CPUs is divided, in percent: spinning (`pause_pct`), transfers of cache
# lines, waiting for a line that is in transfer to others (`queue_pct`), I/O, atomic and other instructions.
# Then how the rates of the A/A pair change with half the quantum (the quantum is how far apart the clocks
# of two CPUs may be). Last, the gain with each price at the lower and upper end of its range, if the run
# has `price_ends`. Empty on other targets.

# %%
from lockscale.measure.where_time_went import gains_at_price_ends, moved_lines, quantum_errors, time_shares

display(time_shares(story.rows), quantum_errors(story.rows))

# %%
gains_at_price_ends(story.rows, story.study)

# %% [markdown]
# The cache lines that spent the most time in transfer at the highest number of processes, at most four of
# each arm, each with the function of the instruction that caused more than half of its transfers or, if none
# did, of another that caused some. A cache line goes from one CPU to the next, so it is a queue like that of
# a lock: `occupied_pct` is the share of the time during which it was in transfer, and near 100% the line is
# the bottleneck; `queued_pct` is the share of time that CPUs waited for it, summed over CPUs. In the rows of
# the patched arm the first of them is probably what limits the kernel once the lock in question is gone;
# those of the unpatched arm seldom show it, as threads that wait for the lock do not come there. Empty on
# other targets, and in older runs, which did not count this.

# %%
lines = moved_lines(story.rows)
lines[lines.threads == lines.threads.max()].groupby(["arm", "test"]).head(4).reset_index(drop=True)

# %% [markdown]
# ## What profiling cost
#
# The rate with each profiler on, against the rate without it in the same boot. A negative cost means that
# the profiler reduced contention for the lock: then the profile shows less of it than there was without the
# profiler.

# %%
if UNDER_PROFILER in set(story.rows.metric):
    display(overheads(story.rows))

# %% [markdown]
# ## In one sentence

# %%
counted(extra, story.rows, story.study, story.where)
