# SPDX-License-Identifier: MIT
"""Predictions before the patch: from a profile and rates of the unpatched kernel alone, then judged.

unpatched             the unpatched arm's published columns, and the reasoning that studies share
residual_bottleneck   what rates alone allow, and with the next queue known (residual_model)
observed              what a user's profile and rates say of a model
posterior, user_case  the model fitted to these, and what each of its switches gives
user_files            a user's own files: the whole answer
unpatched_run         what every other arm gives on a run's own machine, from its unpatched arm alone:
gain_interval         what stands in a gain's way, and what models lack
guest_counts          what the guests must count: bounds, and by the counts of one arm (guest_case, guest_fit)
answer                the parts of an answer, its verdicts by intervals alone, its text
predicted_against_measured
                      models fitted to what was measured, and each prediction judged by it

No study is named here: lockscale.studies has each one's answer, and lockscale.show.prediction asks for it.
"""
