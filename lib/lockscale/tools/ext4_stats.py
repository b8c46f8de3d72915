# SPDX-License-Identifier: MIT
"""What ext4 and jbd2 count themselves, in /proc/fs and /sys/fs, since the file system was mounted.

Read in the kernel, 6.12: fs/ext4/mballoc.c (ext4_seq_mb_stats_show), fs/jbd2/journal.c
(jbd2_seq_info_show), fs/ext4/extents_status.c, fs/ext4/fast_commit.c and fs/ext4/sysfs.c. jbd2's means
are cut to whole milliseconds and blocks. mb_stats counts only while it is on.

Free space by block group, /proc/fs/ext4/<device>/mb_groups, is ext4_mb_seq_groups_show()'s. A line is a
group: free clusters, the extents that they are in, the first of them, and how many free chunks of each
power of two there are.

Each small file is read by the format string that the kernel prints it with. Such a file has a handful
of lines, each always there: it matches as a whole, or it was cut, changed, or is of another kernel.
"""

import re

from lockscale.errors import BadInput
from lockscale.tools.parsed_rows import NOT_STATED, Number, Parsed, rows_of
from lockscale.tools.seal import unsealed
from lockscale.tools.target_tools import Part, TargetTool, kernel_file, printed

_FIELD = re.compile(r"\\\{(\w+):(u|d|lu|llu|ld|lld)(?:\\ (\w+))?(?:\\ (mean|max))?\\\}")


def _by_format(form: str, text: str) -> list[Number] | None:
    """The numbers in the order of the kernel's format; None where the text is not of it.

    form: its conversions are {name:lu unit statistic}; `[[` and `]]` hold what may lack. The unit is `count`
    and the statistic `total` where none is said; {_...} is a number that counts nothing.
    """
    pattern = _FIELD.sub(r"(?P<\1>\\d{1,20})", re.escape(form))
    found = re.fullmatch(pattern.replace(r"\[\[", "(?:").replace(r"\]\]", ")?"), text, re.ASCII)
    if found is None:
        return None
    return [
        Number(name, statistic or "total", unit or "count", int(found[name]))
        for name, _, unit, statistic in _FIELD.findall(re.escape(form))
        if found[name] is not None and not name.startswith("_")
    ]


_ORDERS = 14
_GROUPS_HEAD = "#group: free  frags first [" + "".join(f" 2^{order:<3}" for order in range(_ORDERS)) + " ]"
_GROUP = re.compile(rf"#(\d+) *: (\d+) +(\d+) +(\d+) +\[((?: \d+ *){{{_ORDERS}}}) \](.*)", re.ASCII)
# what ext4_decode_error() says
_UNREAD = re.compile(
    r"#(\d+) *: (?:Corrupt filesystem|Filesystem failed CRC|IO failure|Out of memory|Journal has aborted"
    r"|Readonly filesystem|error -?\d+)",
    re.ASCII,
)
_CORRUPTED = " Block bitmap corrupted!"


def parse_mb_groups(text: str) -> tuple[list[Number], list[str]]:
    """Sums over the groups, and warnings for groups that ext4 could not read or found corrupted.

    BadInput where a group is not there or not in turn, or its chunks are not its free clusters, as
    when it was read while files were made.
    """
    head, *lines = text.split("\n")
    if head != _GROUPS_HEAD or not lines or lines.pop():
        raise BadInput("mb_groups is cut off, or not in the format of Linux 6.12: read it again")
    groups: list[list[int]] = []
    warnings: list[str] = []
    for number, line in enumerate(lines):
        group = _GROUP.fullmatch(line)
        found = group or _UNREAD.fullmatch(line)
        if found is None or found[1] != str(number):
            raise BadInput(f"mb_groups: the line of group {number} is {line[:60]!r}: read it again")
        if group is None or group[6] == _CORRUPTED:
            warnings.append(f"group {number} is left out: ext4 could not read it or found it corrupted")
            continue
        free, extents, *chunks = map(int, [group[2], group[3], *group[5].split()])
        if group[6] or sum(count << order for order, count in enumerate(chunks)) != free:
            raise BadInput(
                f"mb_groups: the numbers of group {number} do not agree: read it while no load is running"
            )
        groups.append([free, extents, *chunks])
    if not groups:
        raise BadInput("mb_groups has no readable group: check the file system with e2fsck")
    free, extents, *chunks = map(sum, zip(*groups, strict=True))
    sums = [
        Number("groups", "total", "count", len(groups)),
        Number("groups_full", "total", "count", sum(not group[0] for group in groups)),
        Number("free", "total", "clusters", free),
        Number("free_extents", "total", "count", extents),
        *(Number(f"free_chunks_2^{order}", "total", "count", count) for order, count in enumerate(chunks)),
    ]
    return sums, warnings


TOOL = "ext4_stats"
ON_TARGET = TargetTool(
    name="ext4 and jbd2 statistics",
    ask=kernel_file("/proc/fs/ext4"),
    version=printed(r"(\d\S*)"),
    without="rates and profiles are measured; commits and the allocator's search are not counted",
    get="mount an ext4 on a kernel with CONFIG_PROC_FS",
    parts=[Part("/proc/fs/jbd2", ["test", "-d", "/proc/fs/jbd2"], "commits are not counted")],
)

_SYSFS = (
    "lifetime_write_kbytes", "session_write_kbytes", "delayed_allocation_blocks",
    "sra_exceeded_retry_limit", "errors_count", "warning_count",
)  # fmt: skip
_CRITERION = (
    "\tcr_{0}_stats:\n\t\thits: {{{0}_hits:llu}}\n\t\tgroups_considered: {{{0}_groups_considered:llu}}\n"
    "\t\textents_scanned: {{{0}_extents_scanned:u}}\n\t\tuseless_loops: {{{0}_useless_loops:llu}}\n"
)
_FORMATS = {
    "jbd2_info": (
        "{transactions:lu} transactions ({requested:lu} requested), "
        "each up to {transaction_size:u blocks max} blocks\n"
        "[[average: \n  {wait_for_transaction:u ms mean}ms waiting for transaction\n"
        "  {request_delay:u ms mean}ms request delay\n"
        "  {running:u ms mean}ms running transaction\n"
        "  {being_locked:u ms mean}ms transaction was being locked\n"
        "  {flushing_data:u ms mean}ms flushing data (in ordered mode)\n"
        "  {logging:u ms mean}ms logging transaction\n"
        "  {commit:llu us mean}us average transaction commit time\n"
        "  {handles_per_transaction:lu count mean} handles per transaction\n"
        "  {blocks_per_transaction:lu blocks mean} blocks per transaction\n"
        "  {logged_blocks_per_transaction:lu blocks mean} logged blocks per transaction\n]]"
    ),
    "mb_stats": (
        "mballoc:\n\treqs: {requests:u}\n\tsuccess: {successes:u}\n\tgroups_scanned: {groups_scanned:u}\n"
        + "".join(map(_CRITERION.format, ("p2_aligned", "goal_fast", "best_avail", "goal_slow", "any_free")))
        + "\textents_scanned: {extents_scanned:u}\n\t\tgoal_hits: {goal_hits:u}\n"
        "\t\tlen_goal_hits: {len_goal_hits:u}\n\t\t2^n_hits: {power_of_2_hits:u}\n"
        "\t\tbreaks: {breaks:u}\n\t\tlost: {lost:u}\n"
        "\tbuddies_generated: {buddies_generated:u}/{groups:u}\n"
        "\tbuddies_time_used: {buddies_time_used:llu cycles}\n"
        "\tpreallocated: {preallocated:u}\n\tdiscarded: {discarded:u}\n"
    ),
    "es_shrinker_info": (
        "stats:\n  {objects:lld} objects\n  {reclaimable_objects:lld} reclaimable objects\n"
        "  {cache_hits:lld}/{cache_misses:lld} cache hits/misses\n"
        "[[  {inodes_on_list:d} inodes on list\n]]"
        "average:\n  {scan_time:llu us mean} us scan time\n  {shrunk_objects:lu count mean} shrunk objects\n"
        "[[maximum:\n  {_number:lu} inode ({largest_inode_objects:u count max} objects, "
        "{largest_inode_reclaimable:u count max} reclaimable)\n"
        "  {longest_scan_time:llu us max} us max scan time\n]]"
    ),
    "fc_info": (
        "fc stats:\n{commits:ld} commits\n{ineligible:ld} ineligible\n{blocks:ld blocks} numblks\n"
        "{commit:llu us mean}us avg_commit_time\nIneligible reasons:\n"
        '"Extended attributes changed":\t{because_xattr:d}\n"Cross rename":\t{because_cross_rename:d}\n'
        '"Journal flag changed":\t{because_journal_flag:d}\n"Insufficient memory":\t{because_no_memory:d}\n'
        '"Swap boot":\t{because_swap_boot:d}\n"Resize":\t{because_resize:d}\n'
        '"Dir renamed":\t{because_dir_renamed:d}\n"Falloc range op":\t{because_falloc_range:d}\n'
        '"Data journalling":\t{because_data_journalling:d}\n'
        '[["Encrypted filename":\t{because_encrypted_name:d}\n]]'
    ),
}  # fmt: skip
_HEADS = {"jbd2_info": r"\d+ transactions \(", "mb_stats": "mballoc:", "mb_groups": "#group: free",
          "es_shrinker_info": r"stats:\n  \d+ objects", "fc_info": "fc stats:"}  # fmt: skip
_OFF = 'mballoc:\n\tmb stats collection turned off.\n\tTo enable, please write "1" to sysfs file mb_stats.\n'
MB_STATS_OFF = "mb_stats is off: write 1 to /sys/fs/ext4/<device>/mb_stats before the load"
_FILE = re.compile(r"^==> (\S+) <==\n", re.MULTILINE)


def recognise(text: str) -> bool:
    """Whether it is one of these files, or several as `tail -v -n +1` prints them."""
    heads = "|".join(_HEADS.values())
    return re.match(rf"(?:==> /(?:proc|sys)/fs/(?:ext4|jbd2)/\S+ <==|{heads})", text) is not None


def parse(text: str) -> Parsed:
    """A row for each number of one such file, or of several as `tail -v -n +1` prints them; `test` is it.

    BadInput where a file was cut or changed or is of a kernel that prints it otherwise, and where none
    is left: mb_stats is left out, with a warning, while it is off.
    """
    body, warnings = unsealed(text)
    _, *parts = _FILE.split(body) if _FILE.match(body) else ["", "", body]
    files: dict[str, list[Number]] = {}
    for path, content in zip(parts[::2], parts[1::2], strict=True):
        # tail prints an empty line between two files
        one = content if path in ("", parts[-2]) else content.removesuffix("\n")
        name, values = _file(path, one, warnings)
        if name in files:
            raise BadInput(f"{name} appears twice: give the files of one file system")
        if values:
            files[name] = values
    if not files:
        raise BadInput(f"no statistics of ext4: {MB_STATS_OFF}")
    rows = [row for file, values in files.items() for row in rows_of(file, *values)]
    return Parsed(TOOL, NOT_STATED, tuple(rows), tuple(warnings))


def _file(path: str, content: str, warnings: list[str]) -> tuple[str, list[Number]]:
    name = path.rpartition("/")[2] if path else _name(content)
    name = "jbd2_info" if name == "info" else name
    if name in _SYSFS:
        return name, _counter(name, content)
    if name == "mb_groups":
        values, left_out = parse_mb_groups(content)
        warnings += left_out
        return name, values
    if content == _OFF:
        warnings.append(MB_STATS_OFF)
        return name, []
    read_values = _by_format(_FORMATS[name], content) if name in _FORMATS else None
    if read_values is None:
        raise BadInput(
            f"{name or 'this'} is not in the format of Linux 6.12: it was cut off, or is from another kernel"
        )
    return name, read_values


def _name(content: str) -> str:
    return next((name for name, head in _HEADS.items() if re.match(head, content)), "")


def _counter(name: str, content: str) -> list[Number]:
    if not re.fullmatch(r"\d{1,20}\n", content, re.ASCII):
        raise BadInput(f"{name} is not a single number: it was cut off, or is from another kernel")
    unit = "KiB" if name.endswith("kbytes") else "blocks" if name.endswith("blocks") else "count"
    return [Number(name, "total", unit, int(content))]
