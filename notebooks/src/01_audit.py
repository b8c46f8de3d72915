# SPDX-License-Identifier: MIT
# %% [markdown]
# # 01 Audit: does the arithmetic of the tables hold?
#
# Before anything is explained, the published numbers are recomputed. A claim *holds* when the tables
# agree with it, *fails* when they contradict it, and is *unknown* when their repeats cannot tell or
# the source does not say. A note says what *low* and *high* are, and where a claim is not the source's.
# A CSV file beside the study file has claims where it prints changes in %, and an origin of its own.

# %% tags=["parameters"]
study = "inode-claim"
run = ""

# %%
import pandas as pd

from lockscale.show.audit import audit_tables
from lockscale.show.figures import table_figure
from lockscale.show.headlines import audited
from lockscale.show.story import open_story

story = open_story(study, run)
print(story.study.question)

# %% [markdown]
# ## The tables
#
# Where the tables come from. What a source does not state stays empty.

# %%
columns = ["name", "origin", "machine", "kernel", "command"]
pd.DataFrame([table.described() for table in story.tables], columns=columns)

# %% [markdown]
# ## The claims

# %%
pd.set_option("display.max_colwidth", None)
claims = audit_tables(story.tables)
claims[["table", "claim", "printed", "recomputed", "low", "high", "unit", "verdict", "note"]]

# %% [markdown]
# ## The picture
#
# The first table as a picture: what the source printed, and nothing else.

# %%
first = story.tables[0]
story.show(table_figure(first), first.frame, "01-first-table")

# %% [markdown]
# ## In one sentence

# %%
audited(claims)
