# SPDX-License-Identifier: MIT
# %% [markdown]
# # Where ext4 saturates next
#
# The fitted models, swept to 1024 CPUs. **All of it is simulated** (*truncate* with published times as
# input, see the end). The parameters are those of the scoreboard's fits to the published tables; the dots
# are 20 draws of the parameters from the uncertainty of the fits, `low` and `high` the lowest and the
# highest of them. The grey range is beyond the highest published thread count: there the curves show what
# the model's queues would do on a larger machine with one socket, and nothing else. `lockscale scale
# --keep` computes the numbers.
#
# Index: [Notebooks](../README.md). The arms: [kernel-patches](../../kernel-patches/README.md).

# %% tags=["parameters"]
path = "allocate"

# %%
from lockscale.show.figures import scale_figure
from lockscale.show.readable import show_tables_whole
from lockscale.show.scale import kept_scale, most_time

show_tables_whole()
found = kept_scale()
scale_figure(found)

# %% [markdown]
# ## At how many CPUs
#
# `saturates_at`: where the straight line through the first points meets the path's highest rate (Denning
# and Buzen's N*). Beyond that, additional CPUs wait. A value near 1024 means that the path does not
# saturate within the sweep. Where a rate is flat and rises again, as multi-goal's with flex groups at 512
# CPUs, N* refers to that last, highest rate; the flat part is half of it.

# %%
found[found.metric == "saturates_at"][["path", "arm", "value", "low", "high"]]

# %% [markdown]
# ## Where the CPUs then spend their time
#
# `most_time_at` is where the CPUs wait longest, if that is a tenth of their time or more: a lock that they
# wait for, a cache line that bounces between them, or a search that they repeat; `share_pct` of all CPUs
# are there. `value` is the rate, in operations per second; for *truncate*, relative to one thread without
# orphan handling. `path` above may be `allocate`, `create`, `create and close` or `truncate`.

# %%
most_time(found, path)

# %% [markdown]
# ## What it says
#
# **Create.** Before S1's fix the storm sets in between 16 and 64 creators; at 32 a run may or may not be
# in it, and the dots form two clusters. With the fix the search is under the lock, and the lock itself is
# the remaining bottleneck: it is held for `hold_ns` per create in its group, so one group saturates at
# about 200 creators, or at half of that if a create's second hold of the lock, for the group's descriptor, is
# as long and is taken out of the rest of the create. *claim-spread* removes the second search under that
# lock, and gains less than 0.5% up to 160 CPUs and at most 7% up to 255; it exists on paper only. What helps
# is to use more locks: *group-spread* distributes the directories of a flex group over its 16 groups, and
# does not saturate by 1024. The journal, which every create also needs, is in S1's profile
# (`jbd2__journal_start`) but not in this model.
#
# **Allocate.** Here the simulation and the real kernels disagree: [in virtual
# time](../../docs/manycore.md#what-it-gave) *goal-spread* is 2.5 times as fast as *multi-goal* with 32
# processes and 3 times with 64. What follows is the model's account. With upstream's *multi-goal*, CPUs
# no longer all queue for a single goal; the next queue is the journal: from some 32 CPUs on, arms whose
# files use several goals reach 1 / `serial_ns`. So *goal-spread* is faster only below that, and where
# upstream's hash sends all files to one goal (the first files of directories in flex groups): there it
# doubles the rate from 16 to 256 CPUs.
#
# **The 128 locks.** ext4 hashes all its groups onto `NR_BG_LOCKS` = 128 spin locks. As long as the journal
# is the bottleneck, their number has no effect. Without the journal (its section then still takes 20 ns)
# *multi-goal* is a fifth slower than *goal-spread* at 16 CPUs and two fifths slower at 256, as files that
# share a goal keep searching and bounce cache lines. There *goal-spread* scales linearly up to 256 CPUs,
# peaks at 512, and at 1024 does **less than at 256**: more CPUs allocate than there are locks, so a free
# group looks busy because another group with the same lock is in use, and most CPUs search in
# `ext4_mb_scan_group()`. With 256 locks in the model that effect is gone. No arm that only spreads goals
# gets past this limit: after the journal, the next patch would be one that adds locks.
#
# **Orphans.** The list under a mutex, and the orphan file under a spin lock, saturate at a few CPUs and
# then get slower. The lockless file comes close to no orphan handling at all; what remains is the journal
# again. The dip at 32 is in the published times of no orphan handling, which are an input of the model; so
# that arm has no interval either (`low` and `high` equal `value`). To these times the model adds what orphans
# cost, so its curves differ from those of the [story](story_orphan_file.ipynb) and of the explorer, where the
# journal is simulated as well: there the locked file gains nothing from 1 to 4 threads, here it nearly
# doubles, as it did in the published table.
