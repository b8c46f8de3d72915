# SPDX-License-Identifier: MIT
"""What an experiment asks of a file system, and the options with which one is made, mounted and tuned."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from lockscale.errors import BadInput, printable
from lockscale.yaml_text import Strict


class Options(Strict):
    """How a file system is made, mounted and tuned. `knobs` are files of its folder in sysfs.

    filesystem: as mount calls it; empty in an arm's additions to its study's options. mkfs_asserts: features
    that must be on afterwards, or off where they begin with ^.
    """

    filesystem: str = ""
    mkfs: list[str] = []
    mkfs_asserts: list[str] = []
    mount: list[str] = []
    knobs: dict[str, int] = {}

    def added_to(self, other: "Options") -> "Options":
        """Both together, `other` first."""
        return Options(
            filesystem=self.filesystem or other.filesystem,
            mkfs=[*other.mkfs, *self.mkfs],
            mkfs_asserts=[*other.mkfs_asserts, *self.mkfs_asserts],
            mount=_last_of_each([*other.mount, *self.mount]),
            knobs={**other.knobs, **self.knobs},
        )

    @property
    def line(self) -> str:
        """The part of an arm's identity that is not its build-id."""
        knobs = "".join(f"; {name}={value}" for name, value in sorted(self.knobs.items()))
        return f"mkfs.{self.filesystem} {' '.join(self.mkfs)}; mount -o {','.join(self.mount)}{knobs}"


def _last_of_each(options: list[str]) -> list[str]:
    """Of options `name=value` of one name the last, as mount takes them."""
    return list({option.partition("=")[0]: option for option in options}.values())


@dataclass(frozen=True)
class Made:
    """What mkfs made, as the file system's own tools print it afterwards.

    facts: what else of its layout decides a result, under names that say the unit.
    """

    features: tuple[str, ...] = ()
    facts: Mapping[str, int | str | None] = field(default_factory=dict)


SIZE = re.compile(r"[0-9]+[KMGTkmgts]?")
_LETTER = re.compile(r"^-.")  # what it says may follow without a blank: -Jdevice=...
_BARE = re.compile(r"-.|--[^=]+")  # an option whose value, if it takes one, is the next word
_WORDS = re.compile(r"[,=]")


class FsType:
    """One file system. Commands are argv, run as root on the machine under test.

    What is not said is as one in memory has it, which has no mkfs, no description and no check.
    """

    name: str  # as `mount -t`, its folder in tracefs and the kernel's list of block signatures call it
    on_disk: bool = True
    package: str = ""  # Debian's, of its tools
    dry_run: Sequence[str] = (
        "true",
    )  # mkfs without its device, that says whether it would and writes nothing
    trace_header: str = ""  # the file of the kernel's source that defines its trace events
    versions: Sequence[
        Sequence[str]
    ] = ()  # print the version of a tool that decides a result in their first line
    option: re.Pattern[str] = re.compile(r"(?!)")  # the options of mkfs that are taken
    flags: Collection[str] = ()  # those of them that no value follows
    elsewhere: Collection[str] = ()  # words in them that are followed by another device or file, or mean one
    progress: re.Pattern[str] = re.compile(r"(?!)")  # how lines of check() begin that say how far it is

    def mkfs(self, options: Sequence[str], label: str, device: str, size: str) -> list[str]:
        """The command that makes it on `device`; size: as mkfs takes it, empty for the whole disk."""
        raise NotImplementedError

    def refuse_options(self, options: Sequence[str], size: str) -> None:
        """Raises BadInput for an option not taken or that reaches beyond the disk, or a size that is none."""
        value_follows = False
        for option in options:
            unknown = option.startswith("-") and not self.option.fullmatch(option)
            device = not (option.startswith("-") or value_follows)  # or a file, which mkfs takes for one
            words = {*_WORDS.split(option), *_WORDS.split(_LETTER.sub("", option, count=1))}
            value_follows = not value_follows and option not in self.flags and bool(_BARE.fullmatch(option))
            if device or "/" in option or not words.isdisjoint(self.elsewhere):
                raise BadInput(f"the mkfs option {printable(option)!r} reaches beyond the disk: leave it out")
            if unknown:
                raise BadInput(
                    f"the mkfs option {printable(option)!r} is none of those that lockscale gives "
                    f"mkfs.{self.name}: leave it out"
                )
        if value_follows:
            raise BadInput(f"the mkfs option {options[-1]!r} lacks its value: write it as the next word")
        if size and not SIZE.fullmatch(size):
            raise BadInput(f"{printable(size)!r} is not a file system size: give a number with K, M, G or T")

    def describe(self, device: str) -> list[str]:
        """The command that prints what read() reads."""
        return ["true"]

    def read(self, said: str) -> Made:
        """What describe() printed."""
        return Made()

    def knobs(self, device: str) -> str:
        """The folder of its settings in sysfs, for a device such as /dev/vda; BadInput where it has none."""
        return f"/sys/fs/{self.name}/{device.removeprefix('/dev/')}"

    def check(self, device: str) -> list[str]:
        """The command that changes nothing and ends with 0 where there is nothing to mend; unmounted."""
        return ["true"]

    def fault(self, status: int, printed: str) -> str:
        """The first that check() found to mend; empty where it found nothing.

        printed: to standard output, then to standard error.
        """
        lines = (line.strip() for line in printed.splitlines() if line.strip())
        said = next((line for line in lines if not self.progress.match(line)), "")
        return said or f"it ended with status {status}" if status else ""


def tools_of(fs: FsType) -> dict[str, str]:
    """The commands that a run with `fs` on a disk needs, each with its Debian package."""
    if not fs.on_disk:
        return {}
    commands = (fs.mkfs((), "", "", ""), fs.describe(""), fs.check(""), *fs.versions)
    return dict.fromkeys((argv[0] for argv in commands), fs.package)
