# SPDX-License-Identifier: MIT
"""The target is asked for its tools: what it answers is listed, and nothing it says can do harm."""

import importlib
import json
import pkgutil
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale import doctor, profilers, workloads
from lockscale.detection import ANSWER_S, TOOLS, detect
from lockscale.target_tools import TargetTool
from lockscale.targets.machine import Completed
from lockscale.workloads import fsload

SAMPLES = Path(__file__).parent / "samples"
FSLOAD = fsload.on_target(Path("/opt/lockscale/fsload"))
ALL = (*TOOLS, FSLOAD)
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


class ThisMachine(Answers):
    """Runs what it is asked."""

    def __init__(self):
        self.asked = []

    def answer(self, argv):
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
        return Completed(argv, done.returncode, done.stdout, done.stderr)


def found(machine, tools=ALL, told=None):
    return {one.tool.name: one for one in detect(machine, tools, told or {})}


def installed(says):
    return {name: f"/usr/bin/{name.split()[0]}\n{text}" for name, text in says.items()}


def test_each_tool_is_listed_with_its_version_and_path():
    listed = found(Answers(installed(PRINTS)))
    assert {name: one.version for name, one in listed.items()} == VERSIONS
    assert {name: one.path for name, one in listed.items()} == {n: f"/usr/bin/{n.split()[0]}" for n in PRINTS}
    assert not any(one.missing for one in listed.values())
    assert listed["fio"].says() == "3.33, /usr/bin/fio"
    assert listed["reaim"].says() == "version not known (it tells none), /usr/bin/reaim"


def test_an_absent_tool_says_what_works_without_it_and_how_to_have_it():
    listed = found(Answers({}))
    assert all(one.path is None and one.version is None for one in listed.values())
    assert {name for name, one in listed.items() if not one.usable} == NEEDED
    assert listed["mdtest"].says().startswith("absent: creates and removes are measured with fsload")
    assert listed["fio"].says().endswith("; to have it: apt-get install fio")
    assert listed["fsload"].says() == "absent: nothing is measured without it"


def test_a_tool_says_which_of_its_parts_are_missing():
    listed = found(Answers(installed(PRINTS), status=1))
    assert {name for name, one in listed.items() if one.missing} == {one.name for one in TOOLS if one.parts}
    assert "; without the engine filestat: fio does not measure the stat of files" in listed["fio"].says()
    assert "; without a count of cycles: flame graphs are sampled by the clock" in listed["perf"].says()
    assert json.loads(json.dumps(listed["mds-survey"].to_json()))["missing"] == [
        {"name": "lctl", "without": "mds-survey ends at once"}
    ]


@pytest.mark.parametrize(
    ("name", "prints", "doubt"),
    [
        ("mpirun", MPICH, "it says 'HYDRA build details:'"),
        ("mdtest", PRINTS["mdtest"].replace("mdtest-4.1.0+dev", "mdtest-5.0"), "mdtest 5.0 is not known"),
        ("mdtest", "mpirun: error while loading shared libraries", "banner"),
        ("perf", "perf 2.7 (Python)\n", "not Linux perf"),
        ("fio", "", "it says nothing"),
        ("fio", "\x1b[31mfio-3.33\x1b[0m\n", "it says '?[31mfio-3.33?[0m'"),
        ("lock_stat", "lock_stat version \n", "it says 'lock_stat version '"),
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


@pytest.fixture
def bin_folder(tmp_path, monkeypatch):
    """An empty folder before all others on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def install(folder, name, script):
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def one_of(name):
    return next(tool for tool in TOOLS if tool.name == name)


def test_a_tool_of_this_machine_is_found_where_the_shell_finds_it():
    tools = [one_of("strace"), one_of("fio"), one_of("mpirun"), one_of("perf")]
    for name, one in found(ThisMachine(), tools).items():
        assert one.path == shutil.which(name)
        assert one.path is None or one.version


def test_a_tool_that_prints_without_end_is_cut_off(bin_folder):
    install(bin_folder, "fio", "yes fio-3.99")
    one = found(ThisMachine(), [replace(one_of("fio"), parts=())])["fio"]
    assert (one.path, one.version) == (str(bin_folder / "fio"), "3.99")


def test_a_tool_that_hangs_or_asks_does_not_hold_up_the_others(bin_folder, monkeypatch):
    monkeypatch.setattr("lockscale.detection._ANSWER", 'timeout 1 "$@" </dev/null 2>/dev/null | head -c 4096')
    install(bin_folder, "strace", "exec sleep 600")
    install(bin_folder, "fio", "read answer; echo fio-3.40")
    listed = found(ThisMachine(), [one_of("strace"), replace(one_of("fio"), parts=())])
    assert (listed["strace"].path, listed["strace"].version) == (str(bin_folder / "strace"), None)
    assert listed["fio"].version == "3.40"


def test_every_question_ends_in_time_and_is_answered_in_english():
    machine = Answers({})
    found(machine)
    assert len(machine.asked) == len(ALL) + sum(len(tool.parts) for tool in ALL)
    for argv in machine.asked:
        assert f"timeout -k 5 {ANSWER_S} " in argv[2] and argv[3:6] == ["sh", "env", "LC_ALL=C"]


def test_a_tool_that_is_tried_leaves_nothing_behind(bin_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("d", str(bin_folder))
    assert found(ThisMachine(), [one_of("mdtest")])["mdtest"].path == shutil.which("mdtest")
    install(bin_folder, "mdtest", "")
    banner = "mdtest-4.0.0 was launched with 1 total task(s) on 1 node(s)"
    install(bin_folder, "mpirun", f"touch a b; pwd >{tmp_path}/where; echo '{banner}'")
    assert found(ThisMachine(), [one_of("mdtest")])["mdtest"].version == "4.0.0"
    assert Path((tmp_path / "where").read_text().strip()).parent == tmp_path
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "where"} and bin_folder.exists()


def test_what_the_user_says_is_passed_on_as_it_is(tmp_path):
    folder = tmp_path / "$(touch ruined); it's 'mine'"
    folder.mkdir()
    install(folder, "fallocate2_processes", "")
    told = {"WILL_IT_SCALE": str(folder), "XFSTESTS": "$(touch ruined)", "SECRET": "x"}
    machine = ThisMachine()
    listed = found(machine, [one_of("will-it-scale"), one_of("xfstests")], told)
    assert listed["will-it-scale"].path == str(folder)
    assert listed["xfstests"].path != "$(touch ruined)"
    assert not Path("ruined").exists()
    assert "SECRET" not in str(machine.asked)


def test_every_declared_tool_is_asked_for():
    declared = {
        one.ON_TARGET.name
        for package in (workloads, profilers)
        for module in pkgutil.iter_modules(package.__path__)
        if hasattr(one := importlib.import_module(f"{package.__name__}.{module.name}"), "ON_TARGET")
    }
    names = [tool.name for tool in ALL]
    assert len(declared) >= 12 and declared <= set(names) and len(set(names)) == len(names)
    assert set(names) == set(PRINTS) and all(isinstance(tool, TargetTool) for tool in ALL)


class Booted(Answers):
    """A guest without any tool that can be missed, in which waiters queue."""

    def __init__(self):
        self.calls = 0
        says = installed({name: PRINTS[name] for name in NEEDED})
        super().__init__(says, (*TOOLS, fsload.on_target(Path("/bin/fsload"))))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def answer(self, argv):
        if argv[0] == "grep":
            self.calls += 1
            return Completed(argv, 0, f"lock_slowpath:{self.calls}\n", "")
        return super().answer(argv)


def test_the_doctor_lists_the_tools_of_the_target_and_needs_no_optional_one(tmp_path, monkeypatch):
    kernel = SimpleNamespace(image=tmp_path, release="6.12.117", spin_lock="queued")
    monkeypatch.setattr(doctor, "_source", list)  # it reads the whole source
    monkeypatch.setattr(doctor, "cached_kernels", lambda _: [kernel])
    monkeypatch.setattr(doctor, "guest_of", lambda *_: SimpleNamespace(accel="tcg"))
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
