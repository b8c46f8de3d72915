# SPDX-License-Identifier: MIT
# %% [markdown]
# # 03 Predict: what the patch must give, written down before it is measured
#
# From the base columns and one constant measured elsewhere: the profile counts
# `jbd2_journal_get_write_access`, so with the calls of a create without retries it tells how many
# claims a create loses, and so how many of the processes sit in the retry loop. The prediction is
# kept with its hash; notebook 07 compares it with what was measured.
# Before: [02 Simulate](02_simulate.ipynb). Next: [04 Build kernels](04_build_kernels.ipynb).

# %% tags=["parameters"]
study = "inode-claim"
run = ""

# %%
import pandas as pd

from lockscale.queueing.laws.retry_storm import threshold_us
from lockscale.sim import load_model
from lockscale.story import open_story
from lockscale.whatif import predict

story = open_story(study, run)
prediction = predict(story.study)
story.write_prediction(prediction)

# %% [markdown]
# S1's machine. `naive_value` is what deleting the spin time from the profile would suggest: too low,
# because the threads in `jbd2__journal_start` wait for handles whose owners spin.

# %%
pd.Series(prediction["published_machine"])

# %% [markdown]
# The storm needs a hold time above 4 Z / N^2: with the calibrated Z, the threshold falls from far
# above any spin lock's hold time to far below it as the number of processes grows.

# %%
think_us = load_model("inode_claim").bind({})["elsewhere_us"]
pd.DataFrame({"processes": n, "threshold_ns": 1000 * threshold_us(n, think_us)} for n in (2, 4, 8, 16, 48))

# %% [markdown]
# The guests: extra calls per create lie above 0 and at or below `min(processes, CPUs) - 1`.

# %%
pd.DataFrame(prediction["guests"])
