# SPDX-License-Identifier: MIT
# %% [markdown]
# # 01 Audit: does the arithmetic of the tables hold?
#
# Before anything is explained, the published numbers are recomputed. A claim *holds* when the tables agree
# with it and *fails* when they contradict it. It is *unknown* when the scatter of the repeats is too large to
# decide, or when the source does not give enough numbers. The note says what *low* and *high* are, and which
# claims are not the source's own. If your own CSV has columns of changes in %, they are checked too.

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
# Where the tables come from. A cell is empty where the source does not say.

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
# The first table, exactly as its source printed it.

# %%
first = story.tables[0]
story.show(table_figure(first), first.frame, "01-first-table")

# %% [markdown]
# ## In one sentence

# %%
audited(claims)
