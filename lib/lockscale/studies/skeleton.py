# SPDX-License-Identifier: MIT
"""`lockscale new study NAME`: a study that is whole as it stands, to be filled with one's own question."""

import re
import shutil
from pathlib import Path
from string import Template
from typing import NamedTuple

from lockscale import paths
from lockscale.errors import BadInput, printable
from lockscale.files import need_clone, write_text
from lockscale.yaml_text import NAME

STUDY_FILE = """\
# SPDX-License-Identifier: MIT
# A study to begin with: change what is here to what you ask. CONTRIBUTING.md says what else it can have.
name: "$name"  # in quotes, as 1, true and 2024-01-01 are no texts to YAML
question: What does my patch of a lock give?
problem: >-  # what hurts, for whom, and how much: it begins the commit message
  Many processes that create files wait for one lock.
story: ""  # who waits for what, and why: it follows in the message
limits: ""  # what the model leaves out
tables: [s1_rates]  # published, or a CSV file of yours right beside this one: docs/own-table.md
workload: create_unlink  # a test of fsload
metric: creates per second
counter: jbd2_journal_get_write_access  # what has to differ: one of profiled_functions, or of counters
model: inode_claim  # one of lockscale sim --list; of a lock that none has, all arms are simulated: false

arms:
  - name: as-is  # the kernel as it is: its series is empty
    role: unpatched
    model_parameters: {search_locked: true}  # Linux 6.12 has the fix of study inode-claim
  - name: with-patch  # and as you want it upstream: its series is empty until you put patches in
    role: patched
    simulated: false  # true where the model has your patch as a switch: model_parameters

filesystem: ext4  # docs/another-file-system.md shows one of XFS
mkfs: [-b, "4096", -J, size=256, -O, ^orphan_file, -E, "lazy_itable_init=0,lazy_journal_init=0"]
mount: [noatime]
mkfs_asserts: [has_journal, ^orphan_file]

# The load under which `lockscale patches check` counts both arms, and what must then differ. Counted are
# calls:FUNCTION, trace:EVENT of the file system, and acquisitions:CLASS or contentions:CLASS of a lock class
# as /proc/lock_stat names it.
check: {processes: 8, items_per_process: 300, cpus: 4}
counters:
  - name: calls for journal access
    count: ["calls:jbd2_journal_get_write_access"]
    per: ["trace:ext4_allocate_inode"]
    unit: per create
    expect: [as-is >= with-patch]  # `>` once you have seen that it shows

parameters:
  guests:
    - {cpus: 4, processes: [1, 8]}
  manycore:
    - {cpus: 64, processes: [1, 8, 64], short: [64]}
  operations_per_point: 2400
  iterations: 2
  profiled_functions: [ext4_create, jbd2_journal_get_write_access, _raw_spin_lock]
  tool: fsload
  accel: auto
  seed: 1
  simulated_threads: [1, 8, 16, 32, 48]
  replications: 5
  kernel_source: ""
"""
README = """\
# $name

What to do next: put your `git format-patch` files into `with-patch/`, list them in `with-patch/series`, and
write your question, lock, load and counter into `notebooks/studies/$name.yaml`. Until `with-patch` has a
patch, both arms are one kernel, and a run refuses to compare them. Then

    lockscale study show $name                 # refuses what does not fit together
    lockscale patches check $name --build      # applies, differs, checkpatch, the kernels
    lockscale study run $name --short          # measured in virtual time; ends with the changelog text
"""
COVER = """\
<!-- SPDX-License-Identifier: GPL-2.0-only -->
# $name / $arm

- Base: Linux 6.12.y (see kernel-patches/base.toml)$what.
"""
UNCHANGED = ", unchanged: the series is empty"
CHANGED = """\
.
- Adds: write here what the patches change.
- Counters expected to move: write here which, and where to"""
SERIES = "# the names of your git format-patch files, one a line, in their order\n"


class NewStudy(NamedTuple):
    """The study's file, and the folder of its arms."""

    file: Path
    folder: Path


def write_study(name: str) -> NewStudy:
    """Write the study's file last, so that it is there whole or not at all.

    Raises BadInput for a name that none can have, or that is taken.
    """
    if not re.fullmatch(NAME[0], name) or len(name) > 64:
        raise BadInput(f"a study cannot be called {printable(name)!r}: {NAME[1]}")
    need_clone("a new study is written beside the others", paths.STUDIES, paths.KERNEL_PATCHES)
    new = NewStudy(paths.STUDIES / f"{name}.yaml", paths.KERNEL_PATCHES / name)
    for there in new:
        if there.exists() or there.is_symlink():
            raise BadInput(f"{there} is there: choose another name, or remove it first")
    try:
        for path, text in _files(name).items():
            write_text(new.folder / path, text)
        write_text(new.file, Template(STUDY_FILE).substitute(name=name))
    except BaseException:
        shutil.rmtree(new.folder, ignore_errors=True)
        raise
    return new


def _files(name: str) -> dict[str, str]:
    """What lies in the folder of its arms."""
    cover = Template(COVER)
    return {
        "README.md": Template(README).substitute(name=name),
        "as-is/series": "",
        "as-is/cover.md": cover.substitute(name=name, arm="as-is", what=UNCHANGED),
        "with-patch/series": SERIES,
        "with-patch/cover.md": cover.substitute(name=name, arm="with-patch", what=CHANGED),
    }
