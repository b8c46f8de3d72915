# SPDX-License-Identifier: MIT
# %% [markdown]
# # 02 Simulate: the algorithm that explains the tables
#
# A model is a short Python function that reads like the kernel function it stands for, and the simulator
# runs it. This notebook first writes the model of S1 in a cell, so that you can read and change it. Then it
# simulates the arms of the study, says which parameters of the model were calibrated to published numbers,
# and compares simulated and published points.

# %% tags=["parameters"]
study = "inode-claim"
run = ""
# None: as the study file says
simulated_threads = None
replications = None
seed = None

# %% [markdown]
# ## A model in one cell
#
# S1's bottleneck is how `__ext4_new_inode()` claims an inode (`fs/ext4/ialloc.c` of Linux 4.13, shortened,
# GPL-2.0):
#
# ```c
# repeat_in_this_group:
# 	ino = ext4_find_next_zero_bit(bitmap, EXT4_INODES_PER_GROUP(sb), ino);
# 	err = ext4_journal_get_write_access(handle, inode_bitmap_bh);
# 	ext4_lock_group(sb, group);
# 	ret2 = ext4_test_and_set_bit(ino, bitmap);
# 	ext4_unlock_group(sb, group);
# 	if (!ret2)
# 		goto got;	/* we grabbed the inode */
# 	goto repeat_in_this_group;
# ```
#
# The model has one line for each of these. A parameter's name ends in its unit, and its note says what it
# means and where the number comes from.

# %%
from typing import Annotated

from lockscale.sim import simulate
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model

Rest = Annotated[float, Note("mean time of the rest of a create", "calibrated: S1's patched rate")]
Hold = Annotated[float, Note("lock hand-over, test-and-set, unlock", "calibrated: S1's unpatched rate")]
Patch = Annotated[bool, Note("search again with the lock held", "S1's patch")]


# %%
@model(unit="creates/s", calibration="calibrated: elsewhere_us and hold_ns, from S1's two creation rates")
def inode_claim(m, *, elsewhere_us: Rest = 58.54, hold_ns: Hold = 285.3, search_locked: Patch = False):
    """Claim a bit of the inode bitmap that was found without the group lock."""
    group = m.queued_lock("group lock", hold=ns(hold_ns))
    bitmap = m.bitmap("inode bitmap")

    create = m.path("create")
    create.spend(exponential(us(elsewhere_us)), "the rest of ext4_create")
    again = create.label("repeat_in_this_group")
    create.find_zero(bitmap)  # without the lock: another CPU may take the bit
    create.spend(ns(250), "jbd2_journal_get_write_access")  # assumed; S1's table has 460 ns while traced
    create.lock(group)
    create.claim(bitmap, search_again=search_locked)
    create.unlock(group)
    create.retry_if_lost(again)


# %% [markdown]
# 48 processes, without the patch:

# %%
simulate(inode_claim, 48)

# %% [markdown]
# With the patch. Change a number here or a line above, and run the cell again.

# %%
simulate(inode_claim, 48, {"search_locked": True})

# %% [markdown]
# How the rate collapses, and at how many threads, if the lock is held longer. Up to the knee the two
# kernels do not differ; beyond it, all waiters of the unpatched one go for the same bit, and only one of
# them wins per pass of the queue. Each number is the mean of several runs. At the knee they differ, as the
# storm has begun in some of them and not in others: at 32 threads and 285.3 ns the fastest run is more than
# twice as fast as the slowest, so their mean describes neither.

# %%
import pandas as pd

from lockscale.show.readable import show_tables_whole

show_tables_whole()
rates = pd.DataFrame(index=pd.Index([8, 16, 24, 28, 32, 40, 48], name="threads"))
for hold_ns in (285.3, 400.0):
    for patched in (False, True):
        given = {"hold_ns": hold_ns, "search_locked": patched}
        column = f"{hold_ns:g} ns, {'patched' if patched else 'unpatched'}"
        rates[column] = [round(simulate(inode_claim, n, given).rate_per_s) for n in rates.index]
rates

# %% [markdown]
# The same function, with one more parameter, is in the library (`lib/lockscale/sim/models/inode_claim.py`),
# next to those of the other studies. [Your own model](../docs/own-model.md) lists all locks and steps.
#
# ## The study's algorithm
#
# The rest is about `study`, whichever that is: its algorithm in words, and what was calibrated.

# %%
from IPython.display import display

from lockscale.show.figures import table_beside_simulated
from lockscale.show.headlines import simulated
from lockscale.show.readable import sentences
from lockscale.show.simulated import calibration, errors, simulated_points, table_points, unfitted_check
from lockscale.show.story import open_story

story = open_story(study, run, simulated_threads=simulated_threads, replications=replications, seed=seed)
sentences([story.study.story, calibration(story.study)])

# %% [markdown]
# ## The curves
#
# Every simulated arm, with the points of the study's first table.

# %%
points, table = simulated_points(story.study), story.tables[0]
in_table = table_points(story.study, points, table)
drawn = table_beside_simulated(story.study, points, in_table, table)
story.show(drawn, points, "02-table-against-simulated")

# %%
points[points.threads == points.threads.max()]

# %% [markdown]
# ## The errors
#
# The error at each simulated point of the first table. A point to which a number was calibrated proves
# nothing; the others are the check.

# %%
found = errors(points, in_table)
found

# %% [markdown]
# ## The check
#
# A table to which nothing was fitted, if the study has one. For S1 it is the function cost table: it was
# measured with the tracer on, so the time of one create is taken from it, and the model must reproduce the
# calls, the attempts and the mean spin time. S1 does not report the attempts per create. They are its calls
# of `jbd2_journal_get_write_access` - 8.03 + 1: a create that loses no bit makes 8.03 calls
# (`calls_without_retry` in the study file, counted by us on Linux 6.12), one of them its first attempt. The
# 8.03 are with one process; in our run in virtual time a create makes 7.14 with 16, which would give S1 one
# attempt more. Nor does S1 say how many threads ran while it was traced: 48 are assumed, as in its table of
# rates.

# %%
display(sentences(story.study.limits))
check = unfitted_check(story.study)
check

# %% [markdown]
# ## In one sentence

# %%
simulated(found, check)
