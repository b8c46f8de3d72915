# SPDX-License-Identifier: MIT
"""What a study's file can say wrong about the rest of the project, found before anything runs or is built."""

import os
import subprocess
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from lockscale.errors import BadInput, printable
from lockscale.files import expanded
from lockscale.filesystems import fs_type
from lockscale.kernels.base import base
from lockscale.measure.count_calls import observed_counters
from lockscale.measure.target import GUEST_CPUS, refuse_beyond_fsload
from lockscale.programs import need
from lockscale.scratch import scratch_folder
from lockscale.sim import load_model
from lockscale.study.file import Study
from lockscale.study.mistakes import told_of
from lockscale.study.tables import beside, study_tables
from lockscale.tools import ftrace_cost


def refuse_unprovable(study: Study) -> None:
    """Raises BadInput where notebooks 05 to 07 would miss what they count, after all is measured.

    The counter is one of the study's or a profiled function. A function is always profiled whose calls
    compare the A/A pair, and are the proof where no observe kernel runs.
    """
    file, profiled = f"{study.name}.yaml", study.parameters.profiled_functions
    if ftrace_cost.TOOL not in study.parameters.profilers:
        raise BadInput(
            f"{file}: profilers lacks {ftrace_cost.TOOL}, which counts calls of the counter: add it"
        )
    known = observed_counters(study)
    if study.counter not in known and not _matched(study.counter, profiled):
        listed = ", ".join(known) or "none"
        raise BadInput(
            f"{file}: counter {study.counter!r} is neither in profiled_functions nor one of the study's "
            f"counters ({listed}): name one of them"
        )
    if study.aa_counter and not _matched(study.aa_counter, profiled):
        raise BadInput(
            f"{file}: profiled_functions lacks aa_counter {study.aa_counter}, which compares the A/A pair: "
            "add it"
        )
    if not _matched(study.called_function, profiled):
        raise BadInput(
            f"{file}: counter {study.counter!r} is not a profiled function, so the A/A pair cannot be "
            f"compared: name one of profiled_functions as aa_counter"
        )


def _matched(function: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(function, pattern) for pattern in patterns)


def check_study(study: Study, folders: Sequence[Path] = ()) -> None:
    """Refuse models, their parameters, tables, loads, a kernel source and a counter that cannot be: BadInput.

    folders: where a run keeps the study's own tables, beside those by the study file.
    """
    for arm in study.arms:
        with told_of(study.name, f"arm {arm.name}: model" if arm.model else "model"):
            model = load_model(study.model_of(arm))
        with told_of(study.name, f"arm {arm.name}: model_parameters"):
            model.bind(arm.model_parameters)
        options = study.options_of(arm.name)
        with told_of(study.name, f"arm {arm.name}"):  # what its mkfs would refuse once its kernel was built
            fs_type(options.filesystem).refuse_options(options.mkfs, "")
    with told_of(study.name, "parameters"):
        refuse_beyond_fsload(study)
    with told_of(study.name, "parameters.manycore"):
        if (most := max(guest.cpus for guest in study.parameters.manycore)) > GUEST_CPUS:
            raise BadInput(f"a guest has at most {GUEST_CPUS} CPUs, and {most} are asked for: ask for fewer")
    with told_of(study.name, "parameters.kernel_base"):
        base(study.parameters.kernel_base)
    source = study.parameters.kernel_source
    with told_of(study.name, "parameters.kernel_source"):
        if source and not expanded(source).exists():
            raise BadInput(f"the kernel source {source} does not exist: give a kernel tarball or tree")
    study_tables(study, [beside(study), *folders])
    refuse_unprovable(study)


def refuse_by_mkfs(study: Study, disk_mib: int) -> None:
    """Raises BadInput with what mkfs says of an arm's options, as a guest would after its kernel's build.

    disk_mib: of the guest's disk. Guests run this machine's mkfs, of the same root. A mkfs that cannot try
    refuses nothing here.
    """
    with scratch_folder("mkfs") as folder:
        disk = folder / "disk"
        disk.touch()
        try:
            os.truncate(disk, disk_mib << 20)
        except OSError:  # a limit on the size of files: the guest's mkfs will say it
            return
        for arm in study.arms:
            options = study.options_of(arm.name)
            tool, *words = fs_type(options.filesystem).dry_run
            command = [need(tool), *words, *options.mkfs, str(disk)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode:
                said = next(iter(done.stderr.strip().splitlines()), f"it ended with {done.returncode}")
                with told_of(study.name, f"arm {arm.name}"):
                    raise BadInput(f"{tool} does not take {' '.join(options.mkfs)!r}: {printable(said)}")
