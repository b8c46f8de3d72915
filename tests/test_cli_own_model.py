# SPDX-License-Identifier: MIT
"""`lockscale sim` and `sweep` with a model file of the user's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from command import Lockscale

OWN = '''\
from typing import Annotated
from lockscale.sim.delays import us
from lockscale.sim.model import Note, model

@model(unit="ops/s", calibration="calibrated: by hand")
def two_steps(m, *, first_us: Annotated[float, Note("a step", "made up")] = 3.0):
    """Threads that never meet: N / (first + 1 us)."""
    path = m.path("path")
    path.spend(us(first_us))
    path.spend(us(1))
'''


@pytest.fixture(autouse=True)
def own_file(inside: Path) -> None:
    (inside / "own.py").write_text(OWN)


def test_a_file_is_simulated_under_its_models_name(lockscale: Lockscale) -> None:
    value = json.loads(lockscale("sim", "./own.py", "--threads", "2", "-p", "first_us=4", "--json").out)
    assert (value["model"], value["origin"], value["parameters"]) == (
        "two_steps",
        "simulated",
        {"first_us": 4},
    )
    assert value["points"][0]["value"] == pytest.approx(2 / 5e-6) and value["calibration"] == ""
    assert "calibrated: by hand" in lockscale("sim", "own.py").out


def test_a_file_is_swept_and_its_version_is_part_of_the_simulators(lockscale: Lockscale) -> None:
    argv = ("sweep", "own.py", "--threads", "1,2", "--grid", "first_us=1,3", "--replications", "1", "--json")
    value = json.loads(lockscale(*argv, "--keep", "points").out)
    rates = [p["value"] for p in value["points"]]
    assert value["model"] == "two_steps" and rates == pytest.approx([5e5, 1e6, 2.5e5, 5e5])
    assert json.loads(lockscale(*argv, "--keep", "points").out) == value
    Path("own.py").write_text(OWN.replace("us(1)", "us(2)"))
    refused = lockscale(*argv, "--keep", "points")
    assert refused.status == 2 and "name another file or delete this one" in refused.err
    assert json.loads(lockscale(*argv).out)["simulator"] != value["simulator"]


@pytest.mark.parametrize("command", ["sim", "sweep"])
def test_what_it_prints_is_not_mixed_with_the_json(lockscale: Lockscale, command: str) -> None:
    text = OWN.replace("    path =", "    print('written')\n    path =") + "\nprint('read')\n"
    Path("own.py").write_text(text)
    said = lockscale(command, "own.py", "--threads", "1,2", "--json")
    assert json.loads(said.out)["model"] == "two_steps"
    assert "read\n" in said.err and "written\n" in said.err


@pytest.mark.parametrize("command", ["sim", "sweep"])
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("us(1))", "us(1)", "own.py line 10: '(' was never closed"),
        ("us(1)", "us(-1)", "own.py line 10: a delay of -1 us cannot be simulated"),
        ("us(1)", "us(1) / 0", "own.py line 10: TypeError: unsupported operand"),
        ("us(1)", "us('\\n')", "own.py line 10: TypeError"),
        ('    """Threads that never meet: N / (first + 1 us)."""', "", "line 5: model two_steps has no doc"),
        ("first_us:", "first:", "own.py line 5: parameter 'first' of model two_steps has no unit"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_it_is_one_sentence(
    lockscale: Lockscale, command: str, old: str, new: str, says: Any
) -> None:
    Path("own.py").write_text(OWN.replace(old, new))
    said = lockscale(command, "own.py", "--json")
    assert said.status == 2 and said.out == "" and says in said.err
    assert said.err.startswith("lockscale: ") and said.err.count("\n") == 1
