# SPDX-License-Identifier: MIT
"""custom.cfg belongs to the server's administrator: only our part of it is ever changed. By a real sh."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import RunFailed
from lockscale.machines.grub import BEGIN, END, forget_custom, write_custom
from lockscale.machines.machine import LocalMachine
from small_disk import run_on_small_disk

HERE = LocalMachine()
OURS = ["menuentry 'Linux x on trial' {", "\tlinux /boot/vmlinuz-x root=/dev/vda1 %s \\n $(id)", "}"]
BLOCK = "\n".join([BEGIN, *OURS, END]).encode() + b"\n"
theirs = st.lists(st.binary(max_size=30).map(lambda line: line.translate(None, b"\n\0")))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(theirs, theirs)
def test_lines_of_others_stay_whatever_their_bytes(tmp_path_factory, before: list[bytes], after: list[bytes]):
    custom = tmp_path_factory.mktemp("grub") / "custom.cfg"
    rest = b"".join(line + b"\n" for line in before + after)
    custom.write_bytes(b"".join(line + b"\n" for line in before) + BLOCK + b"".join(x + b"\n" for x in after))
    write_custom(HERE, OURS, str(custom))
    assert custom.read_bytes() == rest + BLOCK
    forget_custom(HERE, str(custom))
    assert (custom.read_bytes() if rest else b"") == rest
    assert [path.name for path in custom.parent.iterdir()] == (["custom.cfg"] if rest else [])


def test_a_last_line_without_its_end_is_not_joined_with_ours(tmp_path: Path):
    custom = tmp_path / "custom.cfg"
    custom.write_bytes(b"set color=M\xfcller")
    write_custom(HERE, OURS, str(custom))
    assert custom.read_bytes() == b"set color=M\xfcller\n" + BLOCK


def test_a_file_that_only_root_may_read_stays_so(tmp_path: Path):
    """It may hold the hash of GRUB's password."""
    custom = tmp_path / "custom.cfg"
    custom.write_text("password_pbkdf2 root grub.pbkdf2.sha512.10000.AB\n")
    custom.chmod(0o600)
    write_custom(HERE, OURS, str(custom))
    assert custom.stat().st_mode & 0o777 == 0o600
    forget_custom(HERE, str(custom))
    assert custom.stat().st_mode & 0o777 == 0o600


def test_where_there_is_none_one_is_made_and_no_other_is_touched(tmp_path: Path):
    custom = tmp_path / "custom.cfg"
    forget_custom(HERE, str(custom))
    assert not custom.exists()
    write_custom(HERE, OURS, str(custom))
    assert custom.read_bytes() == BLOCK and custom.stat().st_mode & 0o777 == 0o644
    with pytest.raises(RunFailed):
        write_custom(HERE, OURS, str(tmp_path / "gone" / "custom.cfg"))


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_file_whole(tmp_path: Path):
    (tmp_path / "disk").mkdir()
    said = run_on_small_disk(
        tmp_path / "disk",
        16,
        """
        import os
        from pathlib import Path
        from lockscale.errors import RunFailed
        from lockscale.machines.grub import write_custom
        from lockscale.machines.machine import LocalMachine
        Path("custom.cfg").write_bytes(b"x" * 4095 + b"\\n")
        Path("ballast").write_bytes(b"x" * 4096)
        try:
            write_custom(LocalMachine(), ["y" * 8000], str(Path("custom.cfg").resolve()))
        except RunFailed as error:
            print("custom.cfg on the server cannot be written and is unchanged: " in str(error))
        print(Path("custom.cfg").read_bytes() == b"x" * 4095 + b"\\n", sorted(os.listdir()))
        """,
    )
    assert said == ["True", "True ['ballast', 'custom.cfg']"]
