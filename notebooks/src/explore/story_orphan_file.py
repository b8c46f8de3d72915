# SPDX-License-Identifier: MIT
# %% [markdown]
# # S4: every truncate enters its inode in a list, and the list is the bottleneck
#
# Source: "[5/5] ext4: Improve scalability of ext4 orphan file handling" (Jan Kara, 2021). Numbers are
# simulated unless called published or of a real kernel.
#
# Index: [Notebooks](../README.md). Previous story: [S3, block groups](story_group_trylock.ipynb). Next:
# [the lock explorer](lock_explorer.ipynb).

# %% tags=["parameters"]
threads = 16

# %% [markdown]
# ## What they saw
#
# stress-orphan truncates files byte by byte, on a server with 80 CPUs. With 64 processes the run took
# 60.8236 s with the orphan file under a lock, 39.8446 s with the lockless one, and 38.4402 s with no orphan
# handling at all, which is unsafe and only shows how much could be gained at most. The amount of work per
# run was not published, so only ratios of times are meaningful.

# %%
from lockscale.show.figures import published_figure

published_figure("s4_stress_orphan")

# %% [markdown]
# On a ramdisk, with the old list, reaim's creat_clo drops from 45226.13 operations per second with 9
# clients to 14283.52 with 31. With the lockless orphan file it rises to 67982.45.

# %%
published_figure("s4_creat_clo")

# %% [markdown]
# ## Why: one list, one lock
#
# A truncate may span several transactions. If the machine crashes between them, the next mount must know
# which truncates to finish. So a truncate first adds its inode to the *orphans*, and removes it at the end.
# The old way is one linked list on disk, under one mutex for the whole file system. The *orphan file* gives
# each orphan a slot: its first version uses one spin lock, taken three times per truncate (to decrement a
# count of free slots, to find a slot, and to free it).
#
# Each of these critical sections is short. But the cache lines that they modify have to come from the CPU
# that held the lock last. That transfer takes longer than the work, it happens with the lock held, and
# everybody waits for it. In the model the transfers of one section are a single time, fitted to the
# published times.
#
# Below are 100 us of 16 threads: a row for each lock or place, and in it a line for each thread that uses
# it. In orange, a thread spins; in blue, it sleeps; in black (white in a dark theme), it holds the lock; in
# green, it looks for a slot. The slider goes from the list to the locked and to the lockless orphan file.
# Drag the bright part of the strip to scrub through time.

# %%
from lockscale.show.explore.film import film, shots, tally
from lockscale.show.readable import show_tables_whole

show_tables_whole()
orphans = shots("orphan-file", ["orphan-mutex", "orphan-locked", "orphan-lockless"], threads)
film(orphans, ["s_orphan_lock", "of_lock", "journal", "orphan slots"])

# %% [markdown]
# The same 100 us in numbers (the film begins with 30 of them). `lock` is the most contended one; `holding`
# counts all locks. Truncates that begin before or end after
# this stretch are counted in part: in a long run a truncate takes the mutex twice and `of_lock` three
# times.

# %%
tally(orphans)

# %% [markdown]
# ## What the patch does
#
# Now the orphan file needs no lock at all. Each of its blocks has an atomic count of free slots. A slot is
# taken by `cmpxchg`: write my inode there if it still holds 0, otherwise look further. And each CPU starts
# its search in a different block, 13 blocks after the previous CPU's, so that two rarely meet. At the last
# position of the slider the green marks are in different blocks, and there is no orange at any of them.
#
# The waiting has not disappeared: it moved to the journal, where every truncate starts and stops handles.
# That queue was always behind the first one, and it remains even with no orphan handling at all. So there
# is little left to gain from orphan handling.

# %%
from lockscale.show.explore.figure import explorer_figure
from lockscale.show.explore.setting import Setting
from lockscale.show.explore.view import view

explorer_figure(view(Setting("orphan-file", "orphan-locked", 64, fine=True)))

# %% [markdown]
# Lines are simulated, with 95% intervals; open marks are threads divided by published time, scaled so that
# *no orphan handling* at one thread matches the simulation. The explorer also has the old list and *no
# orphan handling*; for the old list no stress-orphan times were published: its parameters are assumed.
#
# The model was fitted to times at 1 and 64 threads, and misses some between them. Published, the locked file
# nearly doubles its rate up to 4 threads and then falls; simulated it is at its one-thread rate again at 4.
# And at 32 threads the published lockless file dips, as does no orphan handling, which the model does not.

# %% [markdown]
# ## The real kernels
#
# Booted with 64 CPUs in [virtual time](../../docs/manycore.md), which prices instructions and transfers of
# cache lines: rates can be compared with one another, not with those of hardware.
#
# ![Gain of the real kernels against processes](../../figures/orphan-file-gains.svg)
#
# The gains in the figure are relative to the old list, which a mutex guards. With 64 processes the
# lockless kernel truncates 4.0 times as fast as the one with the list, and as fast as a kernel without any
# orphan handling: nothing is left to gain there. On the published machine even that kernel hardly scaled,
# so something else limited it, perhaps the disk.
#
# The source measured truncates only with the locked orphan file (not in the figure), which the lockless one
# beats by a factor of 7.1 with 64 processes (published: 1.5). That is so much because the locked file is
# slower here than the list: 0.8 times as fast with 32 processes, 0.6 times with 64. All its users start at
# block 0, and with 64 processes the cache line that `jbd2_journal_grab_journal_head()` moves is in transfer
# for 97% of the time. In the model above the locked file is 1.1 times as fast as the list. But the list's
# parameters are assumed, and a waiter for its mutex always sleeps, while in the kernel it spins as long as
# the owner runs. The real kernels do not confirm this order.
#
# For *creat*, the gain over the list falls from 2.6 with 8 processes to 1.7 with 32; published, it rises
# from 1.3 with 7 clients to 4.8 with 31. The published load, creat_clo, does more than create. Here the
# lockless kernel falls from 746 thousand per second with 8 processes to 508 thousand with 32, and the one
# with the list stays between 276 and 291 thousand.

# %% [markdown]
# ## What is next
#
# - The other workload, creat_clo, has its own scene in the [lock explorer](lock_explorer.ipynb).
# - The arms as patches, and why the one without orphan handling is refused on a disk that matters:
#   [orphan-off](../../kernel-patches/orphan-file/orphan-off/cover.md),
#   [orphan-lockless](../../kernel-patches/orphan-file/orphan-lockless/cover.md).
# - What the locked column alone says about the lockless one: [03 Predict](../03_predict.ipynb) with `study
#   = "orphan-file"`.
# - The models in code: `lib/lockscale/sim/models/orphan_file.py`.
