# SPDX-License-Identifier: MIT
"""The documents: each command is run or says why not, each link leads somewhere, each figure is one."""

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

from blocks import Block, blocks
from clone import clone, typed
from command import Lockscale
from lockscale import paths
from lockscale.study.file import load_study
from lockscale.tables.function_costs import costs

README = (paths.ROOT / "README.md").read_text()
WITH_COMMANDS = ["README.md", "CONTRIBUTING.md", "notebooks/README.md", *map(str, sorted(
    path.relative_to(paths.ROOT) for path in (paths.ROOT / "docs").glob("*.md")
))]  # fmt: skip
RUN_BY = re.compile(r"run by (tests/\S+\.py)")
NOT_RUN = re.compile(r"not run: .{10,}")
LINK = re.compile(r"""\]\(([^)\s]+)\)|<img src="([^"]+)\"""")


def command_blocks() -> list[tuple[str, Block]]:
    """Every block of a document that could be typed or run, with the document."""
    found = [(name, block) for name in WITH_COMMANDS for block in blocks((paths.ROOT / name).read_text())]
    return [(name, block) for name, block in found if block.kind not in ("yaml", "csv", "diff", "text")]


def of_itself(name: str, block: Block) -> bool:
    """Whether this file runs it."""
    return block.kind == "sh" and not block.mark


@pytest.mark.parametrize(("name", "block"), [pair for pair in command_blocks() if not of_itself(*pair)])
def test_a_block_that_is_not_run_here_says_by_whom_or_why(name: str, block: Block):
    said = RUN_BY.findall(block.mark)
    assert said or NOT_RUN.match(block.mark), f"{name}: {block.text}"
    for test in re.findall(r"tests/[\w/]+\.py", block.mark):
        assert (paths.ROOT / test).is_file(), test
    for test in said:  # it reads the document, not a copy
        assert Path(name).name in (paths.ROOT / test).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({name for name, block in command_blocks() if of_itself(name, block)}))
def test_every_other_command_works_as_it_stands(name: str, tmp_path: Path):
    where, home = clone(tmp_path / "clone"), tmp_path / "home"
    home.mkdir()
    for said_in, block in command_blocks():
        if said_in == name and of_itself(said_in, block):
            for command in block.commands:
                assert typed(command, where, home, 300), command


def documents() -> dict[str, str]:
    """Every markdown file of the repository, and the prose of every notebook."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md", "*.ipynb"]
    out = subprocess.run(listed, cwd=paths.ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in out.split("\0") if (paths.ROOT / name).is_file() and name]
    return {name: _prose(paths.ROOT / name) for name in names}


def _prose(path: Path) -> str:
    if path.suffix == ".md":
        return path.read_text()
    cells = json.loads(path.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def anchors(prose: str) -> set[str]:
    """Of its headings, as GitHub and JupyterLab make them; JupyterLab's keep capitals."""
    prose = re.sub(r"(?ms)^```.*?^```$", "", prose)
    titles = [re.sub(r"[`*]", "", title) for title in re.findall(r"(?m)^#+ (.+)$", prose)]
    slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return slugs | {title.replace(" ", "-") for title in titles}


def links(prose: str) -> list[str]:
    return ["".join(found) for found in LINK.findall(prose)]


DOCUMENTS = documents()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_its_links_lead_somewhere(name: str):
    prose = re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", DOCUMENTS[name])
    for link in links(prose):
        if re.match(r"https?://|mailto:", link):
            continue
        target, _, anchor = unquote(link).partition("#")
        path = ((paths.ROOT / name).parent / target).resolve() if target else paths.ROOT / name
        assert path.exists() and path.is_relative_to(paths.ROOT.resolve()), f"{name}: {link}"
        if anchor:
            assert anchor in anchors(_prose(path)), f"{name}: {link}"


def test_the_readme_is_short_and_names_every_document():
    assert len(README.splitlines()) <= 200
    linked = {target.partition("#")[0] for target in links(README)}
    assert {name for name in WITH_COMMANDS if name.startswith("docs/")} <= linked


def test_what_why_and_the_picture_take_a_minute_and_the_results_another():
    """At some 250 words a minute; addresses, comments and what a command prints are not read word by word."""
    read = re.sub(r"(?ms)^```text\n.*?^```$|<!--.*?-->|\]\(.*?\)", "", README)
    first, results = read.partition("## Commands")[0], read.partition("## From a source patch")[0]
    assert "](figures/" in README.partition("## Commands")[0]
    assert len(first.split()) <= 250 and len(results.split()) <= 600


def test_the_first_picture_has_what_was_published_in_virtual_time_and_predicted():
    """Of the patched arm over the unpatched one, in the numbers beside the picture."""
    (stem,) = re.findall(r"!\[.*?\]\(figures/([\w-]+)\.svg\)", README.partition("## Commands")[0])
    numbers, study = pd.read_csv(paths.FIGURES / f"{stem}.csv"), load_study(stem.removesuffix("-gains"))
    sides = (numbers.arm == study.patched.name) & (numbers.over == study.unpatched.name)
    points = {name: int(numbers[sides][name].count()) for name in ("published", "virtual", "predicted_high")}
    assert points["published"] >= 1 and min(points["virtual"], points["predicted_high"]) >= 5, points
    drawn = (paths.FIGURES / f"{stem}.svg").read_text()
    assert all(f">{word}" in drawn for word in ("predicted", "virtual, ", "published, "))


def test_the_first_command_prints_what_the_readme_shows(lockscale: Lockscale):
    first = blocks(README.partition("**Why.**")[0])
    (command,) = [block.commands[0] for block in first if block.kind == "sh"]
    (shown,) = [block.text for block in first if block.kind == "text"]
    assert lockscale(*shlex.split(command)[1:]).out == shown


def test_the_files_of_another_file_system_have_as_many_lines_as_it_says():
    name = "docs/another-file-system.md"
    rows = re.findall(r"(?m)^\| (\[.*?) \| (\d[\d and]*) \|", DOCUMENTS[name])
    files = [[(paths.ROOT / name).parent / link for link in links(named)] for named, _ in rows]
    told = [" and ".join(str(len(path.read_text().splitlines())) for path in row) for row in files]
    assert len(rows) >= 5 and [lines for _, lines in rows] == told


def test_contributing_shows_every_room_in_the_order_of_the_imports():
    (shown,) = [
        block for block in blocks((paths.ROOT / "CONTRIBUTING.md").read_text()) if block.kind == "text"
    ]
    rooms = [re.split(r" {3,}", line)[0].split() for line in shown.commands]
    project = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    layer_of = {
        name.strip().removeprefix("lockscale."): k
        for k, layer in enumerate(layers)
        for name in layer.split("|")
    }
    orders = [{layer_of[room] for room in line if room in layer_of} for line in rooms]
    found = [min(order) for order in orders if order]
    assert all(len(order) <= 1 for order in orders) and found == sorted(set(found))
    packages = {path.parent.name for path in (paths.ROOT / "lib/lockscale").glob("*/__init__.py")}
    named = {room for line in rooms for room in line}
    assert packages <= named <= packages | set(layer_of)


SIMULATED = {
    name: pd.read_csv(paths.FIGURES / f"{name}-simulated.csv")
    for name in ("inode-claim", "write-access", "group-trylock", "orphan-file")
}
COUNTS = (paths.KERNEL_PATCHES / "README.md").read_text()


def rate(study: str, arm: str, threads: int, origin: str) -> float:
    table = SIMULATED[study]
    of = (table.arm == arm) & (table.threads == threads) & (table.origin == origin)
    return float(table[of].value.mean())


def counted(counter: str, expected: str) -> tuple[float, float]:
    """Both sides of a comparison of kernel-patches/README.md."""
    row = next(line for line in COUNTS.splitlines() if f"{counter} |" in line and f"| {expected} |" in line)
    arm, against = (float(cell.split()[-1]) for cell in row.split("|")[4:6])
    return arm, against


def results() -> dict[str, list[str]]:
    """Seed -> the cells of its row."""
    rows = re.findall(r"(?m)^\| \*\*(S\d)\*\* (.*) \|$", README.partition("## Four results")[2])
    return {seed: cells.split(" | ") for seed, cells in rows}


def k(value: float) -> str:
    return f"{value / 1000:.0f} k"


RATES = {
    "S1": ("inode-claim", 48, ["steal-retry", "search-locked"]),
    "S2": ("write-access", 48, ["slow-retry", "fast-retry"]),
    "S3": ("group-trylock", 64, ["wait-group", "inode-goal-scan0"]),
}


@pytest.mark.parametrize("seed", RATES)
def test_a_result_is_that_of_the_committed_figures(seed: str):
    study, threads, arms = RATES[seed]
    _, published, simulated, *_ = results()[seed]
    assert re.findall(r"\d+ k", published) == [k(rate(study, arm, threads, "published")) for arm in arms]
    assert re.findall(r"\d+ k", simulated)[:2] == [k(rate(study, arm, threads, "simulated")) for arm in arms]


def test_s1s_calls_are_those_of_the_table_and_not_attempts_that_nobody_published():
    """The untraced run makes fewer calls, but what was published of them is of the traced one."""
    table = costs("s1_function_cost")
    calls = table["jbd2_journal_get_write_access"].calls / table["ext4_create"].calls
    said = f"; {calls:.1f} calls of `jbd2_journal_get_write_access` per create in the traced run"
    assert said in results()["S1"][1]


@pytest.mark.slow
def test_the_command_that_the_readme_names_gives_s1s_calls():
    from lockscale.show.simulated import simulate_points

    (line,) = re.findall(r"such calls.*?\(`lockscale sim (\w+)`\)", results()["S1"][2])
    check = simulate_points(line, [1], {}, replications=2, operations=1000, seed=1)["unfitted_check"]
    (calls,) = [row for row in check if row["name"] == "jbd2_journal_get_write_access"]
    assert f"; {calls['predicted']:.1f} such calls" in results()["S1"][2]
    assert f"; {calls['published']:.1f} calls" in results()["S1"][1]


def test_s2s_cure_is_that_of_the_figures():
    assert k(rate("write-access", "fast-search", 48, "simulated")) in results()["S2"][2]


def test_s3_says_where_the_model_is_wrong_at_its_worst():
    """The story tells it too, of the same point."""
    table = SIMULATED["group-trylock"]
    rates = table.groupby(["origin", "arm", "threads"]).value.mean()
    off = (100 * (rates["simulated"] / rates["published"] - 1)).dropna()
    arm, containers = off.abs().idxmax()
    worst = off[arm, containers]
    assert arm == "inode-goal-scan1" and worst > 0
    assert f"by up to {worst:.0f}% (with lists of groups, {containers} containers)" in results()["S3"][2]
    told = off[["wait-group", "inode-goal-scan0"]]
    arm, containers = told.abs().idxmax()
    worst = told[arm, containers]
    assert arm == "wait-group" and worst > 0
    story = DOCUMENTS["notebooks/explore/story_group_trylock.ipynb"]
    assert f"by {worst:.0f}% at {containers}, the worst of the curves here" in " ".join(story.split())


def test_s4s_ratio_is_that_of_the_times():
    _, published, simulated, *_ = results()["S4"]
    for text, origin in ((published, "published"), (simulated, "simulated")):
        ratio = rate("orphan-file", "orphan-lockless", 128, origin) / rate(
            "orphan-file", "orphan-locked", 128, origin
        )
        assert f"{ratio:.2f} times" in text


VIRTUAL = {
    "S1": ("inode-claim", "search-locked", "steal-retry"),
    "S2": ("write-access", "fast-retry", "slow-retry"),
    "S3": ("group-trylock", "inode-goal-scan0", "wait-group"),
    "S4": ("orphan-file", "orphan-lockless", "orphan-locked"),
}


@pytest.mark.parametrize("seed", VIRTUAL)
def test_a_gain_of_the_real_kernels_is_that_of_the_committed_figures(seed: str):
    study, arm, over = VIRTUAL[seed]
    cell = results()[seed][3]
    said = re.fullmatch(r"([\d.]+) at (\d+), published ([\d.]+)", cell)
    assert said, cell
    table = pd.read_csv(paths.FIGURES / f"{study}-gains.csv")
    (row,) = table[(table.arm == arm) & (table.over == over) & (table.threads == int(said[2]))].itertuples()
    for text, value in ((said[1], row.virtual), (said[3], row.published)):
        assert text == f"{value:.{len(text.partition('.')[2])}f}"


@pytest.mark.parametrize(
    ("seed", "counter", "expected"),
    [
        ("S1", "inode-claim: retries", "steal-retry > search-locked"),
        ("S2", "write-access: sleeps on a buffer's lock", "slow-retry > fast-retry"),
        ("S3", "group-trylock: waits for a group lock (scan0)", "wait-group > trylock"),
        ("S4", "orphan-file: waits for an orphan lock", "orphan-locked > orphan-lockless"),
    ],
)
def test_a_count_is_that_of_the_checked_patches(seed: str, counter: str, expected: str):
    said = re.findall(r"(?<![\w.])\d+(?:\.\d+)?", results()[seed][4])
    for text, value in zip(said, counted(counter, expected), strict=True):
        digits = len(text.partition(".")[2])
        assert text == f"{value:.{digits}f}" and (value == 0 or float(text) > 0)


def test_the_cover_of_updates_per_cpu_has_the_count_of_the_check():
    arm, against = counted("handle-start: j_state_lock", "shared-counters > updates-per-cpu")
    cover = (paths.KERNEL_PATCHES / "handle-start/updates-per-cpu/cover.md").read_text()
    assert f"from {arm:.3f} to {against:.4f} per call of `ext4_orphan_add()`" in " ".join(cover.split())


@pytest.mark.slow
def test_what_the_profile_promises_and_whatif_says_of_s1():
    from lockscale.show.prediction import ask

    (said,) = [p for p in ask("inode-claim").predictions if p.arm == "search-locked"]
    why = README.partition("**Why.**")[2].partition("\n\n")[0]
    numbers = [float(text.replace(",", "")) for text in re.findall(r"\d+,000", why)]
    naive, fix, low, high = numbers
    page = (paths.ROOT / "docs/own-profile.md").read_text()
    assert sorted(re.findall(r"\d+,000", page)) == sorted(re.findall(r"\d+,000", why))
    assert naive == pytest.approx(said.naive_value, rel=0.02)
    assert (low, high) == (pytest.approx(said.low, rel=0.01), pytest.approx(said.high, rel=0.01))
    assert fix == pytest.approx(rate("inode-claim", "search-locked", 48, "published"), rel=0.001)
