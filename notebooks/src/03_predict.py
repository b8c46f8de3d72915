# SPDX-License-Identifier: MIT
# %% [markdown]
# # 03 Predict: what the patch should gain, recorded before it is measured
#
# The prediction uses the published rates and profile of the unpatched kernel, and nothing that was measured
# with the patch. A number that is missing there is measured separately, and its uncertainty is part of the
# interval. The prediction is stored with its hash; notebook 07 compares it with the measurement. `lockscale
# whatif` prints the same.
#
# This page was executed with today's code for the study's latest run in [data/measured](../data/README.md).
# The prediction recorded before that run was measured may differ from it; that one is what notebook 07
# judges. Executed by hand as it stands (`run = ""`), the notebook counts and measures nothing: only a run
# does. With `target = "manycore"` and `run` the name of a run in data/measured it shows what is below,
# after some minutes: every arm's model is fitted to the unpatched arm.
#
# In a run of group-trylock, orphan-file or inode-claim that is not in virtual time, one arm is also booted on
# the run's own target and its events are counted, to predict the counts of the other arms there. For the
# first two that is the unpatched kernel. For inode-claim it is the patched one, and the retries of the
# unpatched kernel are derived from it: that tests the model, but it is not a prediction made before the
# patch.

# %% tags=["parameters"]
study = "inode-claim"
run = ""
target = "qemu"

# %%
import pandas as pd
from IPython.display import display

from lockscale.show.figures import waits_icicle, waits_table
from lockscale.show.headlines import predicted
from lockscale.show.prediction import answer_for, arm_to_count_first, predict
from lockscale.show.readable import facts, sentences, show_tables_whole
from lockscale.show.story import open_story

show_tables_whole()
story = open_story(study, run)
answer = answer_for(story.study)
counts = story.count_first_arm(target, arm_to_count_first(story.study))
prediction = predict(story.study, counts, answer, story.measure_unpatched(target))
sentences(f"The prediction's SHA-256 is {story.write_prediction(prediction)}.")

# %% [markdown]
# ## Who waits
#
# Where the threads of the published machine spend their time: each function has as large a share of the
# threads as of the time that an operation takes. That is Little's law for the ratio of two functions, in
# which the rate cancels out. (Rate times time should also be the number of threads; where a source prints
# both, such as S1, [01](01_audit.ipynb) says whether it is. For S1 it is not, so 48 threads are assumed for
# the profile.) Where no profile is published, rates alone say how much of the threads' time is lost,
# compared with one thread alone, but not whether they wait, and for what, or just run slower.

# %%
if answer.waits:
    display(
        story.show(
            waits_icicle(answer.waits, f"{answer.waits_origin}, {study}"),
            waits_table(answer.waits),
            "03-who-waits",
        )
    )

# %% [markdown]
# ## The parameters
#
# What the unpatched kernel's tables give, and what comes from elsewhere (`outside`).

# %%
parameters = pd.DataFrame(answer.parameters)
parameters

# %%
sentences(answer.notes)

# %% [markdown]
# ## The arithmetic of S1
#
# The numbers above in a few lines, for S1 (other studies have other equations: `lib/lockscale/studies`). Of
# $N$ threads, $W$ are retrying at any moment and $N - W$ do the actual work of the creates, so without
# retries the rate is $N/(N-W)$ times as high. In a storm $W$ is also the number of lost attempts per
# create, as each pass of the queue creates one file. The library gives an interval, which includes the
# uncertainty of `calls_without_retry`, and of whether the first attempt counts in $W$.

# %%
if study == "inode-claim":
    from lockscale.tables import published

    N, cost, rates = 48, published("s1_function_cost").set_index("function"), published("s1_rates")
    unpatched = (rates.arm == "steal-retry") & (rates.metric == "create_rate")
    creates_per_us = rates[unpatched].value.mean() / 1e6
    calls = cost.loc["jbd2_journal_get_write_access", "count"] / cost.loc["ext4_create", "count"]

    spinning = N * cost.total_us["_raw_spin_lock"] / cost.total_us["ext4_create"]  # its share of a create
    W = calls - parameters.set_index("name").value["calls_without_retry"]
    elsewhere_us, attempt_us = (N - W) / creates_per_us, 1 / (creates_per_us * W)
    by_hand = {"attempts": W, "gain": N / (N - W), "elsewhere_us": elsewhere_us, "attempt_us": attempt_us}
    print(f"Gain if only the {spinning:.1f} threads that spin were set free: {N / (N - spinning):.1f} times")
    print(
        f"A storm needs attempts longer than 4 Z / N^2 = {4 * elsewhere_us / N**2:.3f} us: {attempt_us:.3f}"
    )

# %%
if study == "inode-claim":
    beside = parameters.set_index("name")[["unit", "low", "high"]].assign(by_hand=pd.Series(by_hand))
    display(beside.dropna())

# %% [markdown]
# The storm threshold: let $X$ be the rate, $Z$ the time of a create outside the lock (`elsewhere_us`) and
# $s$ the time of an attempt (`attempt_us`). In a storm the lock is never idle: $X s (N - X Z) = 1$, which
# has a solution only for $s \geq 4Z/N^2$.
#
# ## The prediction
#
# The prediction for each arm, from `low` to `high`: at 95%, unless a note above says that these ends are
# assumptions. `naive_value` is what subtracting the waiting time from the profile suggests; the cell below
# says why that is wrong.

# %%
pd.DataFrame(prediction["predictions"])

# %%
sentences(answer.naive_reason)

# %% [markdown]
# ## What is not known
#
# What the unpatched kernel's tables do not show, and which measurement would; then which patch is worth
# writing. The gain there may have a wider interval than the parameter `gain`, as it includes the scatter of
# the unpatched rate.

# %%
display(pd.DataFrame(answer.open), pd.DataFrame(answer.ideas))

# %% [markdown]
# ## The guests
#
# What notebook 05 will count with `threads` processes on `cpus` CPUs. A `bound` follows from the algorithm
# alone. For a `fitted` row, one factor of the simulator's model, the time outside the locks, is fitted to
# the counts of `fitted_arm`; the model then predicts the counts of the other arms, from `low` to `high` at
# 95% for as many blocks as are measured. This assumes that the model is right, so the intervals are too
# narrow: [data](../data/README.md#what-falls-short) says how many missed.

# %%
pd.DataFrame(prediction["guests"])

# %% [markdown]
# The fitted factor, whether the counts identify it, the counts themselves, and what limits the prediction;
# or why nothing was counted.

# %%
facts(prediction["guest_fit"])

# %% [markdown]
# ## The run's own machine
#
# In virtual time rates are meaningful. There the unpatched arm is measured first, and every other arm is
# predicted from that arm alone, as a gain at the same number of processes, from `low` to `high` at 90%. The
# model is fitted to its rates and, where it was profiled, to the share of time spent waiting for locks; the
# interval also covers what a model of one lock cannot know, above all the next bottleneck. These are the
# gains as predicted by today's code; 07 has those that were recorded before the run. The two differ where
# the method has changed since, and the later prediction is not necessarily the closer one. `naive_gain`
# would be the gain if nothing waited any more, so that each process is as fast as one alone: it comes from
# the rates, not from a profile as `naive_value` does. Empty on a target that gives no rates.

# %%
gains = prediction.get("run", {"gains": []})["gains"]
pd.DataFrame(gains)

# %% [markdown]
# ## In one sentence

# %%
predicted(prediction)
