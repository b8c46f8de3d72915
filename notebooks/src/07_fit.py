# SPDX-License-Identifier: MIT
# %% [markdown]
# # 07 Fit: models against the measurement, prediction against the result
#
# Rates of a plain guest (target qemu) are not a benchmark, and a few points prove little: the intervals
# show how little. In virtual time rates can be compared. A parameter marked `open` is not identified by
# these data.

# %% tags=["parameters"]
study = "inode-claim"
run = ""
cpus = None  # None: the guest with the most points

# %% [markdown]
# ## The models
#
# Every queueing model, fitted to the rates of the patched arm and ranked by how well it predicts points
# that it was not fitted to. `free`: the parameters that are fitted. `in sample`: the mean error at the
# points it was fitted to; `leave-one-out`: at each point in turn, when fitted to the others; `from small
# N`: at the larger half of the numbers of processes, when fitted to the smaller half. `-`: too few points
# for that. [What each model is](../docs/own-table.md#the-models).

# %%
from IPython.display import display

from lockscale.predict.predicted_against_measured import (
    fit_rates,
    fullest_guest,
    judge_counters,
    judge_guests,
    judge_published,
)
from lockscale.show.figures import draw_fit, fit_numbers, predicted_line
from lockscale.show.headlines import judged
from lockscale.show.readable import show_tables_whole
from lockscale.show.story import open_story

show_tables_whole()
story = open_story(study, run)

# %%
cpus = cpus or fullest_guest(story.rows)
found = fit_rates(story.rows, story.study, cpus)
found.comparison or found.why_none

# %% [markdown]
# ## One of them by hand
#
# One of the models is the Universal Scalability Law (Gunther, 2007),
#
# $$X(N) = \frac{\lambda N}{1 + \sigma (N-1) + \kappa N (N-1)}$$
#
# where $\lambda$ is the rate of one process, $\sigma$ the serial share of the work, and $\kappa$ the cost
# of keeping each pair of CPUs coherent. For a given $\sigma$ and $\kappa$ each point implies a value of
# $\lambda$; the best pair is the one for which these values agree best. Below it is fitted to the measured
# rates and to a published curve: creat_clo with the lockless orphan file, 1 to 31 clients (S4). The pairs lie
# on a grid, $\sigma$ in steps of 0.005 and $\kappa$ in steps of 2.3%, so two curves can have the same ones.

# %%
import numpy as np
import pandas as pd

from lockscale.tables import published

SIGMA, KAPPA = np.meshgrid(np.linspace(0, 1, 201), [0, *np.logspace(-6, 0, 601)])


def fit_usl(n, x):
    """The parameters with the least squares of relative errors, on a grid, and the mean error in percent."""
    shape = n / (1 + SIGMA[..., None] * (n - 1) + KAPPA[..., None] * n * (n - 1))
    log_lambda = np.log(x / shape)
    best = np.unravel_index(log_lambda.var(axis=-1).argmin(), SIGMA.shape)
    rate = np.exp(log_lambda[best].mean())
    error_pct = 100 * np.abs(rate * shape[best] / x - 1).mean()
    return {"lambda_per_s": rate, "sigma": SIGMA[best], "kappa": KAPPA[best], "error_pct": error_pct}


# %%
clo = published("s4_creat_clo").query("arm == 'orphan-lockless' and metric == 'throughput'")
measured_by_hand = fit_usl(found.column.threads, found.column.rates_per_s)
published_by_hand = fit_usl(clo.threads.to_numpy(float), clo.value.to_numpy(float))
pd.DataFrame({f"measured: {found.column.name}": measured_by_hand, "published: creat_clo": published_by_hand})

# %% [markdown]
# The law bends a curve gently. Where a rate collapses within a few processes, no $\sigma$ and $\kappa$ can
# follow it: they end up at their limits, and the error is large; row `usl` of the ranking says how large
# here, if the run has more numbers of processes than the law has parameters. With three or fewer it passes
# through every point, so a small error says nothing.

# %% [markdown]
# ## The best one
#
# The model that ranks first, and which of its parameters the data identify.

# %%
best = found.comparison.best if found.comparison and found.comparison.is_ranked else None
best or "too few numbers of processes to tell which model is best"

# %%
if best:
    display(story.show(draw_fit(found.column, best), fit_numbers(found.column, best), "07-fitted-models"))

# %% [markdown]
# ## The prediction
#
# The prediction that was written before the run was measured, next to what was published. It is kept with
# the run; what you write with 03 by hand afterwards does not replace it. `published` is empty for an arm
# that nobody published. `naive_value` is what subtracting the waiting time from the profile suggested then.
# In the run of S1 that is kept it is 177,324: it used the rate of the traced run, which is half of the
# published one; predictions made since use the published rate.

# %%
predicted = judge_published(story.read_prediction(), story.study)
predicted

# %%
if len(predicted):
    display(story.show(predicted_line(predicted), predicted, "07-predicted"))

# %% [markdown]
# The bounds that follow from the algorithm alone. They are wide, so when they hold this shows only that the
# run does what the algorithm says; whether the model is right is judged further below. `extra` is by how
# much the unpatched arm's counter exceeds the patched arm's, with its rank-based interval from `low` to
# `high`, whose level (`level_pct`) depends on the number of counts, and `spread` is the patched arm's
# largest count less its smallest. A bound holds, or it does not, or it is *undecided*: where the patch was
# predicted to reduce the counter, and the counted difference is no larger than `spread`.

# %%
guests = judge_guests(story.read_prediction(), story.rows, story.study)
guests

# %% [markdown]
# ## Predicting the other arms' counts
#
# What was predicted for the other arms from the counts of `fitted_arm`, before any of them was booted, and
# what was then counted in them, however far off the prediction is. For inode-claim `fitted_arm` is the
# patched one. `own_processors`: the host has a CPU for each process. If it does not, it preempts lock
# holders, which the model leaves out. The predicted intervals assume that the model is right, so they are
# too narrow. With only two blocks there is no measured interval. Empty where nothing was predicted.

# %%
counters = judge_counters(story.read_prediction(), story.rows, story.study)
counters

# %% [markdown]
# ## The rates, predicted and measured
#
# Each predicted rate with its interval, the measured mean, minimum and maximum, and whether the mean lies
# inside the interval. Empty unless the unpatched rates have the same origin as this run: a published table
# is from another machine.

# %%
from lockscale.predict.predicted_against_measured import judge_rates

beside = judge_rates(story.read_prediction(), story.rows)
beside

# %% [markdown]
# ## The gains, predicted and measured
#
# In virtual time: each arm's gain over the unpatched arm at the same number of processes, as predicted from
# the unpatched arm alone before any other arm was booted, and as measured. The measured interval goes from
# the arm's slowest repeat over the fastest unpatched one to its fastest over the slowest: each repeat is a
# boot of its own. The two boots of the A/A pair are not among them; 05 shows by how much they differ. Some
# of these gains were known when the method of prediction was written:
# [data](../data/README.md#what-falls-short) says which. `naive_gain` is explained in 03. Empty if the run
# was not in virtual time.

# %%
from lockscale.predict.predicted_against_measured import judge_gains

gains = judge_gains(story.read_prediction(), story.rows)
gains

# %% [markdown]
# ## How well the published points are explained
#
# Errors at the published points, from the fits stored in [data](../data/README.md): the best queueing model
# of each curve, and the simulator fitted to all columns of a machine at once. 02 simulates the same anew,
# with fewer operations, so its last digits differ. `mape_pct` is the mean error, `target_pct` what it
# should stay below (`met`), `noise_pct` the mean error that a perfect model would have, as the published
# means scatter too; `points` counts those of all columns that were fitted together. There is no stored fit
# for your own CSV file: `lockscale compare FILE` ranks the queueing models on it.

# %%
from lockscale.show.figures import scoreboard_figure, scoreboard_numbers
from lockscale.show.scoreboard import first_explained, kept_scoreboard, scoreboard_table

table, rows = first_explained(story.study.tables), kept_scoreboard()
if table:
    display(story.show(scoreboard_figure(rows, table), scoreboard_numbers(rows, table), "07-explained"))

# %%
scoreboard_table(story.study.tables)

# %% [markdown]
# ## In one sentence

# %%
judged(found, guests, counters, beside, gains)
