# SPDX-License-Identifier: MIT
"""Gains of a study whose model was calibrated before it: simulated, for all that its times may be.

Nothing of the study's own machine is known yet. So each time that is assumed or effective is halved and
doubled, one after the other, and the ends are the least and the most of the gains, each within one setting.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lockscale.predict.answer import (
    OWN_WORK,
    Answer,
    Idea,
    Open,
    ParameterEstimate,
    Predicted,
    idea_by_gain,
    sign_of_change,
)
from lockscale.predict.residual_bottleneck import WHENCE, waits
from lockscale.predict.unpatched_columns import UnpatchedCurve
from lockscale.progress import progress
from lockscale.studies.hooks import default_times
from lockscale.study.file import Study, load_whole_study

THREADS = (1, 2, 4, 8, 16, 32, 64)
FACTORS = (0.5, 2.0)
OPERATIONS = 6000
SEEDS = (1, 2)
NAIVE = "it subtracts all waiting, as if each process were as fast as one alone"

Rates = dict[str, list[float]]
"""Arm -> rate of one process, with the model's own times first."""


@dataclass(frozen=True)
class SimulatedGains:
    """`varied`: times of the model; `also`: further settings of it; `arguments`: of each arm, why.

    worth_at: the number of processes at which an arm is worth writing or not.
    """

    study_name: str
    operation: str
    metric: str
    unit: str
    locks: tuple[str, ...]
    used: str
    varied: tuple[str, ...]
    open: Sequence[Open]
    arguments: Mapping[str, str]
    worth_at: int
    also: Sequence[Mapping[str, float | bool]] = field(default=())

    @cached_property
    def study(self) -> Study:
        return load_whole_study(self.study_name)

    @property
    def before(self) -> str:
        return self.study.unpatched.name

    def whatif(self, given: Mapping[str, float]) -> Answer:
        """Nothing is given: a study that has these gains takes no measurement."""
        rates = {n: self._rates(n) for n in THREADS}
        together = [n * rates[n][self.before][0] for n in THREADS]
        arms = [arm for arm in self.study.arm_names if arm != self.before]
        return Answer(
            study=self.study_name,
            used=[self.used],
            parameters=self._parameters(),
            waits=waits(UnpatchedCurve(list(THREADS), together), self.operation, self.locks),
            predictions=[row for arm in arms for row in self._rows(arm, rates)],
            open=list(self.open),
            ideas=[self._idea(arm, rates[self.worth_at]) for arm in arms],
            naive_reason=NAIVE,
            notes=[
                f"Gains over {self.before} are within one setting of the model: the ends are the lowest "
                f"and highest with {', '.join(self.varied)} halved and doubled one at a time, not a 95% "
                f"interval."
            ],
            waits_origin=WHENCE,
            origin="simulated",
        )

    def _settings(self) -> Iterator[Mapping[str, float | bool]]:
        yield {}
        yield from self.also
        for name, value in default_times(self.study.model, *self.varied).items():
            for factor in FACTORS:
                yield {name: factor * value}

    def _rates(self, threads: int) -> Rates:
        from lockscale.sim import simulate  # imports the compiler

        found, arms = Rates(), self.study.arms
        with progress(f"simulate {self.study_name}, {threads} processes", len(arms)) as shown:
            for done, arm in enumerate(arms, start=1):
                found[arm.name] = [
                    sum(
                        simulate(
                            self.study.model_of(arm),
                            threads,
                            {**arm.model_parameters, **setting},
                            seed=seed,
                            replications=1,
                            operations=OPERATIONS,
                            workers=1,
                        ).rate_per_s
                        for seed in SEEDS
                    )
                    / (threads * len(SEEDS))
                    for setting in self._settings()
                ]
                shown.update(done, arm.name)
        return found

    def _gains(self, arm: str, rates: Rates) -> list[float]:
        return [ours / theirs for ours, theirs in zip(rates[arm], rates[self.before], strict=True)]

    def _rows(self, arm: str, rates: Mapping[int, Rates]) -> list[Predicted]:
        alone, rows = rates[1][self.before][0], []
        for n in THREADS:
            base, said = rates[n][self.before][0], self._gains(arm, rates[n])
            low, high = base * min(said) / OWN_WORK, base * max(said) * OWN_WORK
            sign = sign_of_change(low, high, base)
            rows.append(Predicted(arm, n, self.metric, self.unit, base * said[0], low, high, alone, sign))
        return rows

    def _parameters(self) -> list[ParameterEstimate]:
        source = "the model's own; halved and doubled"
        return [
            ParameterEstimate(
                name,
                name.rpartition("_")[2],
                value,
                FACTORS[0] * value,
                FACTORS[1] * value,
                "outside",
                source,
            )
            for name, value in default_times(self.study.model, *self.varied).items()
        ]

    def _idea(self, arm: str, rates: Rates) -> Idea:
        said = self._gains(arm, rates)
        ends = (min(said) / OWN_WORK, max(said) * OWN_WORK)
        return idea_by_gain(arm, ends, self.worth_at, self.arguments[arm])
