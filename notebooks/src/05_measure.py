# SPDX-License-Identifier: MIT
# %% [markdown]
# # 05 Measure: boot each arm, count, check
#
# First an A/A pair of the base, then blocks of all arms, interleaved. Each boot asserts uname and
# build-id, makes the file system, loads it once unmeasured, measures each point without and then with
# the profiler, unmounts and runs `e2fsck -fn`.
# With a run of [data/measured](../data/README.md) as `run` nothing is booted: its rows are shown.

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
from lockscale.show.story import open_story

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
# Where the proof is no function's calls: observe kernels of the same arms, booted block by block. They
# have trace points and lock statistics, and give counts, never rates.

# %%
path = story.observe(target)
f"{path.parent.name}/{path.name}" if path else "no counts of observe kernels"

# %% [markdown]
# ## The same build twice
#
# The A/A pair: how far the same build lies from itself, in calls of a function that the study names, and in
# rates.

# %%
from IPython.display import display

from lockscale.measure.compare_arms import aa_rates, compared_latencies, compared_rates

display(aa_pair(story.rows, story.study), aa_rates(story.rows, story.study))

# %% [markdown]
# ## The rates
#
# In a plain guest (target qemu) rates are no benchmark, and the counters are the proof (06); in virtual
# time (target manycore) no host stops a CPU, and rates compare arms. Lock events show the kind of lock:
# `lock_slowpath` counts waiters that queued.

# %%
shown = rates(story.rows)
drawn = measured_rates(story.study, shown, story.where)
story.show(drawn, shown, "05-measured-rates")

# %% [markdown]
# ## Arm against arm
#
# Each arm against the unpatched one within each block: a change is new against old. Significant: below 5%
# over all rows of the table together (Holm), where the A/A pair does not differ itself.

# %%
compared_rates(story.rows, story.study)

# %% [markdown]
# The same of the latency of one operation, in ns: p50, p90, p99, p99.9 and max over all processes. Empty
# unless the study's parameter `latency` is true, which costs each operation two readings of the clock.

# %%
compared_latencies(story.rows, story.study)

# %% [markdown]
# ## Was it steady
#
# Whether the run was steady, and the repeats that lie apart: told, and left in.

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
