# SPDX-License-Identifier: MIT
# %% [markdown]
# # The casebook: what patches gave, and what could be predicted before
#
# Published patches against lock contention, with the rates before and after as their authors printed them.
# A case's unpatched side goes in: threads, rates, the share of a profile that the change removes. Out comes
# an interval of the gain, learned from cases of other families. Nothing here is simulated; gains are
# patched over unpatched rate at the most threads of a case.
#
# Index: [Notebooks](../README.md). How it is used for a lock of yours: [a patch of any
# lock](../../docs/any-lock.md).

# %% tags=["parameters"]
file = ""

# %%
from pathlib import Path

import numpy as np
import pandas as pd

from lockscale.predict.casebook import asked_of, past, read_casebook
from lockscale.predict.casebook_score import score_cases
from lockscale.show.figures import casebook_figure
from lockscale.show.readable import show_tables_whole

show_tables_whole()
cases = read_casebook(Path(file)) if file else read_casebook()
score = score_cases(cases)
casebook_figure(score)

# %% [markdown]
# A bar that crosses the dotted line holds. Points far to the right of it are patches that gave much more
# than anybody could have predicted: a list that was walked under a mutex, a hash that grew.
#
# ## Deleting the waits
#
# If a share *w* of the samples goes and nothing else changes, the rate grows by 1 / (1 - *w*). That is what
# a profile promises. How much of it arrives?

# %%
asked = [one for case in cases for one in asked_of(case) if one.base.promise and one.published]
promised = np.array([one.base.promise for one in asked])
arrived = np.array([one.published for one in asked])
within = {
    f"within {k}": f"{np.mean(np.abs(np.log(arrived / promised)) < np.log(k)):.0%}" for k in (1.25, 2, 4)
}
pd.DataFrame([{"gains": len(asked), **within, "too high": f"{np.mean(arrived < promised):.0%}"}])

# %% [markdown]
# Mostly too high: the next lock has no queue while the first one holds everybody back, so that no profile
# shows it. At times too low: waiting that moves cache lines slows those who do not wait.
#
# ## What is left of the lock
#
# Another algorithm keeps the lock as long as it was; fewer or shorter holds keep some of it; split or
# lockless, it is gone. That, more than the profile, shows how far a gain can reach.

# %%
learned = pd.DataFrame([one._asdict() for one in past(cases)])
quantiles = learned.groupby("left").gain.quantile([0.1, 0.5, 0.9]).unstack()
quantiles.assign(gains=learned.groupby("left").size()).round(2)

# %% [markdown]
# ## The score
#
# Each case from other families alone. `held_pct`: how often the 90% interval holds the published gain;
# `sign_pct`: whether a change of more than 5% was predicted with the right sign; `wrong_side`: intervals
# that say faster of what was slower.

# %%
summed = ["n", "held_pct", "median_width", "sign_pct", "wrong_side"]
rows = {"learned": {key: score[key] for key in summed}, **score["baselines"]}
pd.DataFrame(rows).T.round(2)

# %% [markdown]
# ## What was missed

# %%
found = pd.DataFrame(score["cases"])
found[~found.held][["id", "label", "kind", "threads", "low", "value", "high", "published"]].round(2)

# %% [markdown]
# An interval of nine in ten misses one in ten. A casebook of your own is one file: set `file` above, or
# `lockscale casebook score FILE`.
