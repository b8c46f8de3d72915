# SPDX-License-Identifier: MIT
# %% [markdown]
# # The lock explorer: turn a lock's knobs and watch its queue
#
# A thread does some work of its own (*elsewhere*), then asks for a lock and has it for a while (*hold*).
# With few threads the lock is nearly always free. Add threads, or hold it longer, and they queue. Whether
# that costs a little or nearly everything depends on what a thread does when it comes out of the queue.
#
# In S1 it finds that the bit it had chosen is taken, and queues again: each turn of the queue lets one thread
# through. Try this:
#
# 1. Move *threads* from 24 to 40. Nothing is wrong at 24; at 40 most of the work is retries.
# 2. Go on to 48 and set the lock kind to *unfair*, as in many virtual machines. The storm is gone: it needs
#    a fair queue.
# 3. Choose the arm *search-locked*, the patch: no attempt is lost any more, at any number of threads.
#
# Tab goes from control to control; arrow keys, Page Up and Page Down move a slider; Space ticks a box.
# Everything here is simulated but the open marks, which were published; the line below the figure prints
# the same numbers in a terminal. The calibration holds for the model's own times only.
# Index: [Notebooks](../README.md). The same algorithm beside its tables: [02](../02_simulate.ipynb).

# %% tags=["parameters"]
scene = "inode-claim"  # or write-access, group-trylock, orphan-file, creat-clo
threads = 48

# %%
from lockscale.explore.setting import Setting, changed
from lockscale.explore.widget import lock_explorer

explorer = lock_explorer(changed(changed(Setting(), scene=scene), threads=threads))
explorer

# %% [markdown]
# *Write model parameters* and *Write study file* keep the setting in `runs/explored/`. A cell can move the
# controls too: `explorer.move(threads=40, kind="unfair")`.
