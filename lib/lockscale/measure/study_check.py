# SPDX-License-Identifier: MIT
"""What a study's file can say wrong about the rest of the project, found before anything runs."""

from collections.abc import Sequence
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.filesystems import fs_type
from lockscale.measure.proof_check import refuse_unprovable
from lockscale.sim import load_model
from lockscale.study.file import Study
from lockscale.study.tables import beside, study_tables


def check_study(study: Study, folders: Sequence[Path] = ()) -> None:
    """Refuse models and parameters of them, tables and a counter that there are not, with BadInput.

    folders: where a run keeps the study's own tables, beside those by the study file.
    """
    for arm in study.arms:
        load_model(study.model_of(arm)).bind(arm.model_parameters)
    for name in study.arm_names:
        _refuse_options(study, name)
    study_tables(study, [beside(study), *folders])
    refuse_unprovable(study)


def _refuse_options(study: Study, arm: str) -> None:
    """BadInput for what the mkfs of an arm would refuse, or must not do, after its kernel was built."""
    options = study.options_of(arm)
    try:
        fs_type(options.filesystem).refuse_options(options.mkfs, "")
    except BadInput as error:
        raise BadInput(f"study {study.name}, arm {arm}: {error}") from None
