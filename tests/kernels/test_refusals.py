# SPDX-License-Identifier: MIT
"""`lockscale kernel build` on what cannot be built: one sentence, with the tool's first useful line.

On a toy kernel of one C file; its make takes every option but one, and its compiler is the real one. Two
arms of one identity are in test_one_identity.py.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.cli import main
from lockscale.kernels import source as source_module

A_C = "int f(int a)\n{\n\tint b = a;\n\n\treturn b;\n}\n"
MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 99
allnoconfig:
\tgrep -v CONFIG_GONE $(KCONFIG_ALLCONFIG) > $(O)/.config
bzImage:
\t@echo '  CC      net/9p/error.o'
\tgcc -Wall -c -o $(O)/a.o fs/a.c
"""
PATCH = """\
From: a <a@x>
Subject: [PATCH] change a

---
diff --git a/fs/a.c b/fs/a.c
--- a/fs/a.c
+++ b/fs/a.c
@@ -1,6 +1,6 @@
 int f(int a)
 {
-\tint b = a;
+\tint b = 2 * a;
BLANK
 \treturn b;
 }
""".replace("BLANK", " ")
Build = Callable[..., str]


@pytest.fixture(autouse=True)
def own_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base with one option for each kind of build, and an empty cache."""
    patches = tmp_path / "kernel-patches"
    patches.mkdir()
    (patches / "base.toml").write_text((paths.KERNEL_PATCHES / "base.toml").read_text())
    for config in paths.KERNEL_PATCHES.glob("*.config"):
        (patches / config.name).write_text("CONFIG_EXT4_FS=y\n")
    monkeypatch.setattr(paths, "KERNEL_PATCHES", patches)
    monkeypatch.setattr(paths, "BUILD_CACHE", tmp_path / "cache/build")
    monkeypatch.setattr(paths, "KERNEL_CACHE", tmp_path / "cache/kernels")
    monkeypatch.setattr(source_module, "UNPACKED_MIB", 1)


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Build:
    """Build s/arm from a patch and a kernel's a.c; the sentence that it ends in, and its exit status."""

    def build(status: int, patch: str = PATCH, a_c: str = A_C, makefile: str = MAKEFILE) -> str:
        tree, arm = tmp_path / "linux", paths.KERNEL_PATCHES / "s/arm"
        for folder in (tree / "fs", arm):
            folder.mkdir(parents=True)
        for path, text in ((tree / "Kbuild", ""), (tree / "Makefile", makefile), (tree / "fs/a.c", a_c)):
            path.write_text(text)
        (arm / "series").write_text("0001-x.patch\n")
        (arm / "0001-x.patch").write_text(patch)
        with pytest.raises(SystemExit) as ended:
            main(["kernel", "build", "s/arm", "--source", str(tree)])
        said = capsys.readouterr()
        sentences = [line for line in said.err.splitlines() if line.startswith("lockscale: ")]
        assert (ended.value.code, said.out, len(sentences)) == (status, "", 1)
        assert said.err.endswith(f"{sentences[0]}\n") and "Traceback" not in said.err
        assert not list(paths.KERNEL_CACHE.glob("*/bzImage"))
        (copy,) = paths.BUILD_CACHE.glob("*/src/fs/a.c")
        assert copy.read_text() == a_c
        return sentences[0].removeprefix("lockscale: ")

    return build


def test_a_patch_that_lost_a_line_is_corrupt(refused: Build):
    said = refused(2, patch=PATCH.replace(" \treturn b;\n", ""))
    assert "0001-x.patch is not a patch that git can read (corrupt patch at line 15): make it with" in said


@pytest.mark.parametrize(
    ("old", "new"),
    [(" int f(int a)", " int f(int c)"), ("-\tint b = a;", "-\tint b = 1;"), ("@@ -1,6", "@@ -1,7")],
)
def test_a_tampered_hunk_goes_nowhere(refused: Build, old: str, new: str):
    assert old in PATCH
    said = refused(2, patch=PATCH.replace(old, new))
    assert "0001-x.patch" in said
    assert "(patch failed: fs/a.c:1)" in said or "(corrupt patch at line" in said


def test_a_tampered_new_line_is_found_by_the_compiler(refused: Build):
    said = refused(1, patch=PATCH.replace("= 2 * a;", "= 2 * nowhere;"))
    assert said.startswith("build kernel s/arm failed (make): fs/a.c:3:21: error: ")
    assert "nowhere" in said and "net/9p/error.o" not in said and "(full log: " in said


def test_a_series_on_the_wrong_base_does_not_apply(refused: Build):
    said = refused(2, a_c=A_C.replace("int b = a;", "long b = a;").replace("return b", "return (int)b"))
    assert said == (
        "series s/arm: 0001-x.patch does not apply to this kernel source (patch failed: fs/a.c:1): "
        "rebase it, fuzz is not allowed"
    )


def test_a_base_that_has_the_series_says_so(refused: Build):
    said = refused(2, a_c=A_C.replace("int b = a;", "int b = 2 * a;"))
    assert said.startswith("series s/arm: 0001-x.patch is already in this kernel source: drop it")


def test_an_option_that_the_kernel_does_not_take_is_named_with_its_file(refused: Build):
    fragment = paths.KERNEL_PATCHES / "guest.config"
    fragment.write_text("CONFIG_EXT4_FS=y\nCONFIG_GONE=y\n")
    assert refused(2) == (
        f"{fragment} asks for CONFIG_GONE=y, which Linux 6.12.99 does not accept (1 such line(s)): "
        "a dependency is missing or the option is gone"
    )


SAYS_NOTHING = [" CONFIG_A=y", "CONFIG_A = y", "CONFIG_A", "EXT4_FS=y", "CONFIG_A=", "y // no comment"]
WOULD_BE_RUN = ['CONFIG_LOCALVERSION="$(shell touch ran)"', "CONFIG_A=y; touch ran", 'CONFIG_A="`touch ran`"']


@pytest.mark.parametrize("line", [*SAYS_NOTHING, *WOULD_BE_RUN])
def test_a_line_of_a_fragment_that_says_nothing_or_would_be_run_is_refused(refused: Build, line: str):
    fragment = paths.KERNEL_PATCHES / "guest.config"
    fragment.write_text(f"# head\n\nCONFIG_EXT4_FS=y\n{line}\n")
    assert refused(2) == (
        f"{fragment} line 4 is {line!r}: write CONFIG_X= and y, m, n, a number or plain text in quotes, "
        "or a # comment"
    )


def test_a_misspelt_option_that_shall_be_off_is_refused(refused: Build, tmp_path: Path):
    """Every option that does not exist is off: allnoconfig alone would take it for granted."""
    (tmp_path / "linux/init").mkdir(parents=True)
    (tmp_path / "linux/init/Kconfig.debug").write_text(
        "menuconfig HYPERVISOR_GUEST\n\tbool\n  config MODULES\n"
    )
    fragment = paths.KERNEL_PATCHES / "guest.config"
    fragment.write_text("CONFIG_HYPERVISOR_GUEST=n\nCONFIG_MODULES=n\nCONFIG_HYPERVISER_GUEST=n\n")
    assert refused(2) == (
        f"{fragment} asks for CONFIG_HYPERVISER_GUEST=n, which is in no Kconfig file of Linux 6.12.99: "
        "correct the spelling or drop the line"
    )


def test_a_make_that_is_no_kernels_is_told_by_its_own_words(refused: Build):
    said = refused(1, makefile=MAKEFILE.replace("allnoconfig:", "other:"))
    assert "configure the kernel failed (make): make: *** No rule to make target 'allnoconfig'" in said
