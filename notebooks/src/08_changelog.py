# SPDX-License-Identifier: MIT
# %% [markdown]
# # 08 Changelog: the text a maintainer reads
#
# At most 75 columns of ASCII, which `git am` takes unchanged. It says what was measured, and on which
# machine.

# %% tags=["parameters"]
study = "inode-claim"
run = ""

# %% [markdown]
# ## The text

# %%
from lockscale.files import write_text
from lockscale.show.changelog import as_text, story_blocks
from lockscale.show.headlines import written
from lockscale.show.story import open_story

story = open_story(study, run)
text = as_text(story_blocks(story))
write_text(story.run.changelog, text)
print(text)

# %% [markdown]
# ## In one sentence

# %%
written(text, story.where)
