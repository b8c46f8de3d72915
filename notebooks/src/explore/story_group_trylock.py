# SPDX-License-Identifier: MIT
# %% [markdown]
# # S3: two containers allocate blocks, and each gets a quarter
#
# Source: the cover letter of "ext4: add `ext4_try_lock_group()` to skip busy groups" and "ext4: move
# `mb_last_[group|start]` to `ext4_inode_info`" (Baokun Li). Numbers are simulated unless called published
# or of a real kernel.
#
# Index: [Notebooks](../README.md). Previous story: [S2, the paradox](story_write_access.ipynb). Next story:
# [S4, orphans](story_orphan_file.ipynb).

# %% tags=["parameters"]
threads = 8

# %% [markdown]
# ## What they saw
#
# will-it-scale's fallocate2 grows a file to 1 MiB in steps of 8 KiB, truncates it, and starts again. One
# container did 295,287 fallocates per second. Two did 70,665 *each*: together less than half of what one
# did alone. At 64 containers each was down to 3,588.

# %%
from lockscale.show.figures import published_figure

published_figure("s3_fallocate2")

# %% [markdown]
# ## Why: everybody in one group
#
# A file system is divided into block groups, and each has a lock, one of up to 128. So 128 groups could
# serve 128 writers at once. But a search for blocks of a large file starts where the last one ended, and
# there is only *one* such starting point for the whole file system, `s_mb_last_group`, under one more lock,
# `s_md_lock`. So all searchers go to the same group and wait for its lock, while all other groups are free.
#
# It is worse than taking turns. A group's bitmap and buddy are in the cache of the CPU that used them last.
# Each new lock holder first has to fetch them from there, with the lock held, while all others wait. A
# single container never pays for that. This is how two can do less than one.
#
# Below are 100 us of eight writers: a row for each lock, and in it a line for each thread that uses it. In
# orange, a thread spins; in black (white in a dark theme), it holds the lock. The first position of the
# slider is the old kernel. Drag the bright part of the strip to scrub through time.

# %%
from lockscale.show.explore.film import film, shots, tally
from lockscale.show.readable import show_tables_whole

show_tables_whole()
groups = shots("group-trylock", ["wait-group", "trylock", "inode-goal-scan0"], threads)
film(groups, ["group lock", "s_md_lock"])

# %% [markdown]
# The same 100 us in numbers (the film begins with 30 of them): `locks_used` is how many groups were
# allocated from; `holding` counts all locks.

# %%
tally(groups)

# %% [markdown]
# ## What the patches do
#
# 1. *trylock* checks whether the group is busy. If it is, the search goes on to the next group: there are
#    free blocks everywhere. The second position of the slider: the writers spread over many groups, and
#    move on through them together.
# 2. *inode-goal* gives each file its own starting point. Nobody reads or writes the global one, so
#    `s_md_lock` is off this path, and each writer stays in its own group, whose bitmap stays in one CPU's
#    cache. The third position: a row for each writer, and no row for `s_md_lock`.
#
# Below is the sum over all containers, simulated with 95% intervals; open marks are published values times
# the number of containers. S3's cover letter has no numbers for patch 1 alone. For the last curve the
# journal is assumed to be the limit: the time that it takes in the model is calibrated to the published
# point at 64 containers, so the model does not show that it really is the journal.
#
# The old curve matches the published points at its ends, where its times were calibrated, and is too high
# in between, by 63% at 4, the worst of the curves here: a few containers suffer more than this explanation
# accounts for. The new curve matches its points up to 4 and at 64, where its times were calibrated as well,
# but is too high in between. The direction is explained, the size of the drop is not.

# %%
from lockscale.show.explore.figure import explorer_figure
from lockscale.show.explore.setting import Setting
from lockscale.show.explore.view import view

explorer_figure(view(Setting("group-trylock", "wait-group", 64, fine=True)))

# %% [markdown]
# ## The real kernels
#
# Booted with 64 CPUs in [virtual time](../../docs/manycore.md), which prices instructions and transfers of
# cache lines: rates can be compared with one another, not with those of hardware.
#
# ![Gain of the real kernels against processes](../../figures/group-trylock-gains.svg)
#
# All with `mb_optimize_scan=0`. With 64 containers a goal per inode makes allocations 13 times as fast
# (published: 6.5), and it is the old kernel that differs: 134 thousand per second here, 230 thousand
# published. Every kernel is slower with 64 than with 32: more than 32 CPUs are on two sockets, and the
# cache lines that the containers still share move between these. With a goal per inode that is above all
# jbd2's count of handles: its cache line is in transfer for 91% of the time with 32 and 81% with 64. The
# study [handle-start](../../kernel-patches/README.md) is about that line. The grey band was predicted from
# the old kernel alone; at 32 containers the real gain, 14.3, is above its upper end, 13.0.

# %% [markdown]
# ## What is next
#
# - With `mb_optimize_scan` S3's kernel keeps lists of groups, which all CPUs share: the published column
#   *mb_optimize_scan* gains less. In the [lock explorer](lock_explorer.ipynb) it has its own scene, and the
#   arm *inode-goal-scan1*.
# - Upstream did something else next: inodes hashed over several goals,
#   [multi-goal](../../kernel-patches/group-trylock/multi-goal/cover.md). We tried to beat it with
#   [goal-spread](../../kernel-patches/group-trylock/goal-spread/cover.md). [02
#   Simulate](../02_simulate.ipynb) with `study = "group-trylock"` simulates both, and [in virtual
#   time](../../docs/manycore.md#what-it-gave) both were measured.
# - The models in code: `lib/lockscale/sim/models/group_trylock.py` and `group_goals.py`.
