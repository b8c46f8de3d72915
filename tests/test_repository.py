# SPDX-License-Identifier: MIT
"""The repository itself: dependencies agree; files are licensed, small and of no one machine."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from lockscale import paths
from lockscale.study.file import load_study

PROJECT = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]
LOCK = (paths.ROOT / "requirements.lock").read_text()
CONDA_NAMES = {"python-kaleido": "kaleido"}
LICENSED = {".py", ".c", ".h", ".sh", ".toml", ".yml", ".yaml", ".config"}
MAX_BYTES = 2_000_000
# Pieces, so that this file does not hold what it looks for.
ONE_MACHINE = re.compile("|".join(["/home/" + r"[a-z]", "/root" + "/", "/work" + "/", r"\.\./" + "shared"]))


def files() -> list[Path]:
    """Every file that git tracks or would track."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    out = subprocess.run(listed, cwd=paths.ROOT, capture_output=True, text=True, check=True).stdout
    found = [paths.ROOT / name for name in out.split("\0") if name]
    return [path for path in found if path.is_file()]


def text_of(path: Path) -> str | None:
    content = path.read_bytes()
    return None if b"\0" in content else content.decode(errors="replace")


def name_of(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9_.-]", requirement)[0].lower().replace("_", "-")


def wanted() -> set[str]:
    extras = [r for listed in PROJECT["optional-dependencies"].values() for r in listed]
    return {name_of(r) for r in [*PROJECT["dependencies"], *extras]} - {"lockscale"}


def locked() -> dict[str, str]:
    """Each package of the lock with the text of its entry."""
    entries = re.split(r"(?m)^(?=[A-Za-z0-9])", LOCK)
    return {name_of(entry): entry for entry in entries if not entry.startswith("#")}


def test_conda_users_get_the_same_packages():
    listed = yaml.safe_load((paths.ROOT / "environment.yml").read_text())["dependencies"]
    conda = {name_of(entry) for entry in listed if isinstance(entry, str)} - {"python", "pip"}
    (pip,) = [entry["pip"] for entry in listed if isinstance(entry, dict)]
    assert {CONDA_NAMES.get(name, name) for name in conda} | set(pip) == wanted()
    assert f"python{PROJECT['requires-python']}" in listed


def test_every_dependency_has_its_reason():
    lines = [line for line in (paths.ROOT / "pyproject.toml").read_text().splitlines() if line[:5] == '    "']
    listed = [line for line in lines if name_of(line.strip(' "')) in wanted()]
    assert len(listed) >= len(wanted()) and all("# " in line for line in listed)


def test_the_lock_covers_every_dependency_with_an_exact_version():
    assert wanted() <= set(locked())
    assert all(re.match(r"\S+==\S+", entry) for entry in locked().values())


def test_every_locked_package_has_its_hashes_and_no_address():
    for name, entry in locked().items():
        hashes = re.findall(r"--hash=(\S+)", entry)
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", h) for h in hashes), name
    assert not re.search(r"https?://|--index-url|--find-links", LOCK)


def test_every_source_file_names_its_licence():
    sources = [path for path in files() if path.suffix in LICENSED or path.name in ("Makefile", "run")]
    assert len(sources) > 100
    lacking = [p for p in sources if "SPDX-License-Identifier: " not in p.read_text()[:300]]
    assert {path.name for path in lacking} <= {"pyproject.toml"}  # it has a licence field


def test_no_file_is_large():
    assert [path for path in files() if path.stat().st_size > MAX_BYTES] == []


def test_no_file_names_a_folder_of_one_machine():
    texts = {path: text_of(path) for path in files()}
    found = {path: ONE_MACHINE.findall(text) for path, text in texts.items() if text}
    assert {str(path): hits for path, hits in found.items() if hits} == {}


@pytest.mark.parametrize("path", [".ci/run", "setup/environment.sh"])
def test_scripts_stop_at_the_first_failure(path: str):
    script = paths.ROOT / path
    assert script.stat().st_mode & 0o111 and re.search(r"(?m)^set -eu", script.read_text())


def test_what_the_setup_fetches_has_a_hash_and_is_not_built_by_tools_that_have_none():
    script = (paths.ROOT / "setup/environment.sh").read_text().replace("\\\n", "")
    fetches = [line for line in script.splitlines() if re.search(r"pip (install|sync)(?!.*--no-deps)", line)]
    assert len(fetches) == 2 and all("--require-hashes" in line for line in fetches)
    assert all(re.search("--only-binary :all:|--no-build(?!-)", line) for line in fetches)


def test_continuous_integration_runs_make_test():
    lines = (paths.ROOT / ".ci/run").read_text().splitlines()
    assert lines[-1] == "exec make test"
    recipe = subprocess.run(
        ["make", "-n", "test", "-o", "env", "-o", ".venv/ready"],
        cwd=paths.ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "pytest" in recipe and "lint-imports" in recipe


def test_make_lab_starts_in_a_folder_with_a_blank_in_its_name(tmp_path: Path):
    clone = tmp_path / "my clone"
    (clone / ".venv/bin").mkdir(parents=True)
    shutil.copy(paths.ROOT / "Makefile", clone)
    jupyter = clone / ".venv/bin/jupyter"
    jupyter.write_text('#!/bin/sh\necho "$1 $JUPYTER_CONFIG_PATH"\n')
    jupyter.chmod(0o755)
    argv = ["make", "--silent", "lab", "-o", "env", "-o", ".venv/ready"]
    said = subprocess.run(argv, cwd=clone, capture_output=True, text=True, check=True).stdout
    assert said == f"lab {clone}/setup/jupyter\n"


STUDY_ROOMS = ("studies/", "sim/models/", "filesystems/ext4.py")
WITH_NAMES_OF_STUDIES = {
    "predict/unpatched_columns.py": "which of ext4's functions encloses which, in a profile of creates",
    "prove/locality.py": "ext4's allocator tells by its own trace event where it put a file",
    "tools/ext4_stats.py": "it reads what ext4 and jbd2 print, and names the functions that print it",
    "tools/kernel_reports.py": "it reads what ext4 and jbd2 report of errors, and names the functions",
}
"""Files of other rooms that name a study, an arm, a table or a function of ext4 or jbd2, and why."""


def names_of_studies() -> re.Pattern[str]:
    """The studies, their arms, the published tables and the functions of ext4 and jbd2."""
    studies = [load_study(path.stem) for path in paths.STUDIES.glob("*.yaml") if not path.is_symlink()]
    names = {one.name for one in studies} | {name for one in studies for name in one.arm_names}
    names |= {name.replace("-", "_") for name in names}
    names |= {path.stem for path in paths.PUBLISHED.glob("*.csv")}
    names -= {"trylock"}  # it is what the kernel calls an attempt at any lock
    known = "|".join(re.escape(name) for name in names)
    return re.compile(rf"(?<![\w-])(?:{known}|_*(?:ext4|jbd2)_(?!stats\b|info\b)\w+)(?![\w-])")


def test_only_the_rooms_of_studies_name_a_study():
    named, library = names_of_studies(), paths.ROOT / "lib/lockscale"
    naming = (path for path in library.rglob("*.py") if named.search(path.read_text()))
    found = {str(path.relative_to(library)) for path in naming}
    outside = {name for name in found if not name.startswith(STUDY_ROOMS)}
    assert found - outside, "the pattern finds nothing where studies are at home"
    assert outside == set(WITH_NAMES_OF_STUDIES)


def test_a_class_has_a_name_of_its_own():
    library = paths.ROOT / "lib/lockscale"
    named = [
        name
        for path in library.rglob("*.py")
        for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(), re.M)
    ]
    assert sorted(name for name in set(named) if named.count(name) > 1) == []
