# SPDX-License-Identifier: MIT
# %% [markdown]
# # 01 Audit: does the arithmetic of the published tables hold?
#
# Before anything is explained, the published numbers are recomputed. A claim *holds* when the tables
# agree with it, *fails* when they contradict it, and is *unknown* when their repeats cannot tell or
# the source does not say. A note says what *low* and *high* are, and where a claim is not the source's.

# %% tags=["parameters"]
study = "inode-claim"
run = ""

# %%
import pandas as pd

from lockscale.headlines import audited
from lockscale.report.published import published_figure
from lockscale.story import open_story
from lockscale.tables import audit, describe, published

story = open_story(study, run)
print(story.study.question)

# %% [markdown]
# ## The tables
#
# Where the tables come from. What a source does not state stays empty.

# %%
columns = ["name", "machine", "kernel", "command"]
pd.DataFrame([describe(table) for table in story.study.tables])[columns]

# %% [markdown]
# ## The claims

# %%
pd.set_option("display.max_colwidth", None)
claims = pd.DataFrame([row for table in story.study.tables for row in audit(table)])
claims[["table", "claim", "printed", "recomputed", "low", "high", "unit", "verdict", "note"]]

# %% [markdown]
# ## The picture
#
# The first table as a picture: what the source printed, and nothing else.

# %%
first = story.study.tables[0]
story.show(published_figure(first), published(first), "01-published-rates")

# %% [markdown]
# ## In one sentence

# %%
audited(claims)
