# SPDX-License-Identifier: MIT
# %% [markdown]
# # 07 Fit: models against the measurement, prediction against the truth
#
# Few points on an emulated machine: the intervals say what they can tell. A parameter marked open is
# not identified by these data.

# %% tags=["parameters"]
study = "inode-claim"
run = ""
cpus = None  # None: the guest with the most points

# %% [markdown]
# ## The models

# %%
from lockscale.predict.judge import fit_rates, fullest_guest, judge_counters, judge_guests, judge_published
from lockscale.show.figures import draw_fit, fit_numbers
from lockscale.show.headlines import judged
from lockscale.show.story import open_story

story = open_story(study, run)
cpus = cpus or fullest_guest(story.study)
found = fit_rates(story.rows, story.study, cpus)
found.comparison

# %% [markdown]
# ## The best one
#
# The model that predicts best what it has not seen, and what of it the data identify.

# %%
best = found.comparison and found.comparison.best
best or "too few numbers of processes for a curve"

# %%
best and story.show(draw_fit(found.column, best), fit_numbers(found.column, best), "07-fitted-models")

# %% [markdown]
# ## The prediction
#
# The prediction that notebook 03 wrote, beside what was published and what was measured. A bound `holds`, or
# not, or it cannot be told: where more of the counter was predicted, and what was counted may as well be the
# spread of the upstream arm's own repeats.

# %%
judge_published(story.read_prediction(), story.study)

# %%
guests = judge_guests(story.read_prediction(), story.rows, story.study)
guests

# %% [markdown]
# ## One arm's counts, and the others
#
# What the counts of `fitted_arm`, taken before any other arm was booted, said of the others, and what these
# counted; also where it is far off. For inode-claim that arm is the patched one. `own_processors`: the host
# has a processor for each process. Else it stops holders of locks, which the model leaves out. The predicted
# intervals take the model to be right, so they are too narrow; two blocks give no measured one. Empty where
# nothing was predicted.

# %%
counters = judge_counters(story.read_prediction(), story.rows, story.study)
counters

# %% [markdown]
# ## The rates, predicted and measured
#
# Where the base's rates are of the same origin as this run's: each predicted rate and its interval, the mean
# of what was measured with its least and most, and whether it lies inside. Empty where the base is a
# published table, which is of another machine.

# %%
from lockscale.predict.judge import judge_rates

beside = judge_rates(story.read_prediction(), story.rows)
beside

# %% [markdown]
# ## What was published, explained
#
# Errors of both models at the published points, from the fits kept in [data](../data/README.md): the best
# queueing model of each curve, and the simulator fitted to all columns of a machine at once. A CSV file of
# your own has no kept fit: `lockscale compare FILE` ranks the queueing models on it.

# %%
from lockscale.show.figures import scoreboard_figure, scoreboard_numbers
from lockscale.show.scoreboard import first_explained, kept_scoreboard, scoreboard_table

table, rows = first_explained(story.study.tables), kept_scoreboard()
table and story.show(scoreboard_figure(rows, table), scoreboard_numbers(rows, table), "07-explained")

# %%
scoreboard_table(story.study.tables)

# %% [markdown]
# ## In one sentence

# %%
judged(found, guests, counters, beside)
