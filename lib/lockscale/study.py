# SPDX-License-Identifier: MIT
"""Study, arm and target as typed models read from YAML; what they do not know is refused."""

import difflib
import reprlib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pydantic

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.printable import printable
from lockscale.target_file import (
    Count,
    LocalTarget,
    Name,
    QemuTarget,
    SshTarget,
    Target,
    TargetFile,
    guest_target,
)
from lockscale.yaml_text import UNREADABLE, parse_yaml, read_yaml

__all__ = [
    "DEFAULT_TARGET", "Arm", "Constant", "GuestPoints", "LocalTarget", "Parameters", "ProfilerName",
    "QemuTarget", "SshTarget", "Study", "Target", "guest_target", "list_studies", "list_targets",
    "load_study", "load_target", "parse_parameter",
]  # fmt: skip

M = TypeVar("M", bound=pydantic.BaseModel)

# Nothing of them reaches a command line as a path, a second option or a control character.
Text = Annotated[str, pydantic.Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
Function = Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9_.*?\[\]-]+$")]
MkfsWord = Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9_^=,.:%-]+$")]
MountOption = Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_=.:-]*$")]
Feature = Annotated[str, pydantic.Field(pattern=r"^\^?[a-z0-9_-]+$")]

DEFAULT_TARGET = "qemu"  # where everything runs that names no target


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class GuestPoints(_Strict):
    """One boot of an iteration: the CPUs that run and the numbers of processes measured on them."""

    cpus: Annotated[int, pydantic.Field(gt=0, le=8192, strict=True)]  # what x86 kernels know
    processes: Annotated[list[Count], pydantic.Field(min_length=1)]


ProfilerName = Literal["ftrace_cost", "perf_lock", "perf_record"]


class Parameters(_Strict):
    """What papermill and `-p name=value` may change."""

    guests: Annotated[list[GuestPoints], pydantic.Field(min_length=1)]
    creates_per_point: Count
    iterations: Annotated[int, pydantic.Field(ge=2, le=1000, strict=True)]
    profiled_functions: Annotated[list[Function], pydantic.Field(min_length=1)]
    profilers: Annotated[list[ProfilerName], pydantic.Field(min_length=1)] = ["ftrace_cost"]
    tool: Literal["auto", "fsload", "mdtest"]
    accel: Literal["auto", "kvm", "tcg"]
    seed: Annotated[int, pydantic.Field(ge=0, strict=True)]
    simulated_threads: Annotated[list[Count], pydantic.Field(min_length=1)]
    replications: Annotated[int, pydantic.Field(ge=2, le=1000, strict=True)]
    # Blocks before the A/A pair whose rows are compared with nothing.
    warm_up_blocks: Annotated[int, pydantic.Field(ge=0, le=100, strict=True)] = 0
    # Unmeasured loads that age each new file system; S1 did one, which loads the inodes.
    ageing_loads: Annotated[int, pydantic.Field(ge=1, le=1000, strict=True)] = 1
    latency: Annotated[bool, pydantic.Field(strict=True)] = False  # costs each operation two clock reads
    kernel_source: Annotated[str, pydantic.Field(strict=True)]


class Arm(_Strict):
    """A kernel series with what its model is told. `role` says which side of the patch it is."""

    name: Name
    role: Literal["before", "upstream", "ours", "floor"]
    model_parameters: dict[str, bool | float] = {}


class Constant(_Strict):
    """A number taken from outside the study's own tables, with where it is from."""

    value: float
    unit: Text
    source: Text


class Study(_Strict):
    """One question with its arms, its workload and everything that decides its result."""

    name: Name
    question: Text
    tables: list[Name]
    workload: Literal["create_unlink"]
    metric: Text
    model: Name
    arms: Annotated[list[Arm], pydantic.Field(min_length=2)]
    mkfs: list[MkfsWord]
    mount: list[MountOption]
    mkfs_asserts: list[Feature]
    calls_without_retry: Constant | None = None
    parameters: Parameters

    @pydantic.field_validator("arms")
    @classmethod
    def _before_and_upstream(cls, arms: list[Arm]) -> list[Arm]:
        names, roles = [arm.name for arm in arms], {arm.role for arm in arms}
        if len(set(names)) < len(names):
            raise ValueError("two arms have one name")
        if not {"before", "upstream"} <= roles:
            raise ValueError("an arm of role before and one of role upstream are needed")
        return arms

    def arm(self, role: str) -> Arm:
        """The first arm with this role."""
        return next(arm for arm in self.arms if arm.role == role)


def list_studies() -> list[str]:
    return sorted(path.stem for path in paths.STUDIES.glob("*.yaml"))


def list_targets() -> list[str]:
    return sorted(path.stem for path in paths.TARGETS.glob("*.yaml"))


def load_study(name: str, changes: dict[str, Any] | None = None) -> Study:
    """The study `name` with parameters changed; an unknown one or a wrong type is one sentence."""
    path = _named(paths.STUDIES, name, "study", list_studies())
    said = _read_yaml(path)
    known = set(Parameters.model_fields)
    for key in changes or {}:
        if key not in known:
            raise BadInput(f"study {name} has no parameter {key!r}{_near(key, known)}")
    if isinstance(said.get("parameters"), dict):
        said["parameters"] = {**said["parameters"], **(changes or {})}
    study = _checked(Study, said, path)
    if study.name != name:
        raise BadInput(f"{path.name} names its study {study.name!r}: let the file be {study.name}.yaml")
    return study


def load_target(name: str) -> Target:
    """The target `name`; a file that is none is one sentence."""
    path = _named(paths.TARGETS, name, "target", list_targets())
    target = _checked(TargetFile, _read_yaml(path), path).root
    if target.name != name:
        raise BadInput(f"{path.name} names its target {target.name!r}: let the file be {target.name}.yaml")
    return target


def parse_parameter(text: str) -> tuple[str, Any]:
    """`name=value` from the command line, the value read as YAML."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise BadInput(f"{text!r} is not a parameter: write -p name=value")
    try:
        return name, parse_yaml(value)
    except UNREADABLE:
        raise BadInput(f"the value of parameter {name} is not YAML: {_short(value)}") from None


def _named(folder: Path, name: str, what: str, known: list[str]) -> Path:
    if name not in known:
        raise BadInput(f"there is no {what} {name!r} in {folder.name}/{_near(name, known)}")
    return folder / f"{name}.yaml"


def _near(name: str, known: set[str] | list[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1)
    listed = ", ".join(sorted(known)) or "none"
    return f": did you mean {near[0]}?" if near else f" (there are: {listed})"


def _read_yaml(path: Path) -> dict[str, Any]:
    said = read_yaml(path)
    if not isinstance(said, dict):
        raise BadInput(f"{path} has to hold names with values, not a {type(said).__name__}")
    return said


def _checked(model: type[M], said: dict[str, Any], path: Path) -> M:
    try:
        return model.model_validate(said)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(printable(part) for part in first["loc"])
        got = "" if first["type"] == "missing" else f" (got {_short(first['input'])})"
        where = f"{where}: " if where else ""
        raise BadInput(f"{path.name}: {where}{printable(first['msg'], 200)}{got}") from None


def _short(value: Any) -> str:
    """What was said, cut to a readable length; YAML's aliases can make it enormous."""
    try:
        return reprlib.repr(value)[:80]
    except ValueError:  # an integer of more digits than Python prints
        return "a number of thousands of digits"
