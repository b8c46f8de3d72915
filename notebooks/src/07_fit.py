# SPDX-License-Identifier: MIT
# %% [markdown]
# # 07 Fit: models against the measurement, prediction against the truth
#
# Few points on an emulated machine: the intervals say what they can tell. A parameter marked open is
# not identified by these data.
# Before: [06 Profile](06_profile.ipynb). Next: [08 Changelog](08_changelog.ipynb).

# %% tags=["parameters"]
study = "inode-claim"
run = ""
cpus = None  # None: the guest with the most points

# %%
from lockscale.judge import fit_rates, fullest_guest, judge_guests, judge_published
from lockscale.report.fit_figure import draw_fit, fit_numbers
from lockscale.story import open_story

story = open_story(study, run)
cpus = cpus or fullest_guest(story.study)
found = fit_rates(story.rows, story.study, cpus)
found.comparison

# %% [markdown]
# The model that predicts best what it has not seen, and what of it the data identify.

# %%
best = found.comparison and found.comparison.best
best or "too few numbers of processes for a curve"

# %%
best and story.show(draw_fit(found.column, best), fit_numbers(found.column, best), "07-fitted-models")

# %% [markdown]
# The prediction that notebook 03 wrote, beside what was published and what was measured.

# %%
judge_published(story.read_prediction(), story.study)

# %%
judge_guests(story.read_prediction(), story.rows, story.study)
