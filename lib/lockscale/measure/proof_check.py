# SPDX-License-Identifier: MIT
"""Whether a study can end in its proof: what it counts is known before a kernel is built for it."""

from fnmatch import fnmatchcase

from lockscale.errors import BadInput
from lockscale.measure.counting import observed_counters
from lockscale.study.file import Study

PROFILER = "ftrace_cost"


def refuse_unprovable(study: Study) -> None:
    """Raises BadInput where notebooks 05 to 07 would miss what they count, after all is measured.

    The counter is one of the study's or a profiled function. A function is always profiled whose calls
    compare the A/A pair, and are the proof where no observe kernel runs.
    """
    file, profiled = f"{study.name}.yaml", study.parameters.profiled_functions
    if PROFILER not in study.parameters.profilers:
        raise BadInput(f"{file}: profilers lacks {PROFILER}, which counts the calls of the proof: add it")
    known = observed_counters(study)
    if study.counter not in known and not _matched(study.counter, profiled):
        listed = ", ".join(known) or "none"
        raise BadInput(
            f"{file}: counter {study.counter!r} is neither in profiled_functions nor one of "
            f"its counters (which are: {listed}): name one of them"
        )
    if study.aa_counter and not _matched(study.aa_counter, profiled):
        raise BadInput(
            f"{file}: profiled_functions lacks aa_counter {study.aa_counter}, which compares the A/A pair: "
            "add it"
        )
    if not _matched(study.called_function, profiled):
        raise BadInput(
            f"{file}: counter {study.counter!r} is no profiled function, so the A/A pair has none to be "
            "compared by: name one of profiled_functions as aa_counter"
        )


def _matched(function: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(function, pattern) for pattern in patterns)
