# SPDX-License-Identifier: MIT
# %% [markdown]
# # S1: 48 processes create files, and nearly all of them wait
#
# Source: the commit "ext4: reduce lock contention in __ext4_new_inode" (Wang Shilong, 2017). Numbers are
# simulated unless called published or of a real kernel.
#
# Index: [Notebooks](../README.md). Next story: [S2, the paradox](story_write_access.ipynb).

# %% tags=["parameters"]
threads = [4, 8, 16, 24, 32, 40, 48]

# %% [markdown]
# ## What they saw
#
# mdtest, 48 processes, each in a directory of its own, on two RAID1 pairs of SSDs. Without the patch the
# server created 79,033 to 81,463 files per second, with it 810,669 to 813,965, on the same disks.

# %%
from lockscale.show.figures import published_figure

published_figure("s1_rates")

# %% [markdown]
# A profile of the slow kernel shows most of the time in `_raw_spin_lock`, called 180,899,929 times for
# 1,440,000 files. Another row is stranger: `jbd2_journal_get_write_access` was called 73,077,185 times,
# some 51 times per file, where an uncontended create needs eight calls (counted by this project in a QEMU
# guest, on Linux 6.12). Something in a create is being repeated.

# %%
published_figure("s1_function_cost")

# %% [markdown]
# ## Why: the retry storm
#
# A new inode is a zero bit in the inode bitmap of its block group. The old code claims it in three steps:
#
# - find the first zero bit, *without* a lock;
# - ask the journal for write access to the bitmap;
# - take the group's spin lock and set the bit. If it is already set, go back to the first step.
#
# Between the search and the lock, another CPU may take the bit, and all CPUs that search find the *same*
# bit: the first zero. The kernel's spin lock is a queue: first come, first served. Say 40 threads wait in
# this queue. All of them have found bit 17. The first one sets it. The other 39 reach the head of the queue
# in turn, find bit 17 taken, search again, all find bit 18, and go to the end of the queue. So one pass of
# the whole queue creates about one file.
#
# Below are 100 us, one line per thread: orange while it spins in the queue, black (white in a dark theme)
# while it holds the lock, green while it does its own work. Move the slider from few threads to many; drag
# the bright part of the strip to scrub through time. Up to 24 threads hardly any thread waits, and at 40
# nearly all do: a thread that waits longer has a staler bit, loses more often, and so makes the others wait
# longer. That feedback is why the rate collapses instead of levelling off.

# %%
from lockscale.show.explore.film import film, shots, tally
from lockscale.show.readable import show_tables_whole

show_tables_whole()
storm = shots("inode-claim", ["steal-retry"], threads)
film(storm)

# %% [markdown]
# The same 100 us in numbers (the film begins with 30 of them): `acquisitions_per_operation` is how often
# the lock was taken per file; the next columns say how many threads, on average, ran, held a lock, spun for
# one, or slept for one.

# %%
tally(storm)

# %% [markdown]
# ## What the patch does
#
# A thread that finds its bit taken now searches again *while holding the lock*. Nobody else can interfere,
# so the second search cannot lose: each thread that gets the lock claims an inode. A thread that lost its
# bit holds the lock a little longer, and the storm disappears.

# %%
cure = shots("inode-claim", ["steal-retry", "search-locked"], storm[-1].threads)
film(cure)

# %%
tally(cure)

# %% [markdown]
# Both kernels against the number of threads, simulated with 95% intervals; open marks are the published
# rates. At 32 threads a run may or may not be in the storm, so the interval is wide ([Scale](scale.ipynb)).
# The model's two times were calibrated to the two rates at 48, so the agreement there proves
# nothing. Not calibrated are the collapse of the rate, the number of threads at which it begins, and the
# calls in the profile above ([02](../02_simulate.ipynb) has that check).

# %%
from lockscale.show.explore.figure import explorer_figure
from lockscale.show.explore.setting import Setting
from lockscale.show.explore.view import view

explorer_figure(view(Setting("inode-claim", "steal-retry", 48, fine=True)))

# %% [markdown]
# ## The real kernels
#
# Booted with 64 CPUs in [virtual time](../../docs/manycore.md), which prices instructions and transfers of
# cache lines: rates can be compared with one another, not with those of hardware.
#
# ![Gain of the real kernels against processes](../../figures/inode-claim-gains.svg)
#
# The grey band is what the unpatched kernel alone predicts, recorded before the patched one was booted; but
# this gain was known when the method was written.
#
# The storm begins between 8 and 16 processes, earlier than in the model, and at 48 the patched kernel
# creates 9.5 times as many files (published: 10.1). But the patched kernel does not keep its rate either:
# from 601 thousand creates per second with 16 processes it falls to 335 thousand with 64. No ext4 lock is
# the cause. One cache line, whose transfers are nearly all caused by `lockref_put_return`, is moved 6 times
# per create with 16 processes and 26 times with 64, where it is in transfer for 81% of the time. It is the
# reference count of a dentry that all processes share: presumably the root directory's, of which a create
# by absolute path takes and drops a reference when its lookup leaves RCU-walk. With 64 the CPUs spin for
# 84% of their busy time. The profile, which is of 16 processes, does not say for which lock: presumably the
# spin lock of that dentry, which lies beside the count in the same cache line and is taken when the
# lockless update of the count fails too often, or finds the lock held, as all do from then on. What limits
# creates after this patch is in the VFS.

# %% [markdown]
# ## What is next
#
# - Turn the knobs: in the [lock explorer](lock_explorer.ipynb) choose an *unfair* lock, as in x86 guests
#   without paravirtual spin locks: no queue, no storm. That is why such a guest cannot reproduce the storm.
# - What the profile of the slow kernel alone says about the patch: [03 Predict](../03_predict.ipynb).
#   Subtracting the spin time from the profile promises far too little.
# - Could each CPU search its own part of the bitmap? On paper,
#   [claim-spread](../../kernel-patches/inode-claim/claim-spread/cover.md) gains less than 0.5% up to
#   160 CPUs; it was not built.
# - The models in code: `lib/lockscale/sim/models/inode_claim.py`, one line per step.
