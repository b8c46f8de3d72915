# SPDX-License-Identifier: MIT
"""The target is asked for its tools: what it answers is listed, and nothing it printed can do harm."""

import importlib
import json
import pkgutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import ALL, Answers, found, installed
from lockscale import doctor, tools
from lockscale.doctor import ANSWER_S
from lockscale.errors import BadInput
from lockscale.machines.machine import Completed
from lockscale.tools import fsload
from lockscale.tools.registry import TARGET_TOOLS
from lockscale.tools.target_tools import TargetTool

SAMPLES = Path(__file__).parent / "samples"
OPEN_MPI = """mpirun (Open MPI) 4.1.4

Report bugs to http://www.open-mpi.org/community/help/
"""
STRACE = """strace -- version 6.1
Copyright (c) 1991-2022 The strace developers <https://strace.io>.
This is free software; see the source for copying conditions.  There is NO
warranty; not even for MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.

Optional features enabled: stack-trace=libunwind stack-demangle m32-mpers mx32-mpers
"""
MPICH = """HYDRA build details:
    Version:                                 4.0.2
    Release Date:                            Thu Apr  7 12:34:45 CDT 2022
"""
# What each prints below its path: real output, but for lctl, whose form is that of Lustre's Parser_version.
PRINTS = {
    "mdtest": (SAMPLES / "mdtest-4.1.0.txt").read_text(),
    "mpirun": OPEN_MPI,
    "mds-survey": "lctl 2.15.3\n",
    "will-it-scale": "",
    "reaim": "",
    "fio": "fio-3.33\n",
    "fsload": (SAMPLES / "fsload-0.2.0.jsonl").read_text(),
    "perf": "perf version 6.1.187\n",
    "ftrace function profiler": "6.12.117-lockscale-e3b0c442\n",
    "lock_stat": "lock_stat version 0.4\n",
    "lock event counters": "6.12.117-lockscale-e3b0c442\n",
    "ext4 and jbd2 statistics": "6.12.117-lockscale-e3b0c442\n",
    "xfstests": "",
    "strace": STRACE,
}
VERSIONS = {
    "mdtest": "4.1.0+dev",
    "mpirun": "4.1.4",
    "mds-survey": "2.15.3",
    "will-it-scale": None,
    "reaim": None,
    "fio": "3.33",
    "fsload": "0.2.0",
    "perf": "6.1.187",
    "ftrace function profiler": "6.12.117-lockscale-e3b0c442",
    "lock_stat": "0.4",
    "lock event counters": "6.12.117-lockscale-e3b0c442",
    "ext4 and jbd2 statistics": "6.12.117-lockscale-e3b0c442",
    "xfstests": None,
    "strace": "6.1",
}
# Without these no study is measured.
NEEDED = {"lock event counters", "fsload"}


def test_each_tool_is_listed_with_its_version_and_path():
    listed = found(Answers(installed(PRINTS)))
    assert {name: one.version for name, one in listed.items()} == VERSIONS
    assert {name: one.path for name, one in listed.items()} == {n: f"/usr/bin/{n.split()[0]}" for n in PRINTS}
    assert not any(one.missing for one in listed.values())
    assert listed["fio"].says() == "3.33, /usr/bin/fio"
    assert listed["reaim"].says() == "version not known (it prints none), /usr/bin/reaim"


def test_an_absent_tool_says_what_works_without_it_and_how_to_have_it():
    listed = found(Answers({}))
    assert all(one.path is None and one.version is None for one in listed.values())
    assert {name for name, one in listed.items() if not one.usable} == NEEDED
    assert listed["mdtest"].says().startswith("missing: creates and removes are measured with fsload")
    assert listed["fio"].says().endswith("; to get it: apt-get install fio")
    assert listed["fsload"].says() == "missing: nothing is measured without it"


def test_a_tool_says_which_of_its_parts_are_missing():
    listed = found(Answers(installed(PRINTS), status=1))
    assert {name for name, one in listed.items() if one.missing} == {
        one.name for one in TARGET_TOOLS if one.parts
    }
    assert "; without the engine filestat: fio does not measure the stat of files" in listed["fio"].says()
    assert "; without a count of cycles: flame graphs are sampled with cpu-clock" in listed["perf"].says()
    assert json.loads(json.dumps(listed["mds-survey"].to_json()))["missing"] == [
        {"name": "lctl", "without": "mds-survey exits at once"}
    ]


@pytest.mark.parametrize(
    ("name", "prints", "doubt"),
    [
        ("mpirun", MPICH, "it printed 'HYDRA build details:'"),
        ("mdtest", PRINTS["mdtest"].replace("mdtest-4.1.0+dev", "mdtest-5.0"), "mdtest 5.0 is not known"),
        ("mdtest", "mpirun: error while loading shared libraries", "banner"),
        ("perf", "perf 2.7 (Python)\n", "not Linux perf"),
        ("fio", "", "it printed nothing"),
        ("fio", "\x1b[31mfio-3.33\x1b[0m\n", "it printed '?[31mfio-3.33?[0m'"),
        ("lock_stat", "lock_stat version \n", "it printed 'lock_stat version '"),
    ],
)
def test_an_answer_that_is_not_understood_is_a_version_not_known(name, prints, doubt):
    one = found(Answers(installed({name: prints})))[name]
    assert one.path == f"/usr/bin/{name}" and one.version is None
    assert doubt in one.says() and one.says().startswith("version not known (")


def test_a_banner_of_the_login_is_not_taken_for_a_path():
    says = {"fio": "Welcome to mds1!\n/usr/bin/fio\nfio-3.33\n", "strace": "You have mail.\n"}
    listed = found(Answers(says))
    assert (listed["fio"].path, listed["fio"].version) == ("/usr/bin/fio", "3.33")
    assert listed["strace"].path is None


def check_shown(one):
    assert one.path is None or (one.path.startswith("/") and len(one.path) <= 240)
    assert one.version is None or 0 < len(one.version) <= 80
    assert one.says().isprintable() and len(one.says()) < 1000
    json.dumps(one.to_json(), allow_nan=False)


@settings(max_examples=150)
@given(st.sampled_from(ALL), st.text(), st.text(), st.integers())
def test_whatever_a_target_says_is_shown_in_one_line(tool, path, prints, status):
    for text in (path + prints, f"/{path}\n{prints}", f"/{path}\n{PRINTS[tool.name]}{prints}"):
        check_shown(found(Answers({tool.name: text}, [tool], status), [tool])[tool.name])


@settings(max_examples=150)
@given(st.sampled_from(ALL), st.data())
def test_a_version_is_what_the_tool_printed_or_not_known(tool, data):
    text = PRINTS[tool.name][:4000]
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(at, len(text)))
    cut = text[:at] + data.draw(st.text(max_size=5).filter(lambda more: "\\" not in more)) + text[end:]
    one = found(Answers({tool.name: f"/x\n{cut}"}, [tool]), [tool])[tool.name]
    check_shown(one)
    shown = "".join(character if character.isprintable() else "?" for character in cut)
    assert one.version is None or one.version.removesuffix("...") in shown


@pytest.mark.parametrize("filling", ["x", "\x1b[2J", "\n", "/", "fio-3.33\n", "0"])
def test_a_megabyte_is_shortened(filling):
    for start in ("", "/usr/bin/fio\n", "/"):
        text = start + filling * (2**20 // len(filling))
        for one in found(Answers({tool.name: text for tool in ALL})).values():
            check_shown(one)


def test_every_question_ends_in_time_and_is_answered_in_english():
    machine = Answers({})
    found(machine)
    assert len(machine.asked) == len(ALL) + sum(len(tool.parts) for tool in ALL)
    for argv in machine.asked:
        assert f"timeout -k 5 {ANSWER_S} " in argv[2] and argv[3:6] == ["sh", "env", "LC_ALL=C"]


def test_every_declared_tool_is_asked_for():
    declared = {
        one.ON_TARGET.name
        for module in pkgutil.iter_modules(tools.__path__)
        if hasattr(one := importlib.import_module(f"{tools.__name__}.{module.name}"), "ON_TARGET")
    }
    names = [tool.name for tool in ALL]
    assert len(declared) >= 11 and declared <= set(names) and len(set(names)) == len(names)
    assert set(names) == set(PRINTS) and all(isinstance(tool, TargetTool) for tool in ALL)


class Booted(Answers):
    """A guest without any tool that can be missed, in which waiters queue."""

    def __init__(self):
        self.calls = 0
        says = installed({name: PRINTS[name] for name in NEEDED})
        super().__init__(says, (*TARGET_TOOLS, fsload.on_target(Path("/bin/fsload"))))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def answer(self, argv):
        if argv[0] == "grep":
            self.calls += 1
            return Completed(argv, 0, f"lock_slowpath:{self.calls}\n", "")
        return super().answer(argv)


def test_the_doctor_asks_this_machine_for_its_tools_and_boots_nothing(monkeypatch: pytest.MonkeyPatch):
    """`study show` of a run of a local target begins with this command."""
    monkeypatch.setattr(doctor, "_source", list)  # it reads the whole source
    monkeypatch.setattr(
        doctor, "cached_kernels", lambda _: [SimpleNamespace(release="6.12", spin_lock="queued")]
    )
    monkeypatch.setattr(doctor, "QemuMachine", None)
    said = doctor.doctor("local")
    assert {tool["name"] for tool in said["tools"]} == {tool.name for tool in TARGET_TOOLS}
    assert {check["name"] for check in said["checks"]} >= {tool["name"] for tool in said["tools"]}


def test_a_guest_that_cannot_be_started_is_one_line_of_the_doctors(monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object) -> None:
        raise BadInput("no mirror has QEMU: install it")

    monkeypatch.setattr(doctor, "_source", list)
    monkeypatch.setattr(
        doctor, "cached_kernels", lambda _: [SimpleNamespace(release="6.12", spin_lock="queued")]
    )
    monkeypatch.setattr(doctor, "newest", lambda kernels: kernels[0])
    monkeypatch.setattr(doctor, "guest_on", refused)
    said = doctor.doctor("manycore")
    assert not said["ok"] and len(said["checks"]) > 5
    assert said["checks"][-1] == {
        "name": "manycore boots", "ok": False, "found": "no", "fix": "no mirror has QEMU: install it"
    }  # fmt: skip


def test_the_doctor_lists_the_tools_of_the_target_and_needs_no_optional_one(tmp_path, monkeypatch):
    kernel = SimpleNamespace(image=tmp_path, release="6.12.117", spin_lock="queued")
    monkeypatch.setattr(doctor, "_source", list)  # it reads the whole source
    monkeypatch.setattr(doctor, "cached_kernels", lambda _: [kernel])
    monkeypatch.setattr(doctor, "guest_on", lambda *_: SimpleNamespace(accel="tcg"))
    monkeypatch.setattr(doctor, "QemuMachine", lambda _: Booted())
    monkeypatch.setattr(doctor, "assert_runs", lambda *_: "a36215c2")
    monkeypatch.setattr(fsload, "build", lambda _: Path("/bin/fsload"))
    said = doctor.doctor("qemu")
    checks = {check["name"]: check for check in said["checks"]}
    assert set(checks) >= set(PRINTS) and all(checks[name]["ok"] for name in PRINTS)
    assert not any(checks[name]["fix"] for name in PRINTS)
    assert "measured with fsload" in checks["mdtest"]["found"]
    assert checks["waiters queue (FIFO)"]["ok"]
    tools = {tool["name"]: tool for tool in said["tools"]}
    assert tools["fio"]["path"] is None and tools["fio"]["works_without_it"]
    assert tools["fsload"]["version"] == "0.2.0" and tools["fsload"]["works_without_it"] is None
