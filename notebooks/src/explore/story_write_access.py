# SPDX-License-Identifier: MIT
# %% [markdown]
# # S2: a function becomes fifty times cheaper, and creates three times slower
#
# Source: LU-9796, "Speedup file creation under heavy concurrency" (Lustre, 2017). Everything below that is
# not called published is simulated.
#
# Index: [Notebooks](../README.md). Before: [S1, the retry storm](story_inode_claim.ipynb), which this one
# needs. Next story: [S3, block groups](story_group_trylock.ipynb).

# %% tags=["parameters"]
threads = 48

# %% [markdown]
# ## What they saw
#
# mds-survey, 48 threads that create files on ldiskfs, Lustre's ext4. A patch made
# `jbd2_journal_get_write_access` cheap: 23.29 us a call before, 0.43 us after. Creates fell from 119,346 to
# 35,690 a second.

# %%
from lockscale.show.figures import published_figure

published_figure("s2_mds_survey")

# %% [markdown]
# The profile before the patch: get_write_access takes nearly all the time of a create, and `_raw_spin_lock`
# almost none, 0.08 us a call.

# %%
published_figure("s2_function_cost_without")

# %% [markdown]
# The profile after it: the spin lock has all the time, and get_write_access is called 103,374,244 times in
# place of 28,364,899, for the same two million files.

# %%
published_figure("s2_function_cost_with")

# %% [markdown]
# ## Why: the slow lock kept them apart
#
# More calls for the same files: that is the retry storm of [S1](story_inode_claim.ipynb). All find the same
# zero bit, queue for the group lock, and all but one lose. It was there before the patch too, but small.
# What held it down?
#
# The slow get_write_access takes the lock of the bitmap's *buffer*. Who has to wait for that lock sleeps,
# and to wake a sleeper takes time. Meanwhile a thread that is running takes the lock past it. So most
# creators sleep, few arrive at the group lock at a time, and few hold a stale bit. The lock that looked
# like the problem worked as a valve.
#
# Below, 100 us of 48 threads: blue sleeps, orange spins in the queue, black has a lock, green does its own
# work. The first stop of the slider is the old kernel, the second the cheap get_write_access. The third and
# fourth have the cure of S1, with the slow and with the cheap one.

# %%
from lockscale.show.explore.film import film, shots, tally
from lockscale.show.readable import show_tables_whole

show_tables_whole()
paradox = shots("write-access", ["slow-retry", "fast-retry", "slow-search", "fast-search"], [threads])
film(paradox)

# %% [markdown]
# The same stretches, counted: sleepers before, spinners after, and how often the group lock is taken for
# one file.

# %%
tally(paradox)

# %% [markdown]
# What the patch changed inside is read from the two profiles, not from its text. It is the simplest change
# that gives both rates and both numbers of calls.

# %% [markdown]
# ## What the patches do
#
# A cheaper function is no mistake. It needs the other patch beside it: search again under the group lock,
# and nobody who waits loses. Then a queue costs no more than its length, and the cheap get_write_access is
# a gain. Between the two a prototype let the losers sleep for a set time; its reviewers did not like "a
# timed sleep", nor did its author.

# %%
from lockscale.show.explore.figure import explorer_figure
from lockscale.show.explore.setting import Setting
from lockscale.show.explore.view import view

explorer_figure(view(Setting("write-access", "slow-retry", 48, fine=True)))

# %% [markdown]
# Lines are simulated, with 95% intervals; open marks are published. Up to 24 threads the cheap one is as
# good or better, from 32 on it is not: who tests with few threads merges a regression.

# %% [markdown]
# ## What is next
#
# - All five arms, and the published points on them: [02 Simulate](../02_simulate.ipynb) with `study =
#   "write-access"`.
# - The threshold: what the slow profile alone says of a cheaper call, and what it cannot: [03
#   Predict](../03_predict.ipynb).
# - The arms as patches: [kernel-patches](../../kernel-patches/README.md), among them
#   [timed-backoff](../../kernel-patches/write-access/timed-backoff/cover.md).
# - The kernel models in code: `lib/lockscale/sim/models/write_access.py`.
