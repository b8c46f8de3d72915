# SPDX-License-Identifier: MIT
"""Keep a measured run in data/measured, so that notebooks 06 to 08 can be read without a guest; scrubbed.

What notebooks write anew of it is not kept. Nothing else changes, so
build-ids, rows and raw output stay as measured.

What leaves the machine says nothing of it: paths, names and addresses out of text that is kept.

The rule, in this order, and nothing else changes:

the guest's private folder (also as virtme-ng encodes it)    GUEST
the folder of the checkout                                   ROOT
the folder of kernels and images, where it is not in there   CACHE
other files in the folder for temporary files                TMP/...
this user's home, /home/NAME, and what is in /root           HOME
the host that mds-survey says it runs on                     HOST
IPv4, IPv6, and hardware addresses                           IP, MAC
user and password before the host of an address              USER
names of this machine and of further ones, the user's name   HOST, USER

A path loses its first slashes with it where it had some, and begins where a path does: /var/tmp is not
the folder for temporary files. A home may have a space, written as in a shell or in /proc/mounts too.

Names are found in capitals or not, between whatever is no letter and no digit: MDS1, mds1-ib0,
run_alice. A name that ends with a letter may have a number behind it (alice2 is USER2); mds12 is
another machine than mds1. A host's domain goes with it, and so do other hosts of that domain. A name
of fewer than four characters, or one that tools print on any machine (TOOL_WORDS), is a name only
in user@host and in what uname -a says, else `vm` would spoil vm.dirty_ratio. root and localhost stay.

Four numbers with dots are a version where `version`, `release` or `v` comes before them or where they
are joined to a name, else an address. An IPv6 address is one of 2000::/3, fc00::/7 or fe80::/10.
Addresses that every machine has (127.0.0.1, 0.0.0.0) stay.

A sealed output (lockscale.tools.seal) is sealed again.
"""

import contextlib
import getpass
import gzip
import ipaddress
import re
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import sync_folder, write_bytes
from lockscale.measure.resume import state_of
from lockscale.measure.rows import keep_hash, refuse_changed
from lockscale.measure.run_folder import Run, read_provenance
from lockscale.scratch import scratch_folder
from lockscale.tools.seal import seal, unseal

_WORDS = """
access acquire acquired activity actual actually address after allocation allocations amean attributes
available average balance base because behavior bins bitmap blames block blocks boot bound branch
branches bread brelse btrfs build built builtin byte bytes cache call callchain callee caller cannot
capabilities caused centos changed child clat clients clock close closes collect collection comm command
commit commits common complete completion concurrently config consider container containers contended
contention context controllers core count counter cpus creat create creating creation creations cross
cstime cutime cycles data debian debug default delayed deleted depth dest destroy device difference
directories directory dirent dirty disk down dquot drop duration during elapsed elsp enable encrypted
entries entry error errors event events evict exceeded exit ext4 extended falloc fallocate fallocate2
false faults fedora file filecreate filedelete filename filenum files filesize filestat filesystem filp
find finish finished first flag forked format found frags free from fsload ftrace func funccost function
futex getblk global group groupid groups guest handle handler head header heavy here histogram hits
hmean home host huawei hwframe idle ihold iloc inconsistency ineligible info init inode inodes
instructions insufficient invalid iodepth ioengine iops iput irqentry irqsave items iteration iterations
jbd2 jobname jobnum jobs journal journalling just kallsyms kbytes kernbench kernel kthread kunpeng
latency launched ldiskfs level libc lifetime limit line linear link linux list located lock locked
lockless lockscale long looking lookup loop loops lustre main majf mark maximum mballoc mdt0000 mdt0001
mdtest mean measurement memory memset merges metadata metric microbenchmark migrations minf minute
misses mode module modules monotonic most msec name netperf newidle node nodemap nohz nondir nrfiles
number numbers numblks numjobs objects observation octave open openat openat2 openfiles operation
operations optim optimize options orig orphan output overhead page pages pair pairs parallel parent
patch patched path pcnt percent percentile perf phase phases pinned please pollwake print proc process
processes procs program projected psync python3 qemu queue queued quota ramdisk randrw range rank ranks
rate read ready reaim reasons received recently reclaimable reduce release removal remove rename renamed
reporting reserve resetpcpu resize result retry rocky root running runs runtime rwsem samples sata save
saverankperformancedetails scale scan sched schedule scratch sda1 search searches second seconds sectors
separate sequence server session sha256 short showrankstatistics shrinker shrunk size skel slat slowest
slowpath softirqs some spin spinlock stack stacktrace start started starting stat stats stddev stress
submit such summary supported survey swap switch switches symbol symbols symsrc sync syscall sysfs syst
system systime target task tasks test testcase testing tests thread threads thrhi thrlo thus tick ticks
time timer timers times timestamp tmpfs tool tools total tree trim true truncate truncating trusted
turned type ubuntu unit unknown unlink unlinkat unlock update usage used user using util utilized utime
v1r1 value vanilla variance vdso version vmlinux wait wake warm warmup warning while will window with
without worker workers workfile workload write xattr xeon
"""

TOOL_WORDS = frozenset(_WORDS.split())
STAY = {"", "root", "localhost", "localhost.localdomain"}
SHORTEST_NAME = 4
_END = r"(?![\w.-])"
_SPACE = r"(?: |\\ |\\040)"
_HOME = rf"/(?:home/[\w.@+-]+(?:{_SPACE}[^\W\d_]+(?=/))?|root(?=/))"
_IPV4 = r"(?<![\w.-])(?<!version )(?<!version: )(?<!release )(?<!\bv )\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)"
_IPV6 = r"(?<![\w:.])(?:[23][\da-f]{3}|f[cde][\da-f]{2})(?::[\da-f]{0,4}){2,7}(?![\w:]|\.\d)"
_MAC = r"(?<![\w:])[\da-f]{2}(?::[\da-f]{2}){5,19}(?![\w:])"
_DOMAIN = r"(?:(?:\.[a-z][a-z0-9-]*){2,}|\.(?:local|lan|internal|localdomain)(?![\w-]))?"


def scrub(text: str, hosts: Sequence[str] = ()) -> str:
    """`text` by the rule above; a text that has been scrubbed stays as it is.

    hosts: further machines' names or addresses, which are to read HOST as well.
    """
    body, whole = unseal(text)
    clean = _scrub_names(_scrub_addresses(_scrub_paths(body), hosts), hosts)
    return seal(clean) if whole else clean


def _scrub_paths(text: str) -> str:
    text = re.sub(r"virtme\.exec=`[^`]*`", "virtme.exec=`GUEST`", text)  # base64 of such a path
    temporary = re.escape(tempfile.gettempdir().lstrip("/"))
    text = re.sub(rf"(?<![\w.-])/*{temporary}/lockscale-guest-\w+", "GUEST", text)
    text = re.sub(rf"(?<![\w.-])/*{re.escape(str(paths.ROOT).lstrip('/'))}{_END}", "ROOT", text)
    text = re.sub(rf"(?<![\w.-])/*{re.escape(str(paths.CACHE).lstrip('/'))}{_END}", "CACHE", text)
    text = re.sub(rf"(?<![\w./-])/*{temporary}/", "TMP/", text)
    home = str(Path.home()).strip("/")
    if "/" in home:  # not root's: /root is also a place to mount on
        own = re.escape(home).replace(r"\ ", _SPACE)
        text = re.sub(rf"(?<![\w.-])/*{own}{_END}", "HOME", text)
    return re.sub(rf"(?<![\w./-])/*{_HOME}{_END}", "HOME", text)


def _scrub_addresses(text: str, hosts: Sequence[str]) -> str:
    for host in filter(_is_address, hosts):
        behind = r"[\w:]" if ":" in host else r"\w|\.\d"  # behind IPv4's colon is a port
        text = re.sub(rf"(?i)(?<![\w.:]){re.escape(host)}(?!{behind})", "HOST", text)
    text = re.sub(r"(?<=://)[^\s/@\"']+@(?=[\w\[])", "USER@", text)
    text = re.sub(_MAC, "MAC", text, flags=re.IGNORECASE)
    return re.sub(f"{_IPV4}|{_IPV6}", _hidden, text, flags=re.IGNORECASE)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _hidden(found: re.Match[str]) -> str:
    if not _is_address(found[0]):
        return found[0]
    address = ipaddress.ip_address(found[0])
    return found[0] if address.is_loopback or address.is_unspecified else "IP"


def _scrub_names(text: str, others: Sequence[str]) -> str:
    text = re.sub(r"(?m)^(.*/mds-survey from )\S+$", r"\1HOST", text)
    whole = {socket.gethostname(), socket.getfqdn(), *others} - STAY
    hosts = {name for name in whole if not _is_address(name)}
    for domain in {".".join(name.split(".")[-2:]) for name in hosts if name.count(".") > 1}:
        text = re.sub(rf"(?i)(?<![\w.-])(?:[\w-]+\.)*{re.escape(domain)}(?![\w-])", "HOST", text)
    for name in _longest_first({*hosts, *(name.partition(".")[0] for name in hosts)}):
        text = re.sub(_host(name), "HOST", text, flags=re.IGNORECASE)
    with contextlib.suppress(KeyError, OSError):  # of a user without an entry, as in some containers
        for name in _longest_first({getpass.getuser()}):
            text = re.sub(_user(name), "USER", text, flags=re.IGNORECASE)
    return text


def _longest_first(names: set[str]) -> list[str]:
    return sorted((name for name in names if name.lower() not in STAY), key=lambda name: (-len(name), name))


def _is_plain(name: str) -> bool:
    """Whether the name could be anything but a name: it is short, or a word of the tools."""
    return len(name) < SHORTEST_NAME or name.lower() in TOOL_WORDS


def _word(name: str) -> str:
    """`name` between whatever is no letter and no digit, but for a number behind a last letter."""
    behind = r"[^\W_]" if name[-1].isdigit() else r"[^\W\d_]"
    return rf"(?<![^\W_]){re.escape(name)}(?!{behind})"


def _host(name: str) -> str:
    word = _word(name)
    return rf"(?:(?<=\w@)|(?<=\bLinux )(?=\S+ \d)){word}{_DOMAIN}" if _is_plain(name) else word + _DOMAIN


def _user(name: str) -> str:
    return _word(name) + (r"(?=@[a-z])" if _is_plain(name) else "")


_ROWS = ("rows.csv", "provenance.json")
KEPT = (
    "raw/*/*.gz",
    "tables/*.csv",
    *(f"{apart}/{name}" for apart in ("base", "unpatched", "observed") for name in _ROWS),
    "prediction.json",
    "study.json",
    *_ROWS,
)
MAX_FILE_BYTES = 2_000_000


def curate(run: Run) -> Path:
    """Copy what is worth keeping of `run` into data/measured/<run>, scrubbed; the folder's path.

    Raises BadInput for a run without all of its rows, or of no kernels of ours: notebooks 06 to 08 compare
    those.
    """
    if not run.rows.is_file():
        raise BadInput(f"run {run.id} has no rows.csv: finish measuring before you keep it")
    if state_of(run) == "running":  # its counts come after its rates
        raise BadInput(f"run {run.id} is still running: keep it once it has ended")
    for journal in sorted(run.folder.glob(f"*/{run.journal.name}")):
        if not journal.with_name(run.rows.name).is_file():
            raise BadInput(
                f"run {run.id} has done only some steps of {journal.parent.name}, which would not be kept: "
                f"finish it first with `lockscale study resume {run.id}`"
            )
    if not read_provenance(run.folder)["kernels"]:
        raise BadInput(
            f"run {run.id} has no kernels of arms, because it measured the kernel that was running: "
            f"data/measured is only for runs that compare arms, so leave this one where it is"
        )
    into = paths.MEASURED / run.id
    tables = [name for name in KEPT if name.endswith("rows.csv") and (run.folder / name).is_file()]
    for table in tables:
        refuse_changed(run.folder / table)
    found = [path for pattern in KEPT for path in sorted(run.folder.glob(pattern))]
    # refused before one is written
    contents = {path.relative_to(run.folder): _scrubbed(path) for path in found}
    if run.prediction in found and contents[Path(run.prediction.name)] != run.prediction.read_bytes():
        raise BadInput(
            f"{run.prediction} has a path of this machine or a name that must not leave it, and may not be "
            "changed any more: let the study's whatif say what it used without them, and start a new run"
        )
    into.parent.mkdir(parents=True, exist_ok=True)
    # whole or absent, wherever we are killed and for whoever reads meanwhile
    with scratch_folder("keep", into.parent) as room:
        for name, content in contents.items():
            write_bytes(room / run.id / name, content)
        for table in tables:
            keep_hash(room / run.id / table)  # scrubbed, they may be others
        if into.exists():
            into.rename(room / "before")
        (room / run.id).rename(into)
        sync_folder(into.parent)
    return into


def _scrubbed(path: Path) -> bytes:
    content, is_packed = path.read_bytes(), path.suffix == ".gz"
    clean = scrub((gzip.decompress(content) if is_packed else content).decode()).encode()
    clean = gzip.compress(clean, mtime=0) if is_packed else clean
    if len(clean) > MAX_FILE_BYTES:
        raise BadInput(f"{path} is larger than 2 MB: to keep a run, use fewer iterations or points")
    return clean
