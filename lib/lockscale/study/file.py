# SPDX-License-Identifier: MIT
"""The files of studies and targets, found by name, read and checked; -p changes parameters of a study."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lockscale import paths
from lockscale.errors import BadInput, near
from lockscale.kernels.series import Series, has_series, read_series
from lockscale.study.mistakes import checked, place_in, read_names, short
from lockscale.study.parameters import RENAMED, GuestPoints, Parameters, ProfilerName
from lockscale.study.study import Arm, Constant, Study
from lockscale.study.target_file import (
    LocalTarget,
    ManycoreTarget,
    QemuTarget,
    SshTarget,
    Target,
    TargetFile,
    guest_target,
)
from lockscale.yaml_text import UNREADABLE, parse_yaml

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
    "parse_parameters",
]  # fmt: skip

DEFAULT_TARGET = "qemu"  # where kernels are proven and counted when no target is named
RATES_TARGET = "manycore"  # where a study is run then


def list_studies() -> list[str]:
    return _stems(paths.STUDIES)


def list_targets() -> list[str]:
    return _stems(paths.TARGETS)


def _stems(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.yaml"))


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
            f"{old} is no longer read: move [arm.*] into arms, [load] into check and [[counter]] into "
            f"counters of {study.name}.yaml, as kernel-patches/README.md says, and delete it"
        )


def load_target(name: str) -> Target:
    """The target `name`; a file that is none is one sentence."""
    path = _named(paths.TARGETS, name, "target", list_targets())
    target = checked(TargetFile, read_names(path), path).root
    _refuse_other_name(path, target.name, "target")
    return target


def parse_parameters(texts: Iterable[str]) -> dict[str, Any]:
    """What each -p of the command line gives, by its name. Raises BadInput where one is given twice."""
    found: dict[str, Any] = {}
    for name, value in map(parse_parameter, texts):
        if name in found:
            raise BadInput(f"parameter {name} is given twice: give it once")
        found[name] = value
    return found


def parse_parameter(text: str) -> tuple[str, Any]:
    """`name=value` from the command line, the value read as YAML."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise BadInput(f"{text!r} is not a parameter: write -p name=value")
    try:
        return name, parse_yaml(value)
    except BadInput as error:
        raise BadInput(f"the value of parameter {name} cannot be used: {error}") from None
    except UNREADABLE:
        raise BadInput(f"the value of parameter {name} is not YAML: {short(value)}") from None


def _named(folder: Path, name: str, what: str, known: list[str]) -> Path:
    """The file of that name, which may have its folder before and .yaml behind it, as shells complete it."""
    if not isinstance(name, str):  # a notebook's parameter may be anything
        raise BadInput(f"{what} is {name!r}: give a name in quotes, such as {(known or ['...'])[0]!r}")
    given = Path(name)
    inside = given.parent.parts
    if not inside or folder.parts[-len(inside) :] == inside:
        name = given.name.removesuffix(".yaml")
    if name not in known:
        raise BadInput(
            f"there is no {what} {name!r} in {folder.parent.name}/{folder.name}{near(name, known)}"
        )
    return folder / f"{name}.yaml"


def _refuse_other_name(path: Path, name: str, what: str) -> None:
    if name != path.stem:
        there = path.with_name(f"{name}.yaml").exists()
        cure = f"write name: {path.stem}" if there else f"rename the file to {name}.yaml"
        raise BadInput(f"{path.name} names its {what} {name!r}: {cure}")
