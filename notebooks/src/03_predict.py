# SPDX-License-Identifier: MIT
# %% [markdown]
# # 03 Predict: what the patch must give, written down before it is measured
#
# From the base columns and the base profile alone, where one is published; a constant from outside them
# is measured on its own, and its uncertainty is carried. The prediction is kept with its hash; notebook 07
# compares it with what was measured. `lockscale whatif` prints the same. In a run one arm, and no other, is
# counted here on the run's own target, for a prediction of what the others will count there. For
# group-trylock and orphan-file that is the kernel before the patch. For inode-claim it is the patched one,
# from whose counts the retries of the unpatched one are told: that tests the model, and is no prediction
# before the patch.

# %% tags=["parameters"]
study = "inode-claim"
run = ""
target = "qemu"

# %%
import pandas as pd

from lockscale.show.figures import waits_icicle, waits_table
from lockscale.show.headlines import predicted
from lockscale.show.prediction import answer_for, base_to_count, predict
from lockscale.show.story import open_story

story = open_story(study, run)
prediction = predict(story.study, story.count_base(target, base_to_count(story.study)))
story.write_prediction(prediction)

# %% [markdown]
# ## Who waits
#
# Who waits for what on the published machine: threads, by Little's law.

# %%
answer = answer_for(story.study)
drawn = answer.waits and waits_icicle(answer.waits, f"published base of {answer.study}")
drawn and story.show(drawn, waits_table(answer.waits), "03-who-waits")

# %% [markdown]
# ## The parameters
#
# What the base says, and what comes from outside it.

# %%
pd.DataFrame(answer.parameters)

# %%
answer.notes

# %% [markdown]
# ## The prediction
#
# Each arm, from `low` to `high` at 95%. `naive_value` is what deleting the waits would suggest, and below
# it stands why that is wrong.

# %%
pd.DataFrame(prediction["predictions"])

# %%
answer.naive_reason

# %% [markdown]
# ## What stays open
#
# What the base cannot tell, and the measurement that would.

# %%
pd.DataFrame(answer.open)

# %% [markdown]
# Which arm is worth writing.

# %%
pd.DataFrame(answer.ideas)

# %% [markdown]
# ## The guests
#
# What notebook 05 will count on `cpus` processors with `threads` processes. Of kind `bound`: what the
# algorithm alone sets. Of kind `fitted`: one factor of the simulator's model, the time outside the locks, is
# fitted to the counts of the arm `fitted_arm`, and the model then says what the other arms count, from `low`
# to `high` at 95% for as many blocks as are measured. That takes the model to be right, so the intervals are
# too narrow: [data](../data/README.md#what-falls-short) says how many missed.

# %%
pd.DataFrame(prediction["guests"])

# %% [markdown]
# The factor and whether the counts identify it, the counts, and what limits the prediction; or why nothing
# was counted.

# %%
prediction["guest_fit"]

# %% [markdown]
# ## In one sentence

# %%
predicted(prediction)
