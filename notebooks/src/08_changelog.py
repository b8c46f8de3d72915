# SPDX-License-Identifier: MIT
# %% [markdown]
# # 08 Changelog: the text a maintainer reads
#
# 75 columns of ASCII that `git am` takes unchanged. It says what was measured and on what.
# Before: [07 Fit](07_fit.ipynb).

# %% tags=["parameters"]
study = "inode-claim"
run = ""

# %%
from lockscale.experiment.compare import extra_calls, function_costs, proof_of, rates, unit_of
from lockscale.files import write_text
from lockscale.report.changelog import changelog
from lockscale.story import open_story

story = open_story(study, run)

# %%
extra = extra_calls(story.rows, story.study)
most = extra.loc[extra.extra.idxmax()]
costs = {
    name: function_costs(story.rows, name, int(most.cpus), int(most.threads))
    for name in (story.study.arm("before").name, story.study.arm("upstream").name)
}

# %%
counter = proof_of(story.rows, story.study)
counted = {"counter": f"{counter}: {unit_of(story.study, counter)}"}
found = (extra, rates(story.rows), costs, story.read_prediction())
text = changelog(story.study, story.provenance, *found, **counted)
write_text(story.run.changelog, text)
print(text)
