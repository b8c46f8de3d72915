# SPDX-License-Identifier: MIT
# %% [markdown]
# # 04 Build the kernels: one per arm
#
# Each arm is the base source (6.12 by default) plus a patch series of
# [kernel-patches](../kernel-patches/README.md). The series is empty where the arm is the base itself: 6.12
# has S1's fix, so in that study the patched arm is the base, and the unpatched arm is a patch that reverts
# the fix. A kernel is identified by its build-id and cached under the hash of source, series, configuration
# and compiler, so a second call builds nothing. If `run` is one of [data/measured](../data/README.md),
# nothing is built and the kernels of that run are shown.

# %% tags=["parameters"]
study = "inode-claim"
run = ""
target = "qemu"
kernel_source = None

# %%
import pandas as pd

from lockscale.show.headlines import built
from lockscale.show.readable import show_tables_whole
from lockscale.show.story import open_story

show_tables_whole()
story = open_story(study, run, kernel_source=kernel_source)
kernels = story.kernels(target)

# %% [markdown]
# ## The kernels
#
# The column `spin_lock` shows whether a retry storm can occur at all: a storm needs a lock that serves its
# waiters in FIFO order, as a queued spin lock does.

# %%
columns = ["release", "build_id", "spin_lock", "series_sha256", "compiler"]
pd.DataFrame({arm: {c: k[c] for c in columns} for arm, k in kernels.items()})

# %% [markdown]
# ## The arms
#
# An arm is a kernel, mkfs and mount options, and runtime knobs. Two arms that do not differ in any of these
# are refused.

# %%
lines = {arm: story.study.options_of(arm).line for arm in story.study.arm_names}
pd.DataFrame({"mkfs, mount, knobs": lines})

# %% [markdown]
# ## In one sentence

# %%
built(kernels)
