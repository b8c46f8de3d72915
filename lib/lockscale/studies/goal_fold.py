# SPDX-License-Identifier: MIT
"""goal-fold: what S3's machine, as it is known without several shared goals, says of where goals are chosen.

The model's times are calibrated to one goal for all and to one for each file (sim/models/group_goals.py);
which writers then meet at a goal is arithmetic on inode numbers. How much a meeting costs is the model's
word, so each time that is assumed or effective is halved and doubled, one after the other: the ends are the
least and the most.
"""

from collections.abc import Iterator, Mapping
from functools import cache

from lockscale.predict import residual_bottleneck as residual
from lockscale.predict.answer import (
    Answer,
    Idea,
    Open,
    ParameterEstimate,
    Predicted,
    gains_over,
    idea_by_gain,
    sign_of_change,
)
from lockscale.predict.unpatched import UnpatchedCurve
from lockscale.progress import progress
from lockscale.studies.group_trylock_tables import TABLE
from lockscale.studies.parts import StudyParts, default_times
from lockscale.study.file import Study, load_whole_study

NAME = "goal-fold"
BEFORE = "multi-goal"
METRIC = "fallocate_rate"
THREADS = (1, 2, 4, 8, 16, 32, 64)
VARIED = ("goal_ns", "serial_ns", "moved_ns", "others_us", "hold_ns", "line_ns")
FACTORS = (0.5, 2.0)
OPERATIONS = 6000
SEEDS = (1, 2)

NAIVE = (
    "it deletes all waiting: each container as fast as one alone. What all share, the journal, is not in it"
)
JOURNAL = Open(
    "serial_ns",
    "what is left once nobody meets at a goal, taken as the journal, is S3's at 64 containers",
    "a profile of 64 containers with a goal for each file: the share of jbd2's start and stop of a handle",
)
Rates = dict[str, list[float]]


def whatif(given: Mapping[str, float]) -> Answer:
    """Of files in flex groups of their own, the first of each; rates of one container."""
    study = load_whole_study(NAME)
    rates = {n: simulated_rates(n) for n in THREADS}
    base = UnpatchedCurve(list(THREADS), [rates[n][BEFORE][0] for n in THREADS])
    predictions = [row for arm in study.arm_names if arm != BEFORE for row in _rows(arm, rates)]
    return Answer(
        study=NAME,
        used=[f"group_goals, calibrated to {TABLE} and two Linux commits; no arm with several shared goals"],
        parameters=_parameters(),
        waits=residual.waits(base, "fallocate", ("ext4_lock_group",)),
        predictions=predictions,
        open=[JOURNAL],
        ideas=_ideas(rates),
        naive_reason=NAIVE,
        notes=[
            f"Gains over {BEFORE} are within one setting of the model: the ends are the least and the most "
            f"with {', '.join(VARIED)} halved and doubled, one after the other, and no 95%."
        ],
        origin="simulated",
    )


@cache
def simulated_rates(threads: int) -> Rates:
    """Arm -> rate of a container with the model's own times, then with each of VARIED halved and doubled."""
    from lockscale.sim import simulate  # imports the compiler

    study, found = load_whole_study(NAME), Rates()
    with progress(f"simulate {NAME}, {threads} writers", len(study.arms)) as shown:
        for done, arm in enumerate(study.arms, start=1):
            settings = [{**arm.model_parameters, **times} for times in _times(study)]
            found[arm.name] = [
                sum(
                    simulate(
                        study.model, threads, one, seed=s, replications=1, operations=OPERATIONS, workers=1
                    ).rate_per_s
                    for s in SEEDS
                )
                / (threads * len(SEEDS))
                for one in settings
            ]
            shown.update(done, arm.name)
    return found


def _times(study: Study) -> Iterator[dict[str, float]]:
    yield {}
    for name, value in default_times(study.model, *VARIED).items():
        for factor in FACTORS:
            yield {name: factor * value}


def gains(arm: str, rates: Rates) -> list[float]:
    """Over the unpatched arm, each within one setting of the model's times; the first with its own."""
    return [ours / theirs for ours, theirs in zip(rates[arm], rates[BEFORE], strict=True)]


def _rows(arm: str, rates: Mapping[int, Rates]) -> list[Predicted]:
    alone, rows = rates[1][BEFORE][0], []
    for n in THREADS:
        base, said = rates[n][BEFORE][0], gains(arm, rates[n])
        low, high = base * min(said) / residual.OWN_WORK, base * max(said) * residual.OWN_WORK
        value, unit = base * said[0], "ops/s per container"
        sign = sign_of_change(low, high, base)
        rows.append(Predicted(arm, n, METRIC, unit, value, low, high, alone, sign))
    return rows


def _parameters() -> list[ParameterEstimate]:
    return [
        ParameterEstimate(
            name,
            name.rpartition("_")[2],
            value,
            FACTORS[0] * value,
            FACTORS[1] * value,
            "outside",
            "the model's own; halved and doubled",
        )
        for name, value in default_times(load_whole_study(NAME).model, *VARIED).items()
    ]


def _ideas(rates: Mapping[int, Rates]) -> list[Idea]:
    """By the gain at 16 writers, where the journal does not yet hide what goals cost."""
    n = 16
    ideas = []
    for arm, argument in (
        ("multi-goal-fold", "one line, and files of flex groups no longer meet"),
        ("goals-apart", "nearly all of it is the fold's"),
        ("goals-per-cpu", "nearly all of it is the fold's; what is left is in files with arbitrary numbers"),
    ):
        said = gains(arm, rates[n])
        least, most = gains_over(min(said), max(said), 1.0)
        ideas.append(idea_by_gain(arm, (least / residual.OWN_WORK, most * residual.OWN_WORK), n, argument))
    return ideas


STUDY = StudyParts(name=NAME, order=6, whatif=whatif)
