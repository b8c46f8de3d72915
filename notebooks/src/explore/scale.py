# SPDX-License-Identifier: MIT
# %% [markdown]
# # Where ext4 saturates next
#
# The fitted models, swept to 1024 CPUs. **All of it is simulated.** Parameters are those of the
# scoreboard's fits to the published tables, and bars come from 20 draws of them, each as far off as the fits
# leave possible. Grey is beyond the most threads that anybody published: there it says what the model's
# queues would do on such a machine made larger, with one socket, and no more. `lockscale scale --keep`
# makes the numbers.
#
# Index: [Notebooks](../README.md). The arms: [kernel-patches](../../kernel-patches/README.md).

# %% tags=["parameters"]
path = "allocate"

# %%
from lockscale.show.figures import scale_figure
from lockscale.show.scale import kept_scale

found = kept_scale()
scale_figure(found)

# %% [markdown]
# ## At how many CPUs
#
# `saturates_at`: where the line of the first CPUs meets the most that the path ever does (Denning and
# Buzen's N*). More CPUs than that wait. About 1024 means: not by then.

# %%
found[found.metric == "saturates_at"][["path", "arm", "value", "low", "high"]]

# %% [markdown]
# ## And where the CPUs are then
#
# `most_time_at`: the lock that they wait for, the line that they wait for and move, or the search that
# they repeat; `share_pct` of all CPUs are there.

# %%
here = found[(found.path == path) & (found.threads >= 64)]
here[["arm", "threads", "value", "low", "high", "most_time_at", "share_pct"]]

# %% [markdown]
# ## What it says
#
# **Create.** Before S1's fix the storm comes between 16 and 64 creators; at 32 a run may be in it or not,
# and the bar is as long as that. With the fix the search is under the lock, and what is left is the lock:
# it is held `hold_ns` for each create in its group, so one group ends at 200 creators. *claim-spread*
# takes away the second search under that lock, and so 7% at most; it was argued and not built. What helps
# is another lock: *group-spread* deals the directories of a flex group over its 16 groups, and does not
# end by 1024. The journal, which every create also needs, is not in S1's tables and not in this model.
#
# **Allocate.** Upstream's *multi-goal* is past the queue for one goal, and the next one is the journal:
# from a dozen CPUs on all arms do 1 / `serial_ns`. So *goal-spread* gains rate only below that, and where
# upstream's hash sends all files to one goal (the first files of directories in flex groups): there
# twice, from 16 to 256 CPUs.
#
# **The 128 locks.** ext4 hashes all its groups onto `NR_BG_LOCKS` = 128 spin locks. Behind the journal
# nobody sees it. Without the journal (its section then still takes 20 ns) *multi-goal* does a fifth less
# than *goal-spread* at 16 CPUs and two fifths at 256, as files that meet at a goal search on and move
# lines. *goal-spread* grows in proportion up to 256 CPUs, does its most at 512, and at 1024 **less than at
# 256**: more CPUs allocate than there are locks, so a free group looks busy because another one with its
# lock is in use, and most CPUs are in `ext4_mb_scan_group()`, looking on. With 256 locks in the model
# that is gone. No arm that only spreads goals gets past it: after the journal the next patch would be
# more locks.
#
# **Orphans.** The list under a mutex, and the orphan file under a spin lock, end at a few CPUs and then
# get slower. With the lockless file what is left is nearly what no orphan handling at all would do: the
# journal again.
