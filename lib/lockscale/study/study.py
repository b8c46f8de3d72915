# SPDX-License-Identifier: MIT
"""A study as a typed model, and an arm of it; what they do not know is refused.

A study's file says all of it but the patches: those lie in kernel-patches/<study>/<arm>/, in `series`.
"""

from typing import Annotated, Literal

import pydantic

from lockscale.errors import BadInput, near
from lockscale.filesystems import Options, fs_type
from lockscale.kernels.series import Series, read_series
from lockscale.study.checks import CheckLoad, Counter, MountOption, Text, refuse_unknown
from lockscale.study.parameters import Function, Parameters
from lockscale.study.target_file import Name
from lockscale.tools.fsload import PHASES
from lockscale.yaml_text import OneOrMore, Strict, spelt


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
        "name a published table, or a CSV file in the same folder as the study file, such as rates.csv",
    ),
]

# Nothing of them reaches a command line as a path, a second option or a control character.
MkfsWord = Annotated[
    str,
    spelt(r"[A-Za-z0-9_^=,.:%-]+", "write one word for mkfs, such as -O, no path: the target has the disk"),
]
Feature = Annotated[str, spelt(r"\^?[a-z0-9_-]+", "write a feature, with ^ where it must be off")]

DiskSize = Annotated[int, pydantic.Field(ge=64, le=1 << 20, strict=True)]


def _left_out(value: object) -> bool:
    """Not among what a study is known by, so that those without it are known as before."""
    return not value


class Arm(Strict):
    """A kernel with its file system's options, and its model.

    role: `unpatched` and `patched` are the two sides that are compared; the patches of a `proposed` one are
    meant for a list, too; a `variant`, whoever wrote it, is only measured beside them, and a `bound` is what
    no real kernel can do. series: the folder whose patches are this arm's, by default its own. mkfs to knobs:
    in addition to the study's; knobs are files of the file system's folder in sysfs. model: by default the
    study's. simulated: false where no model knows the arm. change: what it changes, as a commit message says
    it; where it is left out, the subjects of its patches. problem, story: of the kernel that its patches are
    for, where the study's are of another one.
    """

    name: Name
    role: Literal["unpatched", "patched", "variant", "proposed", "bound"]
    change: Text = ""
    problem: Text = pydantic.Field(default="", exclude_if=_left_out)
    story: Text = pydantic.Field(default="", exclude_if=_left_out)
    series: Name | None = None
    mkfs: list[MkfsWord] = []
    mkfs_asserts: list[Feature] = []
    mount: list[MountOption] = []
    knobs: dict[Name, Annotated[int, pydantic.Field(ge=-(2**63), lt=2**64)]] = {}
    model: Name | None = None
    model_parameters: dict[str, bool | float] = {}
    simulated: pydantic.StrictBool = True

    @pydantic.model_validator(mode="after")
    def _problem_with_its_story(self) -> "Arm":
        if bool(self.problem) != bool(self.story):
            told, missing = ("problem", "story") if self.problem else ("story", "problem")
            raise ValueError(f"it has a {told} of its own without a {missing}: write both, of one kernel")
        return self

    @property
    def options(self) -> Options:
        """What it adds to the study's own."""
        return Options(mkfs=self.mkfs, mkfs_asserts=self.mkfs_asserts, mount=self.mount, knobs=self.knobs)


def _with_two_sides(arms: list[Arm]) -> list[Arm]:
    """The arms, whose names differ and which hold both sides of a patch; ValueError is pydantic's."""
    names, roles = [arm.name for arm in arms], {arm.role for arm in arms}
    if len(set(names)) < len(names):
        raise ValueError("two arms have the same name")
    if not {"unpatched", "patched"} <= roles:
        raise ValueError("an arm of role unpatched and one of role patched are needed")
    return arms


class Constant(Strict):
    """A number taken from outside the study's own tables, with where it is from.

    run: the one of data/measured that it is of, if it is.
    """

    value: Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False, strict=True)]
    unit: Text
    source: Text
    run: Annotated[str, spelt(r"[a-z0-9][A-Za-z0-9_-]*", "name a run of data/measured")] | None = None


class Study(Strict):
    """One question with its arms, its workload and everything that decides its result.

    problem, story, limits: what hurts, how the algorithm explains it, and what its model lacks; the first two
    begin the commit message. tables: published ones, or CSV files beside the study file (study_tables reads
    both); the simulator's points stand beside the first. workload: a test of fsload; `workloads_beside` are
    measured too, without a profiler. counter: what carries the proof, a profiled function's calls for one
    operation, or one of `counters`, counted on observe kernels. aa_counter: the profiled function whose calls
    for one operation compare the A/A pair, and are the proof where no observe kernel ran; left out where
    counter is one. own_lines: functions that move the cache lines that the arms are about; where others are
    full, no arm gains. replaced: functions whose work the other arms do with code of their own; with one
    process they gain up to its share of the time. disk_mib: the least that a guest's disk has to have; only
    what is written to it takes room. check: the load under which `lockscale patches check` counts `counters`.
    """

    name: Name
    question: Annotated[Text, pydantic.Field(min_length=1)]
    problem: Text = ""
    story: Text
    limits: Text
    tables: OneOrMore[TableName]
    workload: Workload
    workloads_beside: list[Workload] = []
    metric: Text
    counter: Text
    aa_counter: Function | Literal[""] = ""
    own_lines: list[Function] = []
    replaced: list[Function] = pydantic.Field(default=[], exclude_if=_left_out)
    model: Name
    arms: Annotated[
        list[Arm], pydantic.Field(min_length=2, max_length=1000), pydantic.AfterValidator(_with_two_sides)
    ]
    filesystem: Annotated[str, pydantic.AfterValidator(_known_fs_type)]
    mkfs: list[MkfsWord]
    mount: list[MountOption]
    mkfs_asserts: list[Feature]
    disk_mib: DiskSize | None = pydantic.Field(default=None, exclude_if=_left_out)
    check: CheckLoad = CheckLoad()
    counters: list[Counter] = []
    calls_without_retry: Constant | None = None
    parameters: Parameters

    @pydantic.model_validator(mode="after")
    def _counters_of_its_arms(self) -> "Study":
        refuse_unknown(self.counters, self.check, self.checked_arms)
        return self

    @pydantic.model_validator(mode="after")
    def _mkfs_makes_what_is_asserted(self) -> "Study":
        for arm in self.arms:
            options = self.options_of(arm.name)
            words = set(",".join(options.mkfs).split(","))
            for asserted in options.mkfs_asserts:
                opposite = asserted.removeprefix("^") if asserted.startswith("^") else f"^{asserted}"
                if opposite in words and asserted not in words:
                    raise ValueError(f"mkfs makes {opposite}, but mkfs_asserts has {asserted}: correct one")
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
    def sides(self) -> tuple[str, str]:
        """The names of both."""
        return self.unpatched.name, self.patched.name

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
        return read_series(self.name, arm, folder, self.parameters.kernel_base)

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

    @property
    def published_tables(self) -> list[str]:
        """The others: those of data/published."""
        return [name for name in self.tables if name not in self.own_tables]

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
