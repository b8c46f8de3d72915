# SPDX-License-Identifier: MIT
"""Where the explorer's controls stand: a value that cannot be changed, and what it is to the simulator.

It can be written as a file: a model's parameters, or a study whose arms have them.
"""

import functools
import math
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from lockscale import paths
from lockscale.errors import BadInput, near, printable
from lockscale.files import write_text
from lockscale.sim import load_model
from lockscale.sim.model import Model, Value
from lockscale.studies.hooks import Scene
from lockscale.studies.registry import collected
from lockscale.study.file import list_studies, load_study

LOCK_KINDS = ("queued", "ticket", "unfair", "test_and_set", "sleeping", "mutex")
"""Of the model any_lock; all but the first are its switches."""
TIMES = {"hold": "hold_ns", "elsewhere": "elsewhere_us"}
"""Slider -> the parameter that every scene's model has for it."""


@cache
def scenes() -> tuple[Scene, ...]:
    """Those of every study, in the order of the studies; read once, as a slider that moves asks again."""
    return tuple(collected(lambda one: one.scenes(load_study(one.name)) if one.scenes else ()))


def scene(name: str) -> Scene:
    """The scene of that name. Raises BadInput for another."""
    for one in scenes():
        if one.name == name:
            return one
    raise BadInput(f"there is no scene {name!r} (known: {', '.join(one.name for one in scenes())})")


REPLICATIONS, SEED = 4, 1
OPERATIONS = 500
"""Of a quick look, which follows the hand. It can end before a storm begins: then `fine` says more."""
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
            raise BadInput(f"there is no kind of lock {self.kind!r} (known: {', '.join(LOCK_KINDS)})")
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
        return OPERATIONS if self.is_quick else OPERATIONS_FINE

    @property
    def is_quick(self) -> bool:
        """Whether few operations are enough for a look.

        A shared CPU passes on every 3 ms, in which one thread makes 50 creates: runs of 2,000 creates end
        before an owner of a lock is preempted, and are up to 5,000 times off.
        """
        return not self.fine and not self.shares_cpus

    @property
    def shares_cpus(self) -> bool:
        """Whether any point of the curve has more threads than CPUs."""
        return self.of.any_kind and 0 < self.cpus < max(self.counts())

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
            given |= {"shared_cpus": float(self.cpus)} if self.shares_cpus else {}
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
    """The setting with some controls moved; another scene starts at its own arm, threads and times.

    Raises BadInput for what is no control.
    """
    known = [f.name for f in fields(Setting)]
    for name in changes:
        if name not in known:
            raise BadInput(f"the explorer has no control {printable(name)}{near(name, known)}")
    if changes.get("scene", setting.scene) != setting.scene:
        new = scene(changes["scene"])
        setting = Setting(new.name, new.patch[0], new.threads, compare=setting.compare)
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
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadInput(f"{name} is {value!r}: give {low:g} to {high:g}")


FOLDER = paths.RUNS / "explored"
HEAD = "# SPDX-License-Identifier: MIT\n# Written by the lock explorer. {}\n"


def keep_parameters(setting: Setting, folder: Path = FOLDER) -> Path:
    content = {
        "model": setting.of.model,
        "parameters": setting.parameters(),
        "threads": list(setting.counts()),
        "replications": REPLICATIONS,
        "operations": setting.operations,
        "seed": SEED,
        "command": setting.command(),
    }
    return _write(folder / f"{setting.scene}-{setting.arm}.parameters.yaml", content, "Run its command.")


def has_study(setting: Setting) -> bool:
    return setting.scene in list_studies()


def keep_study(setting: Setting, folder: Path = FOLDER) -> Path:
    """Write the scene's study with these parameters in its arms; the file's path.

    Raises BadInput for a scene that no study file is of: what decides a measurement (mkfs, mount,
    arms) has to be said first.
    """
    if not has_study(setting):
        raise BadInput(
            f"there is no study {setting.scene} to change (known: {', '.join(list_studies())}): "
            "write the model's parameters"
        )
    content = load_study(setting.scene).model_dump(mode="json", exclude_none=True)
    content["model"] = setting.of.model
    for arm in content["arms"]:
        if arm["name"] in setting.of.arms:
            arm["model_parameters"] = dict(sorted(setting.parameters(arm["name"]).items()))
    content["parameters"] |= {"simulated_threads": list(setting.counts()), "replications": REPLICATIONS}
    content["parameters"] |= {"seed": SEED}
    study = f"notebooks/studies/{setting.scene}.yaml"
    where = f"To run it, copy it over {study} of a clone; `git checkout {study}` restores that."
    return _write(folder / f"{setting.scene}.yaml", content, where)


def _write(path: Path, content: dict[str, Any], note: str) -> Path:
    write_text(path, HEAD.format(note) + yaml.safe_dump(content, sort_keys=False, width=100))
    return path
