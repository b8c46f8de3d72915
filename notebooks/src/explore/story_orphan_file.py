# SPDX-License-Identifier: MIT
# %% [markdown]
# # S4: a truncate writes its name on a list, and the list is the bottleneck
#
# Source: "[5/5] ext4: Improve scalability of ext4 orphan file handling" (Jan Kara, 2021). Everything below
# that is not called published is simulated.
#
# Index: [Notebooks](../README.md). Before: [S3, block groups](story_group_trylock.ipynb). Next: [the lock
# explorer](lock_explorer.ipynb).

# %% tags=["parameters"]
threads = 16

# %% [markdown]
# ## What they saw
#
# stress-orphan truncates files byte by byte, on a server with 80 CPUs. With 64 processes the run took
# 60.8236 s with the orphan file under a lock, 39.8446 s with it lockless, and 38.4402 s with no orphan
# handling at all, which is unsafe and only shows what could be gained. How much work a run is was not
# published: only the ratios of times count.

# %%
from lockscale.show.figures import published_figure

published_figure("s4_stress_orphan")

# %% [markdown]
# On a ramdisk reaim's creat_clo goes down from 45226.13 operations a second with 9 clients to 14283.52 with
# 31, with the old list. With the lockless orphan file it stays at 67982.45.

# %%
published_figure("s4_creat_clo")

# %% [markdown]
# ## Why: one list, one lock
#
# A truncate is done in several transactions. If the machine crashes between them, the next mount must know
# which inodes to finish. So a truncate first enters its inode among the *orphans*, and takes it off at the
# end. The old way is one linked list on disk, under one mutex for the whole file system. The *orphan file*
# gives each orphan a slot: first under one spin lock, taken three times a truncate (to count a free slot
# down, to find one, to free it).
#
# Each of these is short. But the lines of memory that they change come from the CPU that had the lock last.
# That takes longer than the work, it is done with the lock held, and everybody waits for it.
#
# Below are 100 us of 16 threads: a row for each place, in it a line for each thread that comes there.
# Orange waits and spins, blue waits and sleeps, black has the lock, green looks for a slot. The slider goes
# from the list to the locked and to the lockless orphan file. Drag the bright part of the strip to scrub
# through time.

# %%
from lockscale.show.explore.film import film, shots, tally
from lockscale.show.readable import show_tables_whole

show_tables_whole()
orphans = shots("orphan-file", ["orphan-mutex", "orphan-locked", "orphan-lockless"], [threads])
film(orphans, ["s_orphan_lock", "of_lock", "journal", "orphan slots"])

# %% [markdown]
# The same stretches, counted. `lock` is the one that most wait for.

# %%
tally(orphans)

# %% [markdown]
# ## What the patch does
#
# No lock at all. Each block of the orphan file has a count of free slots, changed by one atomic
# instruction. A slot is taken by `cmpxchg`: write my inode there if it still holds 0, else look on. And
# each CPU starts its search in another block, 13 further for each CPU, so that two rarely meet. At the last
# stop of the slider there is one green mark after another, each in another block, and no orange at any of
# them.
#
# The waiting has not gone: it moved to the journal, whose handles every truncate starts and stops. That
# queue was always behind the other. It is what the floor, no orphans at all, has too. So there is little
# left to gain here.

# %%
from lockscale.show.explore.figure import explorer_figure
from lockscale.show.explore.setting import Setting
from lockscale.show.explore.view import view

explorer_figure(view(Setting("orphan-file", "orphan-locked", 64, fine=True)))

# %% [markdown]
# Lines are simulated, with 95% intervals; open marks are threads over published time, on a scale on which
# the floor at one thread is the simulated one. The old list was not published for stress-orphan: its times
# are assumed.

# %% [markdown]
# ## What is next
#
# - The other workload, creat_clo, has a scene of its own in the [lock explorer](lock_explorer.ipynb).
# - The arms as patches, and why the floor is refused on a disk that matters:
#   [orphan-off](../../kernel-patches/orphan-file/orphan-off/cover.md),
#   [orphan-lockless](../../kernel-patches/orphan-file/orphan-lockless/cover.md).
# - What the locked column alone says of the lockless one: [03 Predict](../03_predict.ipynb) with `study =
#   "orphan-file"`.
# - The kernel models in code: `lib/lockscale/sim/models/orphan_file.py`.
