# SPDX-License-Identifier: MIT
# %% [markdown]
# # 05 Measure: boot each arm, count, check
#
# First one arm is measured twice (an A/A pair), then come blocks in which all arms are booted in turn. Each
# boot checks uname and build-id, makes the file system, runs one warm-up load, measures each point without
# and then with the profiler, unmounts, and runs the file system's checker (for ext4 `e2fsck -fn`). If `run`
# is one of [data/measured](../data/README.md), nothing is booted and the rows of that run are shown. This
# page was executed for the study's latest run in data/measured; executed by hand as it stands, with `run =
# ""`, the notebook builds the kernels that are missing, boots them and measures anew.

# %% tags=["parameters"]
study = "inode-claim"
run = ""
target = "qemu"
guests = None
operations_per_point = None
iterations = None
tool = None
accel = None

# %%
import pandas as pd

from lockscale.measure.compare_arms import aa_pair, lock_events, rates
from lockscale.measure.plan import plan
from lockscale.show.figures import measured_rates
from lockscale.show.headlines import measured
from lockscale.show.readable import show_tables_whole
from lockscale.show.story import open_story

show_tables_whole()
changes = {"operations_per_point": operations_per_point, "iterations": iterations}
story = open_story(study, run, guests=guests, tool=tool, accel=accel, **changes)
pd.DataFrame(plan(story.study))

# %% [markdown]
# ## The measurement

# %%
path = story.measure(target)
f"{path.parent.name}/{path.name}"

# %% [markdown]
# ## The counts
#
# If the study's proof is something other than a function's number of calls, observe kernels of the same
# arms are booted as well, block by block. They have tracepoints, and lock statistics where a counter names
# a lock class; they give counts, never rates.

# %%
path = story.observe(target)
f"{path.parent.name}/{path.name}" if path else "no counts of observe kernels"

# %% [markdown]
# ## The same build twice
#
# The A/A pair: how far apart two measurements of the same build are, in calls of the function that the
# study names, and in rates.

# %%
from IPython.display import display

from lockscale.measure.compare_arms import aa_rates, compared_latencies, compared_rates

display(aa_pair(story.rows, story.study), aa_rates(story.rows, story.study))

# %% [markdown]
# ## The rates
#
# In a plain guest (target qemu) rates are not a benchmark; the counters are the proof (06). In virtual time
# (target manycore) preemption by the host does not change a rate, so rates can be compared between arms.

# %%
shown = rates(story.rows)
drawn = measured_rates(story.study, shown, story.where)
story.show(drawn, shown, "05-measured-rates")

# %% [markdown]
# ## Arm against arm
#
# Each arm against the unpatched one within each block: its change relative to the unpatched arm.
# Significant means p < 5%, corrected for all rows of the table (Holm), at a point where the A/A pair itself
# does not differ. `unpatched` and `value` are means over the blocks, `change_pct` is the geometric mean of
# the changes within them: where one boot is far off, the two can contradict each other. With two blocks the
# test has one degree of freedom: a change of several hundred percent may not be significant, where its two
# blocks differ, and one of 24% may be, where they agree.

# %%
compared_rates(story.rows, story.study)

# %% [markdown]
# The same for the latency of one operation, in ns: p50, p90, p99, p99.9 and max over all processes. Empty
# unless the study's parameter `latency` is true; then each operation reads the clock twice.

# %%
compared_latencies(story.rows, story.study)

# %% [markdown]
# ## Was it stable?
#
# Drift over the run, then outliers (reported but not removed), then lock events: `lock_slowpath` counts
# waiters that queued, which shows whether spin locks are queued ones.

# %%
from lockscale.measure.steadiness import outliers, steadiness

steadiness(story.rows)

# %%
outliers(story.rows)

# %%
lock_events(story.rows)

# %% [markdown]
# ## In one sentence

# %%
measured(story.rows, story.where)
