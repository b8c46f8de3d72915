# SPDX-License-Identifier: MIT
# %% [markdown]
# # 01 Audit: is the arithmetic of the tables right?
#
# Before explaining anything, recompute the published numbers. A claim *holds* when the tables agree with it
# and *fails* when they contradict it. It is *unknown* when the repeats scatter too much to decide, or when
# the source does not give enough numbers. *printed* is the number of the claim: the source's own or, where
# the note says that the check is ours, the number that we compare with. The note explains *low* and *high*.
# Columns of changes in % in your own CSV are checked too.

# %% tags=["parameters"]
study = "inode-claim"
run = ""

# %%
import pandas as pd

from lockscale.show.audit import audit_tables
from lockscale.show.figures import table_figure
from lockscale.show.headlines import audited
from lockscale.show.readable import sentences, show_tables_whole
from lockscale.show.story import open_story

show_tables_whole()
story = open_story(study, run)
sentences(story.study.question)

# %% [markdown]
# ## The tables
#
# Where the tables come from. An empty cell means that the source does not say.

# %%
columns = ["name", "origin", "machine", "kernel", "command"]
pd.DataFrame([table.described() for table in story.tables], columns=columns)

# %% [markdown]
# ## The claims

# %%
claims = audit_tables(story.tables)
claims[["table", "claim", "printed", "recomputed", "low", "high", "unit", "verdict", "note"]]

# %% [markdown]
# ## The picture
#
# The first table, with the values exactly as its source printed them.

# %%
first = story.tables[0]
story.show(table_figure(first), first.frame, "01-first-table")

# %% [markdown]
# ## In one sentence

# %%
audited(claims)
