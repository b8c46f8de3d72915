# SPDX-License-Identifier: MIT
# %% [markdown]
# # The casebook: what patches gained, and what could have been predicted
#
# Published patches against lock contention, with the rates before and after as their authors printed them.
# The input is a case's unpatched side: threads, rates, the share of a profile that the change removes. The
# output is an interval for the gain, learned from cases of other families. Nothing here is simulated; a
# gain is the patched over the unpatched rate at the case's highest thread count.
#
# Index: [Notebooks](../README.md). How to use it for your own lock: [a patch to any
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
cases = read_casebook(Path(str(file))) if file else read_casebook()
score = score_cases(cases)
casebook_figure(score)

# %% [markdown]
# A bar that crosses the dotted line is a hit. The largest gains (a list that was walked under a mutex,
# a hash table that grows) lie beyond the figure's edge, as its subtitle says.
#
# ## Deleting the waits
#
# If a share *w* of the samples goes away and nothing else changes, the rate grows by a factor of 1 / (1 -
# *w*). That is what a profile promises. How much of the promise is kept? `within 2`: the share of the gains
# that are no more than a factor of two off the promise; `too high`: the share that fall short of the
# promise.

# %%
asked = [one for case in cases for one in asked_of(case) if one.unpatched.promise and one.published]
promised = np.array([one.unpatched.promise for one in asked])
arrived = np.array([one.published for one in asked])
within = {
    f"within {k}": f"{np.mean(np.abs(np.log(arrived / promised)) < np.log(k)):.0%}" for k in (1.25, 2, 4)
}
pd.DataFrame([{"gains": len(asked), **within, "too high": f"{np.mean(arrived < promised):.0%}"}])

# %% [markdown]
# In most cases the promise is too high: the next lock has no queue as long as the first one holds everybody
# back, so no profile shows it. Sometimes it is too low: waiters bounce cache lines, which slows down those
# who do not wait.
#
# ## How much of the lock remains
#
# With another algorithm the lock is held for as long as before; with fewer or shorter holds, part of that
# time remains; with split or lockless it is gone. This, more than the profile, determines how large a gain
# can be.

# %%
learned = pd.DataFrame([one._asdict() for one in past(cases)])
# of the gains one in ten lies below the first, half below the second, and nine in ten below the third
quantiles = learned.groupby("left").gain.quantile([0.1, 0.5, 0.9]).unstack()
quantiles.assign(gains=learned.groupby("left").size()).round(2)

# %% [markdown]
# ## The score
#
# Each case is predicted from other families alone. `n`: the number of cases, each of which has one gain or
# several; `held_pct`: how often the 90% interval contains the published gain; `median_width`: its upper
# over its lower end; `sign_pct`: how often the prediction was right about whether the gain is above 5%;
# `gained_pct`: what `sign_pct` would be if "above 5%" were said of every patch. Few patches that gain
# nothing are published: where the two are equal, as for `learned` below, `sign_pct` shows no skill.
# `wrong_side`: intervals that say faster where the patch made it slower. No interval of `learned` can: each
# begins at 0.95, a patch that only costs its own code. So these intervals say how much a patch may gain,
# and never that it surely gains. `delete_waits` is the promise, give or take a quarter, and `history` a
# line from promises to gains; both need a profile, so their rows are of fewer cases.

# %%
summed = ["n", "held_pct", "median_width", "sign_pct", "gained_pct", "wrong_side"]
rows = {"learned": {key: score[key] for key in summed}, **score["baselines"]}
pd.DataFrame(rows).T.round(2)

# %% [markdown]
# ## What was missed
#
# `value` is the predicted gain, `low` to `high` its 90% interval. A case with one gain has no `label`.

# %%
found = pd.DataFrame(score["cases"])
columns = ["id", "label", "kind", "threads", "low", "value", "high", "published"]
found[~found.held][columns].reset_index(drop=True).round(2)

# %% [markdown]
# A 90% interval is expected to miss one case in ten. To use your own casebook, which is one file, set
# `file` above, or run `lockscale casebook score FILE`.
