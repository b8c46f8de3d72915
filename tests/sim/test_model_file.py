# SPDX-License-Identifier: MIT
"""A user's own model: from a file or a cell, here or on Dask; what is wrong names file and line."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from distributed import Client, LocalCluster

from lockscale.errors import BadInput
from lockscale.sim import load_model, simulate
from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, us
from lockscale.sim.model import Note, model
from lockscale.sim.sweep import sweep
from lockscale.sweeps import sweep_points, sweep_table

FAST: dict[str, Any] = {"replications": 2, "operations": 500}
DESIGN = [{"service_us": 1}, {"service_us": 2}]
FILE = '''\
"""The same queue as machine_repairman, in other words."""
from typing import Annotated
from lockscale.sim import delays
from lockscale.sim.models.machine_repairman import machine_repairman as shipped
from lockscale.sim.model import Note, model

MEAN = Note("a mean time", "assumed")

def memoryless(value):
    return delays.exponential(delays.us(value))

@model(unit="repairs/s")
def repairman(m, *, think_us: Annotated[float, MEAN] = 10, service_us: Annotated[float, MEAN] = 1):
    """Work, queue, be repaired."""
    queue = m.queued_lock("queue", hold=memoryless(service_us))
    p = m.path("repair")
    p.spend(memoryless(think_us))
    p.lock(queue)
    p.unlock(queue)
'''
SHOUT = """print('read')
import time
""" + FILE.replace("    queue =", "    print('written'); time.sleep(0.001)\n    queue =")
TIME = Annotated[float, Note("a mean time", "assumed")]


@model(unit="repairs/s")
def repairman(m: Builder, *, think_us: TIME = 10.0, service_us: TIME = 1.0) -> None:
    """As in a cell: no file that lockscale has read."""
    queue = m.queued_lock("queue", hold=exponential(us(service_us)))
    p = m.path("repair")
    p.spend(exponential(us(think_us)))
    p.lock(queue)
    p.unlock(queue)


@pytest.fixture
def file(inside: Path) -> str:
    (inside / "own.py").write_text(FILE)
    return "./own.py"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One worker process in a folder of its own."""
    folder = tmp_path_factory.mktemp("worker")
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            local_directory=folder,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_a_file_and_the_model_itself_give_the_bits_of_the_shipped_one(file: str) -> None:
    expected = simulate("machine_repairman", 6).rates_per_s
    for given in (file, Path(file), load_model(file), repairman, load_model("machine_repairman")):
        assert simulate(given, 6).rates_per_s == expected
    own = simulate(file, 6)
    assert (own.model, own.unit, own.calibration) == ("repairman", "repairs/s", "")


@pytest.mark.slow
@pytest.mark.parametrize("own", ["file", "object"])
def test_a_sweep_and_dask_workers_without_the_file_give_the_same_points(
    own: str, file: str, client: Client
) -> None:
    given = file if own == "file" else repairman
    here = sweep(given, [2, 5], DESIGN, **FAST)
    shipped = sweep("machine_repairman", [2, 5], DESIGN, **FAST)
    assert [p["rates_per_s"] for p in here] == [p["rates_per_s"] for p in shipped]
    known = load_model(given)
    Path(file).unlink()
    assert sweep(known, [2, 5], DESIGN, client=client, **FAST) == here


@pytest.mark.slow
def test_a_shipped_model_goes_to_workers_by_name(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    real: Callable[..., Any] = client.map
    monkeypatch.setattr(client, "map", lambda work, *a, **k: sent.append(work) or real(work, *a, **k))
    sweep(load_model("machine_repairman"), [2], [{}], client=client, **FAST)
    assert "machine_repairman" in sent[0].args


def test_kept_points_are_of_one_version_of_the_file(file: str, inside: Path) -> None:
    keep = inside / "points"
    first = sweep_points(file, [2], DESIGN, keep=keep, **FAST)
    assert sweep_points(file, [2], DESIGN, keep=keep, **FAST) == first
    assert set(sweep_table(file, first).model) == {"repairman"}
    Path(file).write_text(FILE.replace('m.path("repair")', 'm.path("mend")'))
    with pytest.raises(BadInput, match=r"keeps points of another version of the model .* delete this one"):
        sweep_points(file, [2], DESIGN, keep=keep, **FAST)


def test_points_of_a_model_that_no_file_holds_cannot_be_kept(inside: Path) -> None:
    with pytest.raises(BadInput, match=r"model repairman is not in a file.* write it to a file"):
        sweep_points(repairman, [2], DESIGN, keep=inside / "points", **FAST)
    assert len(sweep_points(repairman, [2], DESIGN, **FAST)) == 2
    shipped = load_model("machine_repairman")
    assert sweep_points(shipped, [2], [{}], keep=inside / "points", **FAST)


WHOLE = FILE.splitlines()
WRONG = [  # line, what stands there instead, what is said
    (3, "import nonesuch", "own.py line 3: ModuleNotFoundError: No module named 'nonesuch'"),
    (9, "def memoryless(value:", r"own.py line 9: '\(' was never closed"),
    (10, "return 1", "own.py line 10: expected an indented block"),
    (10, "    return 1", "own.py line 15: 1 is not a delay: write us"),
    (10, "    return delays.us(-value)", "own.py line 10: a delay of -1.0 us cannot be simulated"),
    (10, "    return delays.us(float('nan'))", "own.py line 10: a delay of nan us cannot be simulated"),
    (10, "    return delays.us(value / 0)", r"own.py line 10: ZeroDivisionError: .* \(with think_us=\S+"),
    (10, "    raise SystemExit(3)", "own.py line 10: SystemExit: 3"),
    (10, "    assert False", "own.py line 10: AssertionError$"),
    (14, "    ", "own.py line 12: model repairman has no docstring"),
    (12, "", "own.py has no model: put @model"),
    (12, "@model", "own.py line 12: TypeError"),
    (12, '@model(unit="repairs")', "own.py line 12: the unit of model repairman is 'repairs', which is no"),
    (13, "def repairman(*, think_us):", "model repairman takes no builder: write def repairman"),
    (13, "def repairman():", "model repairman takes no builder"),
    (13, "def repairman(m, *, think_us: Annotated[float, MEAN]):", "'think_us' of .* has no default"),
    (13, "def repairman(m, *, think_us=1.0):", "'think_us' of model repairman has no note: annotate it"),
    (13, "def repairman(m, *, think_us: float = 1.0):", "'think_us' of model repairman has no note"),
    (13, "def repairman(m, *, think_us: Annotated[float, 'x'] = 1.0):", "'think_us' .* has no note"),
    (13, "def repairman(m, *, a_us: Annotated[float, Note('', 'x')] = 1.0):", "'a_us' of .* has no note"),
    (13, "def repairman(m, *, think: Annotated[float, MEAN] = 1.0):", "'think' .* has no unit in its name"),
    (13, "def repairman(m, *, think_: Annotated[float, MEAN] = 1.0):", "'think_' .* has no unit"),
    (13, "def repairman(m, think_us: Annotated[float, MEAN] = 1.0):", r"'think_us' .* has no \* before"),
    (13, "def repairman(m, **more_us):", "'more_us' of model repairman has no"),
    (13, "def repairman(m, *, a_us: Annotated[float, MEAN] = -1.0):", "line 12: parameter 'a_us' is -1.0"),
    (13, "def repairman(m, *, a_us: Annotated[float, MEAN] = 'x'):", "line 12: parameter 'a_us' is 'x'"),
    (13, "def repairman(m, *, a_us: Anotated[float, MEAN] = 1.0):", "line 13: NameError: name 'Anotated'"),
    (
        16,
        "    p = m.pth('repair')",
        "own.py line 16: AttributeError: 'Builder' object has no attribute 'pth'",
    ),
    (18, "    p.unlock(queue)", "own.py line 18: step 2 of path 'repair' unlocks 'queue'"),
    (19, "", "path 'repair' ends holding"),
]


@pytest.mark.parametrize(("line", "instead", "message"), WRONG)
def test_what_is_wrong_in_the_file_names_its_line(
    inside: Path, line: int, instead: str, message: str
) -> None:
    text = [instead if number == line else old for number, old in enumerate(WHOLE, start=1)]
    (inside / "own.py").write_text("\n".join(text))
    with pytest.raises(BadInput, match=message):
        simulate("own.py", 2)


def test_an_error_far_from_the_file_names_the_files_line(inside: Path) -> None:
    """The sentence names the user's line, not that of the library which it called."""
    (inside / "own.py").write_text(FILE.replace("delays.us(value)", "delays.empirical(value)"))
    with pytest.raises(BadInput, match=r"own.py line 10: TypeError"):
        simulate("own.py", 2)


def test_two_models_in_a_file_are_refused_and_an_imported_one_is_none(inside: Path) -> None:
    second = "\n".join(WHOLE[11:]).replace("def repairman", "def another")
    (inside / "own.py").write_text(f"{FILE}\n{second}\n")
    with pytest.raises(BadInput, match=r"own.py has the models repairman, another: keep one per file"):
        load_model("own.py")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nope.py", None, r"no model can be read from nope.py \(No such file or directory\)"),
        ("folder.py", "folder", r"no model can be read from folder.py \(Is a directory\)"),
        ("own.py", b"x = '\xff'\n", "own.py line 1: .*utf-8"),
        ("own.py", b"x = 1\0\n", "own.py.*null bytes"),
        ("own.py", b"# coding: nonesuch\n", "own.py line 1: unknown encoding"),
        ("own", b"", "no model './own', and no path of your own .py file .known: any_lock, "),
    ],
)
def test_a_file_that_is_no_model_is_refused(
    inside: Path, name: str, content: bytes | str | None, message: str
) -> None:
    if isinstance(content, bytes):
        (inside / name).write_bytes(content)
    elif content:
        (inside / name).mkdir()
    with pytest.raises(BadInput, match=message):
        load_model(f"./{name}")


def test_a_model_without_parameters_says_so(inside: Path) -> None:
    (inside / "own.py").write_text(FILE.split("@model")[0] + BARE)
    assert simulate("own.py", 2, operations=100).rate_per_s == pytest.approx(2e6)
    with pytest.raises(BadInput, match=r"has no parameter 'x_us' .known: none.$"):
        simulate("own.py", 2, {"x_us": 1})


BARE = '''
@model(unit="turns/s")
def bare(m):
    """Threads that never meet."""
    m.path("turn").spend(delays.us(1))
'''


def test_what_a_file_prints_goes_to_stderr_and_stdout_is_put_back(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Many threads run the model's function at once, and there is one sys.stdout for all."""
    (inside / "own.py").write_text(SHOUT)
    before = sys.stdout
    sweep("own.py", range(1, 21), [{}], replications=1, operations=100)
    assert sys.stdout is before
    said = capsys.readouterr()
    assert said.out == "" and said.err.split().count("read") == 1 and said.err.split().count("written") >= 20
