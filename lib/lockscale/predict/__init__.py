# SPDX-License-Identifier: MIT
"""Predictions before the patch: from a base profile and base rates alone.

answer                the parts of an answer
verdict               faster and worth writing, or not known: by the interval alone
base                  base columns of the published tables, and what was read of them
costs, storm, left    the reasoning that studies share: Little's law on a profile, the retry storm
                      read backwards, and what rates alone allow
own, own_patches      a user's own files: the answer, and each switch of the model
together              whether a profile and rates are of one run
guests                what the guests must count: bounds, and by the counts of one arm
guest_case, _fit      what a study says of which arm that is; the simulator's one factor fitted to it

No study is named here: lockscale.studies has each one's answer, and lockscale.show.prediction asks for it.
"""
