# SPDX-License-Identifier: MIT
# %% [markdown]
# # 04 Build the kernels: one per arm
#
# Each arm is the 6.12 base plus a series of [kernel-patches](../kernel-patches/README.md). A kernel is
# known by its build-id and kept under the hash of base, series, configuration and compiler, so a
# second call builds nothing.
# With a run of [data/measured](../data/README.md) as `run` nothing is built: its kernels are shown.

# %% tags=["parameters"]
study = "inode-claim"
run = ""
target = "qemu"
kernel_source = None

# %%
import pandas as pd

from lockscale.show.headlines import built
from lockscale.show.story import open_story

story = open_story(study, run, kernel_source=kernel_source)
kernels = story.kernels(target)

# %% [markdown]
# ## The kernels
#
# `spin_lock` decides whether a storm can show at all: only a queued lock hands over first come,
# first served.

# %%
columns = ["release", "build_id", "spin_lock", "series_sha256", "compiler"]
pd.DataFrame({arm: {c: k[c] for c in columns} for arm, k in kernels.items()})

# %% [markdown]
# ## The arms
#
# An arm is its kernel, how its file system is made and mounted, and its knobs; two that are equal in all
# of it are refused.

# %%
pd.set_option("display.max_colwidth", None)
lines = {arm: story.study.options_of(arm).line for arm in story.study.arm_names}
pd.DataFrame({"mkfs, mount, knobs": lines})

# %% [markdown]
# ## In one sentence

# %%
built(kernels)
