# SPDX-License-Identifier: MIT
# %% [markdown]
# # 08 Changelog: the text that a maintainer reads
#
# Paste it below the subject of the patch: problem, mechanism, change, one table, and how it was measured,
# in at most 30 lines of 75 columns. The details are below `---`: machine, commands, intervals, function
# costs and predictions. Reviewers see them in the mail, and `git am` drops them. The text is also written
# to `changelog.txt`, in the run's folder or, if you run this notebook by hand, in `runs/<study>-by-hand`.

# %% tags=["parameters"]
study = "inode-claim"
run = ""

# %% [markdown]
# ## The text

# %%
from lockscale.files import write_text
from lockscale.show.changelog import letter_of
from lockscale.show.commit_text import as_text
from lockscale.show.headlines import written
from lockscale.show.story import open_story

story = open_story(study, run)
text = as_text(letter_of(story))
write_text(story.run.changelog, text)
print(text)

# %% [markdown]
# ## In one sentence

# %%
written(text, story.where)
