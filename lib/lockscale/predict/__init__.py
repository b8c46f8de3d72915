# SPDX-License-Identifier: MIT
"""Predictions before the patch: from a profile and rates of the unpatched kernel alone, then judged.

unpatched             the unpatched arm's published columns, and the reasoning that studies share
residual_bottleneck   what rates alone allow, and with the next queue known (residual_model)
observed              what a user's profile and rates say of a model
posterior, user_case  the model fitted to these, and what each of its switches gives
user_files            a user's own files: the whole answer
guest                 what the guests must count: bounds, and by the counts of one arm
answer                the parts of an answer, its verdicts by intervals alone, its text; icicle draws it
judge                 the prediction beside what was measured

No study is named here: lockscale.studies has each one's answer, and lockscale.show.prediction asks for it.
"""
