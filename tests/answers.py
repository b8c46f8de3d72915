# SPDX-License-Identifier: MIT
"""Machines that answer when they are asked for their tools."""

from pathlib import Path

from lockscale.doctor import detect
from lockscale.machines.machine import Completed
from lockscale.tools import fsload
from lockscale.tools.registry import TARGET_TOOLS

FSLOAD = fsload.on_target(Path("/opt/lockscale/fsload"))
ALL = (*TARGET_TOOLS, FSLOAD)


def ends_in(argv, question):
    return list(argv[-len(question) :]) == list(question)


class Answers:
    """A machine that answers the question for a tool with a text, and any other with a status."""

    emulated = True

    def __init__(self, says, tools=ALL, status=0):
        self.answers = [(tool.ask, says.get(tool.name, "")) for tool in tools]
        self.status = status
        self.asked = []

    def run(self, argv, *, timeout_s=60):
        return self.run_all([argv])[0]

    def run_all(self, steps, *, timeout_s=60):
        self.asked += steps
        return [self.answer(tuple(argv)) for argv in steps]

    def answer(self, argv):
        text = next((said for ask, said in self.answers if ends_in(argv, ask)), None)
        return Completed(argv, self.status, "", "") if text is None else Completed(argv, 0, text, "")


def found(machine, tools=ALL, told=None):
    return {one.tool.name: one for one in detect(machine, tools, told or {})}


def installed(says):
    return {name: f"/usr/bin/{name.split()[0]}\n{text}" for name, text in says.items()}
