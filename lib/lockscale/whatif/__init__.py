# SPDX-License-Identifier: MIT
"""Predictions before the patch: from a base profile and base rates alone.

answer                the parts of an answer
verdict               faster and worth writing, or not known: by the interval alone
base                  base columns of the published tables, and what was read of them
calls_without_retry   the one constant from outside, measured with one process
costs, storm, left    the reasoning that studies share: Little's law on a profile, the retry storm
                      read backwards, and what rates alone allow
inode_claim, ...      a study each
ask                   a study's answer, with what was published beside it
own, own_patches      a user's own files: the answer, and each switch of the model
together              whether a profile and rates are of one run
prediction            what notebook 03 writes before notebook 05 measures
guests                of it what the guests must count: bounds, and by the counts of one arm
guest_cases, _fit     which arm that is in each study; the simulator's one factor fitted to it
lost_bits             a model for it: search-locked with its lost bits
"""

from lockscale.whatif.ask import ask
from lockscale.whatif.guest_cases import base_to_count
from lockscale.whatif.prediction import answer_for, predict

__all__ = ["answer_for", "ask", "base_to_count", "predict"]
