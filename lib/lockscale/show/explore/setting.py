# SPDX-License-Identifier: MIT
"""Where the sliders stand: a value that cannot be changed, and what it means to the simulator."""

import functools
import math
from dataclasses import dataclass, fields, replace
from typing import Any

from lockscale.errors import BadInput
from lockscale.show.explore.scenes import LOCK_KINDS, TIMES, scene, scenes
from lockscale.sim import load_model
from lockscale.sim.model import Model, Value
from lockscale.studies.scene import Scene

REPLICATIONS, SEED = 4, 1
OPERATIONS = 500
"""Of a quick look, which follows the hand. It can end before a storm begins: then `fine` says more."""
OPERATIONS_SHARED = 2000
"""A CPU that is shared passes on every 3 ms, in which one thread makes 50 creates."""
OPERATIONS_FINE = 20_000
"""As a study and `lockscale sim` take of themselves."""
MAX_THREADS, MAX_SKEW_US = 64, 10_000.0
DIGITS = 4


@dataclass(frozen=True)
class Setting:
    """One position of all the controls; by default the first scene, and of a scene the arm before its patch.

    `hold` (ns) and `elsewhere` (us) are 0 for the model's own values.
    `cpus`: CPUs that the threads share, 0 for one each. Lock kind, skew and CPUs are those of scenes
    that have `any_kind`; others leave them alone. `fine`: no quick look but as many operations as a
    study takes. Raises BadInput for what no control can say.
    """

    scene: str = ""
    arm: str = ""
    threads: int = 48
    hold: float = 0.0
    elsewhere: float = 0.0
    kind: str = "queued"
    skew_us: float = 0.0
    cpus: int = 0
    compare: bool = True
    fine: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scene", self.scene or scenes()[0].name)
        known = self.of
        object.__setattr__(self, "arm", self.arm or known.patch[0])
        if self.arm not in known.arms:
            raise BadInput(f"scene {self.scene} has no arm {self.arm!r}: it has {', '.join(known.arms)}")
        if self.kind not in LOCK_KINDS:
            raise BadInput(f"there is no kind of lock {self.kind!r}: there are {', '.join(LOCK_KINDS)}")
        _within("threads", self.threads, 1, MAX_THREADS)
        _within("cpus", self.cpus, 0, MAX_THREADS)
        _within("skew_us", self.skew_us, 0, MAX_SKEW_US)
        _within("hold", self.hold, 0, 1e9)
        _within("elsewhere", self.elsewhere, 0, 1e9)

    @property
    def of(self) -> Scene:
        return scene(self.scene)

    @property
    def operations(self) -> int:
        """What each replication counts."""
        if self.fine:
            return OPERATIONS_FINE
        return OPERATIONS_SHARED if self.cpus and self.of.any_kind else OPERATIONS

    def parameters(self, arm: str = "") -> dict[str, Value]:
        """What differs from the model's defaults, for this arm or another."""
        known = self.of
        given: dict[str, Value] = dict(known.arms[arm or self.arm])
        for slider, name in TIMES.items():
            value = getattr(self, slider)
            if value and rounded(value) != default(known, name):
                given[name] = rounded(value)
        if known.any_kind:
            given |= {self.kind: True} if self.kind != LOCK_KINDS[0] else {}
            given |= {"skew_us": rounded(self.skew_us)} if self.skew_us else {}
            given |= {"shared_cpus": float(self.cpus)} if self.cpus else {}
        return given

    def counts(self) -> tuple[int, ...]:
        """The thread counts of the curve: the scene's, and the one chosen."""
        return tuple(sorted({*self.of.counts, self.threads}))

    def command(self) -> str:
        """The command line that prints the chosen arm's curve."""
        given = " ".join(f"-p {name}={_text(value)}" for name, value in self.parameters().items())
        counts = ",".join(map(str, self.counts()))
        run = f"--threads {counts} --replications {REPLICATIONS} --operations {self.operations} --seed {SEED}"
        return " ".join(filter(None, ["lockscale sim", self.of.model, given, run]))


def changed(setting: Setting, **changes: Any) -> Setting:
    """The setting with some controls moved; another scene starts at its own arm, threads and times."""
    if changes.get("scene", setting.scene) != setting.scene:
        new = scene(changes["scene"])
        start = Setting(new.name, new.patch[0], new.threads, compare=setting.compare)
        kept = {f.name for f in fields(Setting)} - {"scene", "arm", "threads"}
        return replace(start, **{name: value for name, value in changes.items() if name in kept})
    return replace(setting, **changes)


def default(known: Scene, parameter: str) -> float:
    """The model's own value of a parameter."""
    return next(float(p.default) for p in model_of(known.model).parameters if p.name == parameter)


@functools.cache
def model_of(name: str) -> Model:
    """The scene's model, found once: to look through all models at every move takes longer than some runs."""
    return load_model(name)


def rounded(value: float) -> float:
    """To as many digits as the sliders show, so that what is printed is what is simulated."""
    return round(value, DIGITS - 1 - math.floor(math.log10(abs(value)))) if value else 0.0


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.12g}"


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise BadInput(f"{name} is {value}: give {low:g} to {high:g}")
