# SPDX-License-Identifier: MIT
"""A warning is new when the patched file gives one more of it than the pristine file."""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import RunFailed
from lockscale.kernels.checkpatch import new_warnings, warnings_in
from lockscale.kernels.series import Series, apply_beside

TREE = Path("/b/src")
# As the kernel's with O=: nothing is written into the tree, and a newer object is left as it is. A folder
# is what its own Makefile lists.
MAKEFILE = """%/: FORCE
\t@$(MAKE) --no-print-directory O=$(O) $(addprefix $@,$(shell cat $(CURDIR)/$@Makefile))
%.o:
\t@mkdir -p $(O)/$(@D)
\t@test $(O)/$@ -nt $(CURDIR)/$*.c || gcc -Wall -c -o $(O)/$@ $(CURDIR)/$*.c
FORCE: ;
"""
MAIL = "From: a <a@x>\nSubject: [PATCH] add\n\n---\ndiff --git a/fs/a.c b/fs/a.c\n"
OLD = "static int unused_before;\nint f(int a)\n{\n\treturn a;\n}\n"


@given(st.integers(1, 9999), st.integers(1, 99), st.integers(1, 9999))
def test_lines_that_move_are_no_new_warning(line, column, moved):
    def said(at: int) -> list[str]:
        return [
            f"/b/src/fs/ext4/ialloc.c:{at}:{column}: warning: unused variable 'x' [-Wunused-variable]",
            f"fs/ext4/ialloc.o: warning: objtool: f+0x{at:x}: unreachable instruction",
            f"../fs/ext4/ialloc.c:{at}: warning: Function parameter 'a' not described in 'f'",
            f"Warning: ../fs/jbd2/commit.c:{at} function parameter 'b' not described in 'g'",
            f"/b/src/fs/ext4/ialloc.c:{at}:{column}: note: declared here",
            "  CC      fs/ext4/warning.o",
        ]

    assert warnings_in(said(line), TREE) == warnings_in(said(moved), TREE) == Counter({
        "fs/ext4/ialloc.c: warning: unused variable 'x' [-Wunused-variable]": 1,
        "fs/ext4/ialloc.o: warning: objtool: f: unreachable instruction": 1,
        "fs/ext4/ialloc.c: warning: Function parameter 'a' not described in 'f'": 1,
        "fs/jbd2/commit.c: warning: function parameter 'b' not described in 'g'": 1,
    })  # fmt: skip


class Toy:
    """A tree of one C file with a warning of its own, and series against it."""

    def __init__(self, folder: Path) -> None:
        self.tree, self.objects, self.arm = folder / "src", folder / "objects", folder / "arm"
        (self.tree / "fs").mkdir(parents=True)
        self.objects.mkdir()
        self.arm.mkdir()
        (self.tree / "Makefile").write_text(MAKEFILE)
        (self.tree / "fs/a.c").write_text(OLD)

    def series(self, added: str) -> Series:
        """A patch that adds one line after the first brace."""
        hunk = (
            f"@@ -1,5 +1,6 @@\n static int unused_before;\n int f(int a)\n {{\n+{added}\n \treturn a;\n }}\n"
        )
        (self.arm / "0001-x.patch").write_text(f"{MAIL}--- a/fs/a.c\n+++ b/fs/a.c\n{hunk}")
        return Series("s", "arm", self.arm, (self.arm / "0001-x.patch",))

    def check(self, series: Series):
        @contextlib.contextmanager
        def held() -> Iterator[None]:
            before = {p: p.read_bytes() for p in self.tree.rglob("*") if p.is_file()}
            for name, content in apply_beside(series, self.tree).items():
                (self.tree / name).write_bytes(content or b"")
            try:
                yield
            finally:
                for path, content in before.items():
                    path.write_bytes(content)
                for path in {p for p in self.tree.rglob("*") if p.is_file()} - set(before):
                    path.unlink()

        return new_warnings(series, self.tree, self.objects, held)


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path)


def test_the_pristine_files_own_warnings_are_not_the_patchs(toy: Toy):
    found = toy.check(toy.series("\ta++;"))
    assert found.new == () and found.compiled == ("fs/a.o",)
    assert found.detail == "warnings of W=1: no new ones; compiled fs/a.o"
    assert "unused_before" in (toy.objects / "warnings.log").read_text()


def test_a_new_warning_is_named_and_a_second_of_a_kind_is_new_too(toy: Toy):
    found = toy.check(toy.series("\tint never;"))
    assert found.new == ("fs/a.c: warning: unused variable 'never' [-Wunused-variable]",)
    assert "1 new, first: fs/a.c: warning: unused variable" in found.detail
    (toy.tree / "fs/a.c").write_text(OLD + "int g(void) { int never; return 0; }\n")
    assert len(toy.check(toy.series("\tint never;")).new) == 1


def test_an_object_that_is_there_already_is_compiled_again(toy: Toy):
    series = toy.series("\tint never;")
    found = toy.check(series)
    os.utime(toy.tree / "fs/a.c", (1, 1))
    assert toy.check(series) == found and len(found.new) == 1


def test_a_new_file_is_compiled_with_the_patch_only(toy: Toy):
    new = (
        MAIL.replace("a.c", "new.c")
        + "new file mode 100644\n--- /dev/null\n+++ b/fs/new.c\n@@ -0,0 +1 @@\n+static int unused_here;\n"
    )
    patch = toy.arm / "0001-x.patch"
    patch.write_text(new)
    found = toy.check(Series("s", "arm", toy.arm, (patch,)))
    assert found.compiled == ("fs/new.o",) and len(found.new) == 1


NEW_HEADER = "new file mode 100644\n--- /dev/null\n+++ b/NAME\n@@ -0,0 +1 @@\n+LINE\n"


def header(toy: Toy, name: str, line: str) -> Series:
    """A series that adds a file of one line."""
    patch = toy.arm / "0001-x.patch"
    added = NEW_HEADER.replace("NAME", name).replace("LINE", line)
    patch.write_text(MAIL.replace("fs/a.c", name) + added)
    return Series("s", "arm", toy.arm, (patch,))


@pytest.fixture
def includers(toy: Toy) -> Toy:
    """fs/a.c and fs/b.c include what the patch adds; fs/off.c does not compile and is configured out."""
    include = '#if __has_include("new.h")\n#include "new.h"\n#endif\n'
    (toy.tree / "fs/Makefile").write_text("a.o b.o\n")
    for name, text in (("a", OLD), ("b", "int b;\n"), ("off", "#error off\n")):
        (toy.tree / f"fs/{name}.c").write_text(include + text)
    return toy


def test_a_header_alone_is_compiled_by_the_files_beside_it(includers: Toy):
    found = includers.check(header(includers, "fs/new.h", "static int nobody_reads;"))
    assert found.compiled == ("fs/",)
    warning = "fs/new.h: warning: 'nobody_reads' defined but not used [-Wunused-variable]"
    assert found.new == (warning, warning), "once in each of the two"
    assert includers.check(header(includers, "fs/new.h", "extern int shared;")).new == ()


def test_a_header_of_include_is_compiled_by_ext4_and_jbd2(toy: Toy):
    for folder in ("fs/ext4", "fs/jbd2"):
        (toy.tree / folder).mkdir()
        (toy.tree / folder / "x.c").write_text('#include "../../include/linux/old.h"\n')
        (toy.tree / folder / "Makefile").write_text("x.o\n")
    (toy.tree / "include/linux").mkdir(parents=True)
    (toy.tree / "include/linux/old.h").write_text("extern int x;\n")
    series = header(toy, "include/linux/old.h", "static int y;")
    text = series.patches[0].read_text()
    hunk = (
        "--- a/include/linux/old.h\n+++ b/include/linux/old.h\n@@ -1 +1 @@\n-extern int x;\n+static int y;\n"
    )
    series.patches[0].write_text(text[: text.index("new file")] + hunk)
    found = toy.check(series)
    assert found.compiled == ("fs/ext4/", "fs/jbd2/") and len(found.new) == 2


def test_a_series_that_compiles_to_nothing_says_so(toy: Toy):
    found = toy.check(header(toy, "fs/Kconfig", "config X"))
    assert found.new == found.compiled == ()
    assert "compiled nothing: no C file and no header is touched" in found.detail


def test_a_patch_that_does_not_compile_is_told_by_the_compilers_line(toy: Toy):
    with pytest.raises(
        RunFailed, match=r"compile s/arm with W=1 failed \(make\): .*a\.c:4:16: error: .*nowhere"
    ):
        toy.check(toy.series("\treturn nowhere;"))
    assert (toy.tree / "fs/a.c").read_text() == OLD
