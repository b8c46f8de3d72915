# SPDX-License-Identifier: MIT
"""A series in the form that others take: git am, quilt, or a Lustre tree's ldiskfs."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import need_place_for_folder, write_bytes
from lockscale.kernels.base import base, bases
from lockscale.kernels.cover import as_mail, held_back
from lockscale.kernels.letter import cover_letter
from lockscale.kernels.mail import (
    COLUMNS,
    END_OF_MESSAGE,
    numbered,
    read_mail,
    read_text,
    subject_of,
)
from lockscale.kernels.series import Series, touched_files
from lockscale.scratch import scratch_folder

# What ldiskfs/autoMakefile.am of Lustre copies out of a kernel before it patches.
LDISKFS_TAKES = re.compile(
    r"fs/ext4/[^/]+|include/linux/ext4[^/]*\.h|include/uapi/linux/ext4[^/]*\.h|include/trace/events/ext4[^/]*\.h"
)


UNWRITTEN = "write here"  # in the cover of a new study's arm


@dataclass(frozen=True)
class Exported:
    """What was written: a file, or a folder with `files` in it."""

    path: Path
    files: tuple[str, ...]


def export(series: Series, form: str, output: Path | None = None, measured: str = "") -> Exported:
    """Write `series` as "mbox" (a file, the cover letter beside it), "quilt" or "ldiskfs" (a folder).

    It is written whole or not at all, and the same series gives the same bytes. Without `output` it is
    named after study and arm, in the working directory. measured: what stands below the arm's cover in the
    cover letter, or in the README of a folder.
    """
    if not series.patches:
        raise BadInput(f"{series.name} has no patch to export: this arm is the unmodified base")
    touched_files(series)  # refuses what git cannot read
    plain = f"{series.study}-{series.arm}"
    path = output or Path(f"{plain}.mbox" if form == "mbox" else f"{plain}-{form}")
    _refuse_if_there(path)
    need_place_for_folder(path.parent, "with --output")
    if form == "mbox":
        return _write_mails(path, *_mbox(series, measured))
    note = _note(series, measured)
    files = _quilt(series, note) if form == "quilt" else _ldiskfs(series, note)
    _write_folder(path, files)
    return Exported(path, tuple(files))


def _refuse_if_there(path: Path) -> None:
    if path.exists():
        raise BadInput(f"{path} already exists: remove it, or name another --output")


def _write_mails(path: Path, letter: bytes, mails: bytes) -> Exported:
    cover = path.with_name(f"{path.stem}-0000-cover-letter.patch")
    _refuse_if_there(cover)
    write_bytes(cover, letter)
    try:
        write_bytes(path, mails)
    except BaseException:
        cover.unlink()
        raise
    return Exported(path, (path.name, cover.name))


def _write_folder(path: Path, files: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder("export", path.parent) as room:
        for name, content in files.items():
            write_bytes(room / path.name / name, content)
        (room / path.name).rename(path)


def _title(series: Series) -> str:
    return f"{series.name}, for Linux {base(series.base).line}.y"


def _head(series: Series) -> str:
    """Where the patches are from, and what they may do."""
    warning = f"UNSAFE: {series.unsafe}\n" if series.unsafe else ""
    return f"{_title(series)} (lockscale, series sha256 {series.sha256[:16]})\n{warning}"


def _note(series: Series, measured: str) -> str:
    """The head, the cover, and what was measured."""
    cover = series.folder / "cover.md"
    why, text = held_back(read_text(cover)) if cover.is_file() else ("", "")
    said = as_mail(_on_base(series, text)) if text else ""
    first = "\n".join(textwrap.wrap(f"Not to be sent yet: {why}", COLUMNS)) if why else ""
    if UNWRITTEN in said:
        raise BadInput(f"{cover} still says `{UNWRITTEN}`: write what the patches do, or remove the line")
    return "\n\n".join(part.strip("\n") for part in (_head(series), first, said, measured) if part) + "\n"


def why_held_back(series: Series) -> str:
    """Why its cover says that it is not to be sent yet; empty where it does not."""
    cover = series.folder / "cover.md"
    return held_back(read_text(cover))[0] if cover.is_file() else ""


def _on_base(series: Series, cover: str) -> str:
    """A cover is written for the first base, on which its figures were measured; on another it says so."""
    first, line = bases()[0].line, base(series.base).line
    own = f"Base: Linux {line}.y; figures are of Linux {first}.y where they name no other"
    return cover if line == first else cover.replace(f"Base: Linux {first}.y", own)


def _mbox(series: Series, measured: str) -> tuple[bytes, bytes]:
    """The cover letter, and the mails in order; the head stands in the first one below `---`.

    The letter has the subject of the last patch, which is what the arm adds to those before it. The head is
    indented, so that no line of it can be taken for a diff or for the start of a mail.
    """
    rfc = bool(why_held_back(series))
    mails = numbered([read_mail(patch) for patch in series.patches], rfc=rfc)
    letter = cover_letter(subject_of(mails[-1]), _note(series, measured), mails, rfc=rfc)
    head = textwrap.indent(_head(series), "  ").encode()
    mails[0] = mails[0].replace(END_OF_MESSAGE, END_OF_MESSAGE + head + b"\n", 1)
    return letter, b"".join(mails)


def _files(series: Series) -> dict[str, bytes]:
    """The patches by their names as a series file can list them, where a blank ends a name."""
    files = {_name_in(series, patch): patch.read_bytes() for patch in series.patches}
    for name in files:
        if name.split() != [name]:
            raise BadInput(
                f"series {series.name} lists {name!r}: a name with a space cannot be exported, rename it"
            )
    return files


def _name_in(series: Series, patch: Path) -> str:
    """As its series lists it; one of another arm with that arm's name, in the same folder as the others."""
    name = patch.relative_to(series.folder)
    if ".." not in name.parts:
        return name.as_posix()
    return "-".join(patch.resolve().relative_to(paths.KERNEL_PATCHES.resolve()).parts)


def _quilt(series: Series, note: str) -> dict[str, bytes]:
    """patches/ as quilt(1) wants it at the top of a kernel tree; `quilt push -a` or `patch -p1`."""
    patches = _files(series)
    comments = [f"# {_title(series)}"]
    comments += [f"# unsafe: {series.unsafe}"] if series.unsafe else []
    files = {f"patches/{name}": content for name, content in patches.items()}
    listing = "".join(f"{line}\n" for line in [*comments, *patches])
    return {**files, "patches/README": note.encode(), "patches/series": listing.encode()}


def _ldiskfs(series: Series, note: str) -> dict[str, bytes]:
    """Patches and a series file under names that no file of Lustre's has.

    The series file holds names only: where there is no quilt, Lustre's make takes each word of it
    for a patch.
    """
    for name in touched_files(series):
        if not LDISKFS_TAKES.fullmatch(name):
            raise BadInput(
                f"{series.name} changes {name}, which is not part of ldiskfs (ext4 and its headers) but of "
                f"the server's kernel: export with --format quilt or mbox"
            )
    own = f"lockscale-{series.study}-{series.arm}"
    folder = f"ldiskfs/kernel_patches/patches/{own}"
    listing = f"ldiskfs-{base(series.base).line}-{own}.series"
    patches = _files(series)
    files = {f"{folder}/{name}": content for name, content in patches.items()}
    lines = "".join(f"{own}/{name}\n" for name in patches)
    files[f"ldiskfs/kernel_patches/series/{listing}"] = lines.encode()
    return {**files, f"{folder}/README": (HOW.format(listing=listing) + note).encode()}


HOW = """\
Copy ldiskfs/ over a Lustre tree; no file of Lustre is replaced. Then append the lines of
kernel_patches/series/{listing}
to the series of your kernel, after Lustre's own patches. They change the same files: a hunk that no
longer applies there has to be rebased by hand.

"""
