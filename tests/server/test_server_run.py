# SPDX-License-Identifier: MIT
"""The guest's own study on a real server: whatever dies on the way, its rows are those of the guest's run."""

import gzip
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.kernels.package import ServerKernel
from lockscale.kernels.series import read_series
from lockscale.kernels.source import find_source
from lockscale.measure.file_system import MOUNT_POINT
from lockscale.measure.resume import read_entries
from lockscale.measure.run_folder import Run
from lockscale.measure.server_recovery import disk_of, machine_of, on_own_kernel, server_lock
from lockscale.measure.target_ssh import install, prepare_disk, recipe_of
from lockscale.study.file import SshTarget
from server.controller import WAIT_S, Controller, asked_of, wait_for_load, wait_until, whole
from server.kernels import breaking, remove_ours
from server.machine import Server
from server.target import NAME, target_of, target_text

pytestmark = pytest.mark.guest
ARMS = ("search-locked", "steal-retry")


@pytest.fixture(scope="module")
def targets(server: Server, small_kernel_config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the server's target file, as a person would write it."""
    folder = tmp_path_factory.mktemp("targets")
    (folder / f"{NAME}.yaml").write_text(target_text(server, str(small_kernel_config)))
    return folder


@pytest.fixture(scope="module")
def target(server: Server, small_kernel_config: Path) -> SshTarget:
    return target_of(server, small_kernel_config)


@pytest.fixture(scope="module")
def installed(target: SshTarget) -> Iterator[dict[str, ServerKernel]]:
    """Both arms on the server, its disk ours: what a first run does before it measures."""
    prepare_disk(target, disk_of(target).token, dry_run=False)
    with on_own_kernel(target, "install") as (machine, _):
        recipe = recipe_of(machine, target, find_source())
        kernels = {arm: recipe.build(read_series("inode-claim", arm)) for arm in ARMS}
        install(machine, kernels.values())
    yield kernels
    with on_own_kernel(target, "remove") as (machine, _):
        remove_ours(machine)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = Run(tmp_path / "run")
    made.folder.mkdir()
    return made


# The load is stopped meanwhile, so that it meets the full disk. What it frees is taken at once: a few
# blocks are enough for the directories of the next load.
FILL = """
until pkill -STOP '^fsload'; do sleep 0.05; done
fallocate -l "$(($(df --output=avail -B1 MOUNT_POINT | tail -n 1) / 10 * 9))" MOUNT_POINT/ballast
cat /dev/zero > MOUNT_POINT/rest
sync
setsid sh -c 'while [ -e MOUNT_POINT/ballast ]; do cat /dev/zero >> MOUNT_POINT/rest; sleep 0.1; done' \
    < /dev/null > /dev/null 2>&1 &
pkill -CONT '^fsload'
""".replace("MOUNT_POINT", MOUNT_POINT)


@pytest.mark.long  # a server's kernel takes a quarter of an hour to build
def test_the_guests_study_runs_on_a_server_and_outlives_its_controller(
    server: Server, targets: Path, installed: dict[str, ServerKernel], short_run: Run, run: Run
):
    """The same study file by another target; killed with its first record written, then resumed."""
    home = server.must("uname", "-r").strip()
    asked = asked_of(short_run)
    assert Controller(run, targets, asked, dies_after="001").ends(WAIT_S)[0] == -signal.SIGKILL
    first = read_entries(run.journal)
    assert len(first) == 1 and server.must("uname", "-r").strip() != home, "nobody was left to take it home"
    rows = whole(Controller(run, targets, asked), run, short_run)
    assert read_entries(run.journal)[:1] == first
    assert server.must("uname", "-r").strip() == home
    assert set(rows.origin) == {"qemu"} and set(rows.target) == {NAME}
    ran = {(row.arm, row.build_id) for row in rows.itertuples()}
    assert ran == {(arm, kernel.build_id) for arm, kernel in installed.items()}
    assert rows.profiled.any() and private_words_in(run, server) == []


@pytest.mark.long
@pytest.mark.usefixtures("installed")
def test_whatever_happens_to_a_run_its_rows_are_those_of_the_guests(
    server: Server, targets: Path, target: SshTarget, short_run: Run, run: Run
):
    asked = asked_of(short_run)
    cut = Controller(run, targets, asked)
    wait_until(lambda: cut.steps() == 1, cut)
    wait_for_load(server, cut)
    with (
        pytest.raises(BadInput, match=rf"^target {NAME} is in use by .* since \d{{4}}-.*Z \(run run\)"),
        server_lock(target, "x"),
    ):
        pass
    server.run("sh", "-c", "pkill -KILL -f '^sshd: root'")  # the step goes on: its load outlives the login
    wait_until(lambda: cut.steps() == 2, cut)
    wait_for_load(server, cut)
    server.power_cycle()
    assert "rebooted while" in ended_in_a_sentence(cut, run, steps=2)

    filled = Controller(run, targets, asked)
    wait_for_load(server, filled)
    server.run("sh", "-c", FILL, timeout_s=600)
    assert "No space left on device" in ended_in_a_sentence(filled, run, steps=2)

    whole(Controller(run, targets, asked), run, short_run)


def ended_in_a_sentence(controller: Controller, run: Run, steps: int) -> str:
    """What the controller said at its end: one line, every finished step kept, no rows yet."""
    status, sentence = controller.ends(WAIT_S)
    assert (status, len(sentence.splitlines())) == (1, 1), sentence
    assert len(read_entries(run.journal)) == steps and not run.rows.exists()
    return sentence


def private_words_in(run: Run, server: Server) -> list[str]:
    """What says where the server is or how it is entered, if the run kept any of it."""
    texts = [gzip.decompress(path.read_bytes()).decode() for path in run.raw.rglob("*.gz")]
    texts += [run.provenance.read_text(), run.rows.read_text(), run.journal.read_text()]
    private = ["127.0.0.1", str(server.port), str(server.image.identity_file), str(server.known_hosts)]
    private += [server.must("uname", "-n").strip()]
    return [word for text in texts for word in private if word in text]


@pytest.mark.long
def test_an_arm_that_panics_gives_no_row_and_mended_it_does(
    server: Server, targets: Path, target: SshTarget, installed: dict[str, ServerKernel],
    short_run: Run, run: Run, tmp_path: Path,
):  # fmt: skip
    home, release = server.must("uname", "-r").strip(), installed["search-locked"].release
    with machine_of(target) as machine, breaking(machine, release, tmp_path, ends=True):
        status, sentence = Controller(run, targets, asked_of(short_run)).ends(WAIT_S)
        machine.reconnect(WAIT_S)  # the server was rebooted meanwhile
    assert status == 1 and "panicked before user space" in sentence and f"back on Linux {home}" in sentence
    assert read_entries(run.journal) == [] and not run.rows.exists()


@pytest.mark.long
def test_a_controller_killed_at_every_record_is_resumed(
    targets: Path, installed: dict[str, ServerKernel], short_run: Run, run: Run
):
    """Seven controllers for six steps: each but the last is killed as soon as it has written one record."""
    asked = asked_of(short_run)
    for step in range(1, 7):
        killed = Controller(run, targets, asked, dies_after=f"{step:03d}")
        assert killed.ends(WAIT_S)[0] == -signal.SIGKILL
        assert len(read_entries(run.journal)) == step and not run.rows.exists()
    whole(Controller(run, targets, asked), run, short_run)
