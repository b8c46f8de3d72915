# SPDX-License-Identifier: MIT
"""The runner of the user's xfstests, with a stand-in for `check`: it uses the devices, mounts and log
that it is given and prints in xfstests' format. The real one is not shipped and not installed here."""

from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.kernels.build import Kernel
from lockscale.kernels.series import read_series
from lockscale.prove.xfstests import compare_with_base
from lockscale.study.file import load_target

pytestmark = [pytest.mark.guest, pytest.mark.long]

# ext4/002 is made to fail on one kernel only, which it knows by uname -r.
CHECK = """#!/bin/sh
. "$HOST_OPTIONS"
echo "FSTYP         -- $FSTYP"
echo "PLATFORM      -- Linux/x86_64 guest $(uname -r) #1 SMP"
echo "MKFS_OPTIONS  -- $MKFS_OPTIONS $SCRATCH_DEV"
echo "MOUNT_OPTIONS -- $MOUNT_OPTIONS $SCRATCH_DEV $SCRATCH_MNT"
echo
if [ "$1" = -n ]; then printf "ext4/%s\\n" 001 002 003; exit; fi
mount $MOUNT_OPTIONS "$TEST_DEV" "$TEST_DIR" && mkfs.ext4 -q -F $MKFS_OPTIONS "$SCRATCH_DEV" &&
mount $MOUNT_OPTIONS "$SCRATCH_DEV" "$SCRATCH_MNT" && touch "$TEST_DIR/a" "$SCRATCH_MNT/a" || exit 1
umount "$TEST_DIR" "$SCRATCH_MNT" || exit 1
failed= notrun=
for test; do
case "$test,$(uname -r)" in
*3,*) notrun=$test; echo "$test       [not run] needs a device that is not here" ;;
*2,*-lockscale-e3b0c442) echo "$test        2s" ;;
*2,*) failed=$test; echo "$test       - output mismatch (see results/ext4/002.out.bad)" ;;
*) echo "$test        1s" ;;
esac
done
echo "Ran: $*"
[ -z "$notrun" ] || echo "Not run: $notrun"
if [ -n "$failed" ]; then echo "Failures: $failed"; echo "Failed 1 of $# tests"; exit 1; fi
echo "Passed all $# tests"
"""


def test_what_fails_on_the_arm_alone_is_told(
    kernels: dict[str, Kernel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name, text in (("check", CHECK), ("ltp/fsstress", "#!/bin/sh\n"), ("common/rc", "")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("XFSTESTS", str(tmp_path))
    found = compare_with_base(read_series("inode-claim", "steal-retry"), load_target("qemu"), tmp_path)
    assert (
        [failure.test for failure in found.failures] == ["ext4/002"]
        and found.in_both == 2
        and not found.unsteady
    )
    assert not found.ok and not found.one_sided


def test_without_a_built_xfstests_one_sentence_says_where_to_put_it(
    kernels: dict[str, Kernel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XFSTESTS", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(BadInput, match="no built xfstests on qemu: build it there"):
        compare_with_base(read_series("inode-claim", "steal-retry"), load_target("qemu"), tmp_path)
