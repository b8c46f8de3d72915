# SPDX-License-Identifier: MIT
# %% [markdown]
# # Runs: your own, and the curated ones
#
# Every run of a study in `runs/`, every set of a batch, and the curated runs of `data/measured`. A run's
# name links to its changelog text, or else to its study; a number links to its executed notebook.
# `make study` adds a run, `lockscale batch` a batch. Notebooks that are opened by hand write into
# `runs/STUDY-by-hand`.
# Index: [Notebooks](README.md).

# %% tags=["parameters"]
# which runs the table lists, and which two are compared; empty: all of them, and the latest two
only_study = ""
only_target = ""
only_origin = ""
first = ""
second = ""

# %% [markdown]
# ## The runs
#
# *complete*: measured, and its changelog text is written. *measured*: it has its rows, but no changelog
# text, like all curated runs; notebook 08 writes one. *unfinished*: `lockscale study resume RUN`
# continues it. *not measured*: its notebooks ran without a guest or a server.

# %%
from lockscale.show.runs import batches_table, browse_runs, runs_table, side_by_side

runs_table(only_study, only_target, only_origin)

# %% [markdown]
# ## Browse
#
# Filter the table, and choose two runs of the same study and origin to compare. Of the curated runs only the
# two of handle-start in virtual time have both in common.

# %%
browse_runs()

# %% [markdown]
# ## Two runs
#
# The settings that differ, then rates and counters, of the runs `first` and `second` above; where these are
# empty, of the latest two that have study and origin in common, curated or not. There is no significance
# test: a machine drifts from run to run, and only the arms of one run are interleaved. Rates in a plain guest
# (target qemu) are not a benchmark.

# %%
side_by_side(first, second)

# %% [markdown]
# ## Batches

# %%
batches_table()
