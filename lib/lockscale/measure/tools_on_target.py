# SPDX-License-Identifier: MIT
"""Which tools a target has, which version, where, what they lack, and what works without them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lockscale.errors import BadInput, printable
from lockscale.machines.machine import Completed, Machine
from lockscale.tools.target_tools import Part, TargetTool

ANSWER_S = 60
_MOST = 4096
_LONGEST_PATH = 240
# A tool that hangs, waits for a question or prints without end does not hold up the others.
_ANSWER = f'timeout -k 5 {ANSWER_S} "$@" </dev/null 2>/dev/null | head -c {_MOST}'
_STATUS = f'exec timeout -k 5 {ANSWER_S} "$@" </dev/null >/dev/null 2>&1'


@dataclass(frozen=True)
class Found:
    """A target's answer: path is None where the tool is absent; `doubt` says why version is None."""

    tool: TargetTool
    path: str | None = None
    version: str | None = None
    doubt: str = ""
    missing: tuple[Part, ...] = ()

    @property
    def usable(self) -> bool:
        """It is there, or something still works without it."""
        return self.path is not None or bool(self.tool.without)

    def says(self) -> str:
        """Version, path and what is missing; or what works without it and how to have it."""
        if self.path is None:
            offer = f"; to get it: {self.tool.get}" if self.tool.without else ""
            return f"missing: {self.tool.without or 'nothing is measured without it'}{offer}"
        version = self.version or f"version not known ({self.doubt})"
        lacks = [f"; without {part.name}: {part.without}" for part in self.missing]
        return f"{version}, {self.path}{''.join(lacks)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.tool.name,
            "version": self.version,
            "path": self.path,
            "missing": [{"name": part.name, "without": part.without} for part in self.missing],
            "works_without_it": self.tool.without or None,
        }


def detect(machine: Machine, tools: Sequence[TargetTool], told: Mapping[str, str]) -> list[Found]:
    """What `machine` answers for each tool, asked in one go; told: the user's environment variables.

    An answer that is not understood is a version that is not known. RunFailed when the machine is lost.
    """
    questions = [question for tool in tools for question in _questions(tool, told)]
    answers = iter(machine.run_all(questions, timeout_s=60 + ANSWER_S * len(questions)))
    return [_found(tool, next(answers), [next(answers) for _ in tool.parts]) for tool in tools]


def _questions(tool: TargetTool, told: Mapping[str, str]) -> list[list[str]]:
    variables = [f"{name}={told[name]}" for name in tool.variables if name in told]
    plain = ["env", "LC_ALL=C", *variables]
    return [
        ["sh", "-c", _ANSWER, "sh", *plain, *tool.ask],
        *(["sh", "-c", _STATUS, "sh", *plain, *part.has] for part in tool.parts),
    ]


def _found(tool: TargetTool, answer: Completed, parts: Sequence[Completed]) -> Found:
    lines = answer.stdout[:_MOST].split("\n")
    at = next((number for number, line in enumerate(lines) if line.startswith("/")), None)
    if at is None:
        return Found(tool)
    version, doubt = _version(tool, "\n".join(lines[at + 1 :]))
    missing = tuple(part for part, done in zip(tool.parts, parts, strict=True) if done.status)
    return Found(tool, printable(lines[at], _LONGEST_PATH), version, doubt, missing)


def _version(tool: TargetTool, text: str) -> tuple[str | None, str]:
    if tool.version is None:
        return None, "it prints none"
    try:
        return printable(tool.version(text)), ""
    except BadInput as error:
        return None, printable(error)
