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
from lockscale.report import figures
from lockscale.story import open_story

story = open_story(study, run)
cpus = cpus or fullest_guest(story.study)
found = fit_rates(story.rows, story.study, cpus)
found.parameters

# %%
found.ranking

# %%
says = f"measured in QEMU ({story.accel}), {cpus} CPUs, {found.arm}: not a benchmark"
drawn = figures.fitted(found.points, found.curves, says)
story.show(drawn, found.curves, "07-fitted-models")

# %% [markdown]
# The prediction that notebook 03 wrote, beside what was published and what was measured.

# %%
judge_published(story.read_prediction())

# %%
judge_guests(story.read_prediction(), story.rows, story.study)
