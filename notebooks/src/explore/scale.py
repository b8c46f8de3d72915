# SPDX-License-Identifier: MIT
# %% [markdown]
# # Where ext4 saturates next
#
# The fitted models, swept to 1024 CPUs. **All of it is simulated.** The parameters are those of the
# scoreboard's fits to the published tables; the dots are 20 draws of the parameters within the
# uncertainty of the fits, `low` and `high` the least and the most of them. The grey range is beyond the most
# threads that anybody published: there it shows what the model's queues would do on a larger machine with one
# socket, and nothing else. `lockscale scale --keep` makes the numbers.
#
# Index: [Notebooks](../README.md). The arms: [kernel-patches](../../kernel-patches/README.md).

# %% tags=["parameters"]
path = "allocate"

# %%
from lockscale.show.figures import scale_figure
from lockscale.show.readable import show_tables_whole
from lockscale.show.scale import kept_scale

show_tables_whole()
found = kept_scale()
scale_figure(found)

# %% [markdown]
# ## At how many CPUs
#
# `saturates_at`: where the straight line through the first CPUs meets the highest rate of the path (Denning
# and Buzen's N*). More CPUs than that wait. About 1024 means: not within the sweep.

# %%
found[found.metric == "saturates_at"][["path", "arm", "value", "low", "high"]]

# %% [markdown]
# ## Where the CPUs spend their time then
#
# `most_time_at`: the lock that they wait for, the cache line that bounces between them, or the search that
# they repeat; `share_pct` of all CPUs are there.

# %%
here = found[(found.path == path) & (found.threads >= 64)]
here[["arm", "threads", "value", "low", "high", "most_time_at", "share_pct"]]

# %% [markdown]
# ## What it says
#
# **Create.** Before S1's fix the storm comes between 16 and 64 creators; at 32 a run may be in it or not,
# and the dots stand in two heaps. With the fix the search is under the lock, and what is left is the lock:
# it is held `hold_ns` for each create in its group, so one group ends at 200 creators. *claim-spread*
# takes away the second search under that lock, and so 7% at most; it was argued and not built. What helps
# is another lock: *group-spread* deals the directories of a flex group over its 16 groups, and does not
# end by 1024. The journal, which every create also needs, is not in S1's tables and not in this model.
#
# **Allocate.** With upstream's *multi-goal* nobody queues for one goal any more; the next queue is the
# journal: from a dozen CPUs on all arms do 1 / `serial_ns`. So *goal-spread* is faster only below that, and
# where upstream's hash sends all files to one goal (the first files of directories in flex groups): there
# it doubles the rate from 16 to 256 CPUs.
#
# **The 128 locks.** ext4 hashes all its groups onto `NR_BG_LOCKS` = 128 spin locks. Behind the journal
# nobody sees it. Without the journal (its section then still takes 20 ns) *multi-goal* does a fifth less
# than *goal-spread* at 16 CPUs and two fifths at 256, as files that meet at a goal search on and move
# cache lines. *goal-spread* grows in proportion up to 256 CPUs, peaks at 512, and at 1024 does **less than at
# 256**: more CPUs allocate than there are locks, so a free group looks busy because another group with the
# same lock is in use, and most CPUs search in `ext4_mb_scan_group()`. With 256 locks in the model that is
# gone. No arm that only spreads goals gets past it: after the journal the next patch would be more locks.
#
# **Orphans.** The list under a mutex, and the orphan file under a spin lock, end at a few CPUs and then
# get slower. With the lockless file what is left is nearly what no orphan handling at all would do: the
# journal again.
