# SPDX-License-Identifier: MIT
# %% [markdown]
# # 03 Predict: what the patch must give, written down before it is measured
#
# From the base columns and the base profile alone, where one is published; a constant from outside them
# is measured on its own, and its uncertainty is carried. The prediction is kept with its hash; notebook 07
# compares it with what was measured. `lockscale whatif` prints the same.
# Before: [02 Simulate](02_simulate.ipynb). Next: [04 Build kernels](04_build_kernels.ipynb).

# %% tags=["parameters"]
study = "inode-claim"
run = ""

# %%
import pandas as pd

from lockscale.story import open_story
from lockscale.whatif import answer_for, predict
from lockscale.whatif.icicle import waits_icicle, waits_table

story = open_story(study, run)
prediction = predict(story.study)
story.write_prediction(prediction)

# %% [markdown]
# Who waits for what on the published machine: threads, by Little's law.

# %%
answer = answer_for(story.study)
drawn = answer.waits and waits_icicle(answer.waits, f"published base of {answer.study}")
drawn and story.show(drawn, waits_table(answer.waits), "03-who-waits")

# %% [markdown]
# What the base says, and what comes from outside it.

# %%
pd.DataFrame(answer.parameters)

# %%
answer.notes

# %% [markdown]
# Each arm, from `low` to `high` at 95%. `naive_value` is what deleting the waits would suggest, and below
# it stands why that is wrong.

# %%
pd.DataFrame(prediction["predictions"])

# %%
answer.naive_reason

# %% [markdown]
# What the base cannot tell, and the measurement that would.

# %%
pd.DataFrame(answer.open)

# %% [markdown]
# Which arm is worth writing.

# %%
pd.DataFrame(answer.ideas)

# %% [markdown]
# What the algorithm alone says of the guests of notebook 05: bounds of the counter that proves the arm, on
# `cpus` processors with `threads` processes; empty where it sets none.

# %%
pd.DataFrame(prediction["guests"])
