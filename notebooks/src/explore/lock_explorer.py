# SPDX-License-Identifier: MIT
# %% [markdown]
# # The lock explorer: turn a lock's knobs and watch its queue
#
# A thread does some work of its own (*elsewhere*), then takes a lock and holds it for a while (*hold*).
# With few threads the lock is nearly always free. Add threads, or lengthen the hold, and they queue.
# Whether that costs a little or nearly everything depends on what a thread does once it gets the lock.
#
# In S1 it finds that the bit it had chosen is taken, and queues again, so that only one thread gets through
# per pass of the whole queue. Try this:
#
# 1. Move *threads* from 24 to 40. At 24 all is well; at 40 most of the work is retries.
# 2. Go on to 48 and set the lock kind to *unfair*, as in x86 guests without paravirtual spin locks. The
#    storm is gone: it needs a fair queue. (*ticket* gives the numbers of *queued*, and *test_and_set* those
#    of *unfair*: they differ in the traffic of cache lines, which this model does not price. Under
#    *sleeping* the storm stays: a woken thread needs 5 us until it runs, and meanwhile others take the
#    lock, with some 40 attempts per create. Under *mutex* it stays as well, with some 36: most waiters get
#    the lock in the order of coming, before they have spun for 10 us and sleep.)
# 3. Choose the arm *search-locked*, which is the patch: no attempt is lost any more, at any number of
#    threads.
#
# *Host CPUs* below the number of threads: the threads are virtual CPUs of a guest whose host has fewer, so
# that the host preempts the lock holder or the next waiter for a time slice of 3 ms. On bare metal the
# holder of a spin lock is not preempted (except with PREEMPT_RT). One CPU too few is enough: in a FIFO
# queue all wait for the one spinner that is not running. *Start skew* spreads the threads' first
# operations. Both, and the lock kind, apply to S1 only.
#
# Keyboard: Tab goes to the next control, Shift+Tab back. The arrow keys move a slider by one step, Page Up
# and Page Down by five, Home and End to its ends; in a list, Up and Down or the first letters of a name
# select; Space ticks a box or presses a button. These keys stay in the explorer; combinations with Ctrl or
# Alt go to JupyterLab: Ctrl+S saves.
#
# While a control moves, each point comes from 4 short runs of 500 operations. When you stop, each point
# is simulated again with 20,000, as many as in a study or in `lockscale sim`. Look at S1 with 32 threads:
# the short run ends before the storm begins, and of the long ones some are in the storm for longer than
# others: the words below the figure then give each run. The timeline is always the start of the first run.
# With *host CPUs* below the number of threads there is no short run: the curves come some seconds after you
# stop, with one CPU 20.
#
# Everything here is simulated except the open marks, which were published. The command below the figure
# prints the same numbers in a terminal. The calibration is only valid for the model's default times.
#
# The explorer is not saved in the file: after reloading the page or reopening the notebook, run its cells
# again.
#
# As a picture, S1's create rate with and without the patch, simulated and published:
#
# ![S1: simulated lines, published marks](../../figures/inode-claim-simulated.svg)
#
# Index: [Notebooks](../README.md). The same algorithm with its tables: [02](../02_simulate.ipynb).

# %% tags=["parameters"]
scene = "inode-claim"  # or write-access, group-trylock, group-lists, orphan-file, creat-clo
threads = 48

# %%
from lockscale.show.explore.setting import Setting, changed
from lockscale.show.explore.widget import lock_explorer

explorer = lock_explorer(changed(Setting(), scene=scene, threads=threads))
explorer

# %% [markdown]
# *Write model parameters* and *Write study file* save the settings in `runs/explored/`. A cell can also
# move the controls: `explorer.move(threads=40, kind="unfair")`.
