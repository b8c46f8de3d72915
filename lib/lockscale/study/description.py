# SPDX-License-Identifier: MIT
"""A study as a person reads it: the question, its arms, the load, and what must differ."""

import textwrap

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.mail import read_mail, subject_of
from lockscale.study.arms_of_a_text import patches_between
from lockscale.study.checks import CheckLoad, Counter
from lockscale.study.file import RATES_TARGET, Arm, GuestPoints, Study
from lockscale.text_table import text_table

WIDTH = 100


def described(study: Study) -> str:
    """Some 30 lines; the study's file has all of it."""
    return "\n\n".join(
        [
            *_wrapped(f"{study.name}: {study.question}", study.problem, study.story),
            *_wrapped(f"Limits: {study.limits}" if study.limits else ""),
            *_wrapped(f"Tables: {', '.join(study.tables)}"),
            "\n".join(["Arms:", *(_listed(_arm(study, arm)) for arm in study.arms)]),
            _load(study),
            "\n".join([_checked(study), *(_listed(_counter(one)) for one in study.counters)]),
            *_wrapped(_file_system(study)),
            f"The whole study is in {paths.STUDIES / f'{study.name}.yaml'}, and printed by --json.",
        ]
    )


def _wrapped(*texts: str) -> list[str]:
    return [_fill(text) for text in texts if text]


def _listed(text: str) -> str:
    return _fill(text, "  ", "    ")


def _fill(text: str, first: str = "", further: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _arm(study: Study, arm: Arm) -> str:
    """Its role, what it has beside its own patches, and what it changes."""
    has: list[str] = [arm.role]
    has += [f"patches of {arm.series}"] if arm.series else []
    has += [f"mkfs {' '.join(arm.mkfs)}"] if arm.mkfs else []
    has += [f"mount -o {','.join(arm.mount)}"] if arm.mount else []
    has += [f"{knob} = {value}" for knob, value in arm.knobs.items()]
    given = ", ".join(f"{name}={str(value).lower()}" for name, value in arm.model_parameters.items())
    as_model = f"simulated as {study.model_of(arm)} {f'with {given}' if given else 'as it is'}"
    has += [as_model if arm.simulated else "not simulated, so its gain is not predicted"]
    return f"{arm.name} ({'; '.join(has)}): {_change(study, arm)}".removesuffix(": ")


def _change(study: Study, arm: Arm) -> str:
    """As the study says it, else the subjects of its patches beyond those of the unpatched arm."""
    if arm.change:
        return arm.change
    try:
        own = arm.name == study.unpatched.name
        patches = study.series_of(arm.name).patches if own else patches_between(study, study.unpatched, arm)
        return "; ".join(subject_of(read_mail(patch)) for patch in patches)
    except BadInput:
        return "its patches cannot be read: `lockscale patches list` says why"


def _load(study: Study) -> str:
    """Where, on how many CPUs, with how many processes and operations each rate is measured."""
    import pandas as pd

    said, loads = study.parameters, ", ".join([study.workload, *study.workloads_beside])
    places = [(RATES_TARGET, said.manycore), ("any other", said.guests)]
    rows = [
        {
            "target": target,
            "CPUs": guest.cpus,
            "processes": guest.processes,
            "operations per point": _operations(study, guest),
        }
        for target, guests in places
        for guest in guests
    ]
    first = f"Load: {loads}, in {study.metric}; {said.iterations} iterations"
    return f"{first}\n{textwrap.indent(text_table(pd.DataFrame(rows)).rstrip(), '  ')}"


def _operations(study: Study, guest: GuestPoints) -> str:
    usual = guest.operations_per_point or study.parameters.operations_per_point
    others = ", ".join(f"{operations} at {n}" for n, operations in guest.operations_at.items())
    return f"{usual} ({others})" if others else f"{usual}"


def _checked(study: Study) -> str:
    """The counter that the changelog names, and how the others are counted."""
    check = study.check
    main = f"Counter in the changelog: {study.counter}."
    if not study.counters:
        return main
    load = f"{check.processes} processes with {check.items_per_process} operations each on {check.cpus} CPUs"
    how = f"`lockscale patches check --boot` counts, with {load}{_mounts(check)}:"
    return _fill(f"{main} {how}")


def _mounts(check: CheckLoad) -> str:
    named = [f"{name} is mount -o {','.join(options)}" for name, options in check.variants.items() if name]
    return f" ({'; '.join(named)})" if named else ""


def _counter(counter: Counter) -> str:
    variants = " and ".join(name for name in counter.variants if name)
    where = f" (with {variants})" if variants else ""
    return f"{counter.name}, {counter.unit}{where}: {'; '.join(counter.expect)}"


def _file_system(study: Study) -> str:
    mounted = f", mount -o {','.join(study.mount)}" if study.mount else ""
    return f"File system: {study.filesystem} with mkfs {' '.join(study.mkfs)}{mounted}"
