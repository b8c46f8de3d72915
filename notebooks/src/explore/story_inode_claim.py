# SPDX-License-Identifier: MIT
# %% [markdown]
# # S1: 48 processes create files, and nearly all of them wait
#
# Source: the commit "ext4: reduce lock contention in __ext4_new_inode" (Wang Shilong, 2017). Everything
# below that is not called published is simulated.
#
# Index: [Notebooks](../README.md). Next story: [S2, the paradox](story_write_access.ipynb).

# %% tags=["parameters"]
threads = [4, 8, 16, 24, 32, 40, 48]

# %% [markdown]
# ## What they saw
#
# mdtest, 48 processes, each in a directory of its own, on two RAID1 pairs of SSDs. Without the patch the
# server made 79,033 to 81,463 files a second, with it 810,669 to 813,965. No disk became faster in between.

# %%
from lockscale.show.figures import published_figure

published_figure("s1_rates")

# %% [markdown]
# A profile of the slow kernel puts most of the time into `_raw_spin_lock`, called 180,899,929 times for
# 1,440,000 files. Stranger is another row: `jbd2_journal_get_write_access` was called 73,077,185 times, 50
# times a file, where a create that meets nobody needs it eight times (counted by this project in a QEMU
# guest, on Linux 6.12). Creates do something again and again.

# %%
published_figure("s1_function_cost")

# %% [markdown]
# ## Why: the retry storm
#
# A new inode is a zero bit in the bitmap of its block group. The old code takes it in three steps:
#
# - find the first zero bit, *without* a lock;
# - ask the journal for write access to the bitmap;
# - take the group's spin lock and set the bit. Is it set already? Then back to the first step.
#
# Between finding and setting the bit may be gone, and it is the *same* bit for all who look: the first
# zero. A spin lock of the kernel is a queue: first come, first served. Say 40 threads stand in it. All have
# found bit 17. The first one sets it. The other 39 reach the front in turn, find bit 17 gone, look again,
# find bit 18, all of them the same again, and go to the end of the queue. So one round of the whole queue
# makes about one file.
#
# Below is a stretch of 100 us: a line for each thread, orange while it stands in the queue, black while it
# has the lock, green while it does its own work. Move the slider from few threads to many; drag the bright
# part of the strip to scrub through time. Up to 24 threads hardly anybody waits, and at 40 nearly everybody
# does: who waits longer finds a staler bit, loses more often, and so makes others wait. That is why it tips
# over, and why the curve does not bend gently.

# %%
from lockscale.show.explore.film import film, shots, tally
from lockscale.show.readable import show_tables_whole

show_tables_whole()
storm = shots("inode-claim", ["steal-retry"], threads)
film(storm)

# %% [markdown]
# The same stretches, counted: `turns_an_operation` is how often the lock was taken for one file; the
# next columns say how many threads, on average, ran, held a lock, spun for one, or slept for one.

# %%
tally(storm)

# %% [markdown]
# ## What the patch does
#
# Who finds the bit gone now searches again *with the lock in hand*. Nobody else can be there, so the second
# search cannot lose: every turn of the queue makes a file. The lock is held a little longer by a loser, and
# the queue is gone.

# %%
cure = shots("inode-claim", ["steal-retry", "search-locked"], threads[-1:])
film(cure)

# %%
tally(cure)

# %% [markdown]
# Both kernels over the number of threads, simulated with 95% intervals; open marks are the published rates.
# The two rates at 48 set the model's two times, so that the curve meets them proves nothing. What is not
# set is that it tips over, where, and the calls in the profile above ([02](../02_simulate.ipynb) has that
# check).

# %%
from lockscale.show.explore.figure import explorer_figure
from lockscale.show.explore.setting import Setting
from lockscale.show.explore.view import view

explorer_figure(view(Setting("inode-claim", "steal-retry", 48, fine=True)))

# %% [markdown]
# ## What is next
#
# - Turn the knobs: in the [lock explorer](lock_explorer.ipynb) choose an *unfair* lock, as in many virtual
#   machines: no queue, no storm. That is why such a guest cannot show it.
# - What a profile of the slow kernel alone promises of the patch: [03 Predict](../03_predict.ipynb).
#   Deleting the spin time from the profile promises far too little.
# - Could each CPU search in a part of the bitmap of its own? Argued and not built:
#   [claim-spread](../../kernel-patches/inode-claim/claim-spread/cover.md) gains next to nothing below 192
#   CPUs.
# - The kernel models in code: `lib/lockscale/sim/models/inode_claim.py`, one line a step.
