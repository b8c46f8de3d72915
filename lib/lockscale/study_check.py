# SPDX-License-Identifier: MIT
"""What a study's file can say wrong about the rest of the project, found before anything runs."""

from collections.abc import Sequence
from pathlib import Path

from lockscale.experiment.proof_check import refuse_unprovable
from lockscale.sim import load_model
from lockscale.study import Study
from lockscale.study_tables import beside, study_tables


def check_study(study: Study, folders: Sequence[Path] = ()) -> None:
    """Refuse models and parameters of them, tables and a counter that there are not, with BadInput.

    folders: where a run keeps the study's own tables, beside those by the study file.
    """
    for arm in study.arms:
        load_model(study.model_of(arm)).bind(arm.model_parameters)
    study_tables(study, [beside(study), *folders])
    refuse_unprovable(study)
