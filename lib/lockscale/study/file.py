# SPDX-License-Identifier: MIT
"""Study, arm and target as typed models read from YAML; what they do not know is refused.

A study's file says all of it but the patches: those lie in kernel-patches/<study>/<arm>/, in `series`.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.filesystems import Options, fs_type
from lockscale.kernels.series import Series, has_series, read_series
from lockscale.study.checks import CheckLoad, Counter, MountOption, refuse_unknown
from lockscale.study.mistakes import checked, near, place_in, read_names, short
from lockscale.study.parameters import RENAMED, Function, GuestPoints, Parameters, ProfilerName
from lockscale.study.target_file import (
    LocalTarget,
    ManycoreTarget,
    Name,
    QemuTarget,
    SshTarget,
    Target,
    TargetFile,
    guest_target,
)
from lockscale.tools.fsload import PHASES
from lockscale.yaml_text import UNREADABLE, parse_yaml, spelt

__all__ = [
    "DEFAULT_TARGET",
    "RATES_TARGET",
    "Arm",
    "Constant",
    "GuestPoints",
    "LocalTarget",
    "ManycoreTarget",
    "Parameters",
    "ProfilerName",
    "QemuTarget",
    "SshTarget",
    "Study",
    "Target",
    "guest_target",
    "list_studies",
    "list_targets",
    "load_study",
    "load_target",
    "named_series",
    "parse_parameter",
]  # fmt: skip

# Nothing of them reaches a command line as a path, a second option or a control character.
Text = Annotated[str, spelt(r"[^\x00-\x1f\x7f-\x9f]*", "write one line without control characters", 65536)]
MkfsWord = Annotated[str, spelt(r"[A-Za-z0-9_^=,.:%-]+", "write one word for mkfs, such as -O")]
Feature = Annotated[str, spelt(r"\^?[a-z0-9_-]+", "write a feature, with ^ where it must be off")]


def _of_fsload(workload: str) -> str:
    """`workload`, which must be a test of fsload; ValueError is pydantic's."""
    if workload not in PHASES:
        raise ValueError(f"fsload has no test {workload!r}: use one of {', '.join(PHASES)}")
    return workload


Workload = Annotated[str, pydantic.AfterValidator(_of_fsload)]


def _known_fs_type(name: str) -> str:
    """`name`, which fs_type() must know; ValueError is pydantic's."""
    try:
        return fs_type(name).name
    except BadInput as error:
        raise ValueError(str(error)) from None


TableName = Annotated[
    str,
    spelt(
        r"[a-z0-9][a-z0-9_-]{0,63}|[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}\.csv",
        "name a published table, or a CSV file that lies right beside the study file, such as rates.csv",
    ),
]

DEFAULT_TARGET = "qemu"  # where kernels are proven and counted when no target is named
RATES_TARGET = "manycore"  # where a study is run then


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Arm(_Strict):
    """A kernel with its file system's options, and its model.

    role: `unpatched` and `patched` are the two sides that are compared; a `variant` is a further published
    or inferred one, a `proposed` one is ours, and a `bound` is what no real kernel can do. series: the folder
    whose patches are this arm's, by default its own. mkfs to knobs: in addition to the study's; knobs are
    files of the file system's folder in sysfs. model: by default the study's. simulated: false where no
    model knows the arm.
    """

    name: Name
    role: Literal["unpatched", "patched", "variant", "proposed", "bound"]
    series: Name | None = None
    mkfs: list[MkfsWord] = []
    mkfs_asserts: list[Feature] = []
    mount: list[MountOption] = []
    knobs: dict[Name, int] = {}
    model: Name | None = None
    model_parameters: dict[str, bool | float] = {}
    simulated: Annotated[bool, pydantic.Field(strict=True)] = True

    @property
    def options(self) -> Options:
        """What it adds to the study's own."""
        return Options(mkfs=self.mkfs, mkfs_asserts=self.mkfs_asserts, mount=self.mount, knobs=self.knobs)


def _with_two_sides(arms: list[Arm]) -> list[Arm]:
    """The arms, whose names differ and which hold both sides of a patch; ValueError is pydantic's."""
    names, roles = [arm.name for arm in arms], {arm.role for arm in arms}
    if len(set(names)) < len(names):
        raise ValueError("two arms have one name")
    if not {"unpatched", "patched"} <= roles:
        raise ValueError("an arm of role unpatched and one of role patched are needed")
    return arms


class Constant(_Strict):
    """A number taken from outside the study's own tables, with where it is from.

    run: the one of data/measured that it is of, if it is.
    """

    value: pydantic.FiniteFloat
    unit: Text
    source: Text
    run: Annotated[str, spelt(r"[a-z0-9][A-Za-z0-9_-]*", "name a run of data/measured")] | None = None


class Study(_Strict):
    """One question with its arms, its workload and everything that decides its result.

    story, limits: how the algorithm explains the tables, and what its model lacks. tables: published
    ones, or CSV files beside the study file (study_tables reads both); the simulator's points stand beside
    the first. workload: a test of fsload; `workloads_beside` are measured too, without a profiler. counter:
    what carries the proof, a profiled function's calls for one operation, or one of `counters`, counted on
    observe kernels. aa_counter: the profiled function whose calls for one operation compare the A/A pair, and
    are the proof where no observe kernel ran; left out where counter is one. check: the load under which
    `lockscale patches check` counts `counters`.
    """

    name: Name
    question: Text
    story: Text
    limits: Text
    tables: Annotated[list[TableName], pydantic.Field(min_length=1)]
    workload: Workload
    workloads_beside: list[Workload] = []
    metric: Text
    counter: Text
    aa_counter: Function | Literal[""] = ""
    model: Name
    arms: Annotated[list[Arm], pydantic.Field(min_length=2)]
    filesystem: Annotated[str, pydantic.AfterValidator(_known_fs_type)]
    mkfs: list[MkfsWord]
    mount: list[MountOption]
    mkfs_asserts: list[Feature]
    check: CheckLoad = CheckLoad()
    counters: list[Counter] = []
    calls_without_retry: Constant | None = None
    parameters: Parameters

    @pydantic.field_validator("arms")
    @classmethod
    def _two_sides(cls, arms: list[Arm]) -> list[Arm]:
        return _with_two_sides(arms)

    @pydantic.model_validator(mode="after")
    def _counters_of_its_arms(self) -> "Study":
        refuse_unknown(self.counters, self.check, self.checked_arms)
        return self

    @property
    def unpatched(self) -> Arm:
        """The first arm of this role: the side that patches are compared with."""
        return next(arm for arm in self.arms if arm.role == "unpatched")

    @property
    def patched(self) -> Arm:
        """The first arm of this role: the side that the proof is of."""
        return next(arm for arm in self.arms if arm.role == "patched")

    @property
    def checked_arms(self) -> list[str]:
        """The arms, and the series that only arms of another name have: what counters can compare."""
        return list(dict.fromkeys([*self.arm_names, *(arm.series for arm in self.arms if arm.series)]))

    def options_of(self, arm: str, variant: str | None = None) -> Options:
        """The file system of `arm`: the study's, the arm's additions, and those of a variant of the check."""
        study = Options(
            filesystem=self.filesystem, mkfs=self.mkfs, mkfs_asserts=self.mkfs_asserts, mount=self.mount
        )
        own = next((one.options for one in self.arms if one.name == arm), Options())
        last = Options(mount=self.check.variants[variant] if variant is not None else [])
        return last.added_to(own.added_to(study))

    def series_of(self, arm: str) -> Series:
        """The patches of `arm`: of the folder of its name, or of the one that its `series` names."""
        folder = next((one.series for one in self.arms if one.name == arm), None)
        return read_series(self.name, arm, folder)

    def arm(self, name: str) -> Arm:
        """Raises BadInput for one that the study does not have, or that the run leaves out."""
        if name not in self.arm_names:
            raise BadInput(f"study {self.name} has no arm {name!r}{near(name, self.arm_names)}")
        return next(arm for arm in self.arms if arm.name == name)

    @property
    def arm_names(self) -> list[str]:
        return [arm.name for arm in self.arms]

    @property
    def own_tables(self) -> list[str]:
        """Those of its tables that are files beside the study file."""
        return [name for name in self.tables if name.endswith(".csv")]

    def model_of(self, arm: Arm) -> str:
        """The simulator's model of an arm."""
        return arm.model or self.model

    @property
    def called_function(self) -> str:
        """The profiled function whose calls tell two builds apart."""
        return self.aa_counter or self.counter

    @property
    def operation(self) -> str:
        """What the rates of the study are of, as rows call it: the first phase of its workload."""
        return PHASES[self.workload][0]

    def with_arms(self, names: list[str]) -> "Study":
        """The same with these arms alone, or all where none is named. BadInput where a side is missing."""
        for name in names:
            self.arm(name)
        try:
            kept = _with_two_sides([arm for arm in self.arms if arm.name in names or not names])
        except ValueError as error:
            raise BadInput(str(error)) from None
        return self.model_copy(update={"arms": kept})


def list_studies() -> list[str]:
    return sorted(path.stem for path in paths.STUDIES.glob("*.yaml"))


def list_targets() -> list[str]:
    return sorted(path.stem for path in paths.TARGETS.glob("*.yaml"))


def load_study(name: str, changes: dict[str, Any] | None = None) -> Study:
    """The study `name` with parameters changed; an unknown one or a wrong type is one sentence."""
    path = _named(paths.STUDIES, name, "study", list_studies())
    said = read_names(path)
    for key in changes or {}:
        if key in RENAMED:
            raise BadInput(f"parameter {key} is called {RENAMED[key]} now: rename it")
        if key not in Parameters.model_fields:
            raise BadInput(f"study {name} has no parameter {key!r}{near(key, Parameters.model_fields)}")
    given = changes or {}
    if isinstance(said.get("parameters"), dict):
        said["parameters"] = {**said["parameters"], **given}
    study = checked(Study, said, path, given)
    _refuse_other_name(path, study.name, "study")
    _refuse_arms_toml(study)
    try:
        return study.with_arms(study.parameters.arms)
    except BadInput as error:
        raise BadInput(f"{place_in(path, 'parameters.arms', given)}{error}") from None


def load_whole_study(name: str) -> Study:
    """The study `name` with all of its arms, whichever its file takes for a run."""
    return load_study(name, {"arms": []})


def named_series(name: str) -> Series:
    """The series that "study/arm" names: a folder of kernel-patches, or an arm that has another one's."""
    study, slash, arm = name.partition("/")
    if not (slash and study and arm):
        raise BadInput(f"{name!r} names no series: write STUDY/ARM, as in `lockscale patches list`")
    if has_series(study, arm) or study not in list_studies():
        return read_series(study, arm)
    return load_whole_study(study).series_of(arm)


def _refuse_arms_toml(study: Study) -> None:
    """BadInput where a study of the user's still has the file that its YAML has taken the place of."""
    old = paths.KERNEL_PATCHES / study.name / "arms.toml"
    if old.is_file():
        raise BadInput(
            f"{old} is not read any more: move [arm.*] into arms, [load] into check and [[counter]] into "
            f"counters of {study.name}.yaml, as kernel-patches/README.md says, and delete it"
        )


def load_target(name: str) -> Target:
    """The target `name`; a file that is none is one sentence."""
    path = _named(paths.TARGETS, name, "target", list_targets())
    target = checked(TargetFile, read_names(path), path).root
    _refuse_other_name(path, target.name, "target")
    return target


def parse_parameter(text: str) -> tuple[str, Any]:
    """`name=value` from the command line, the value read as YAML."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise BadInput(f"{text!r} is not a parameter: write -p name=value")
    try:
        return name, parse_yaml(value)
    except UNREADABLE:
        raise BadInput(f"the value of parameter {name} is not YAML: {short(value)}") from None


def _named(folder: Path, name: str, what: str, known: list[str]) -> Path:
    """The file of that name, which may have its folder before and .yaml behind it, as shells complete it."""
    given = Path(name)
    inside = given.parent.parts
    if not inside or folder.parts[-len(inside) :] == inside:
        name = given.name.removesuffix(".yaml")
    if name not in known:
        raise BadInput(f"there is no {what} {name!r} in {folder.name}/{near(name, known)}")
    return folder / f"{name}.yaml"


def _refuse_other_name(path: Path, name: str, what: str) -> None:
    if name != path.stem:
        raise BadInput(f"{path.name} names its {what} {name!r}: let the file be {name}.yaml")
