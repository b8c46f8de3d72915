# SPDX-License-Identifier: MIT
"""A fresh Debian in a folder, whose root only we see, and what a command of ours changed there.

Run as a program in a mount namespace of its own it carries out one Trial, told and answered in JSON: nothing
is left mounted, whatever ends it. Layers are folders of overlayfs: each trial begins with a whole system.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

CLONE = "srv/lockscale"
LOOKED_AT = ("etc", "usr/sbin", "usr/lib/systemd", "tmp", "var/tmp")
# what the network needs here: where certificates are, and pip's own file
PASSED_ON = re.compile(r"(\w+_CERT|\w*CERT_FILE|\w+_CA_BUNDLE|PIP_INDEX_URL|\w+_proxy)")
NETWORK_FILES = ("etc/resolv.conf", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt")
MOVING = re.compile(  # of /proc/sys: what changes by itself, or with every process
    r"fs/(dentry-state|file-nr|inode-(nr|state)|quota/\w+|aio-nr|epoll/\w+)|kernel/(random/\w+|ns_last_pid|pty/nr|"
    r"seccomp/.*|sched_domain/.*|tainted)|net/.*(_entries|count|neigh/.*)|vm/.*stat\w*|user/.*"
)
# $1 signal, $2 seconds, then the command. timeout(1) sends the signal to each process of the command's group,
# as a terminal does. What works two minutes later is left; dpkg ends its step in that time.
INNER = """\
mount -t proc proc /proc
cd /srv/lockscale || exit 9
signal=$1 seconds=$2
shift 2
timeout --signal="$signal" "$seconds" "$@" < /dev/null > /srv/said 2>&1
echo $? > /srv/status
tries=0
while : > /srv/left; [ $tries -lt 1200 ]; do
    for folder in /proc/[0-9]*; do
        [ "$folder" = /proc/1 ] || { tr '\\000' ' ' < "$folder/cmdline"; echo; } 2> /dev/null >> /srv/left
    done
    grep -q . /srv/left || break
    tries=$((tries + 1))
    sleep 0.1
done
"""


@dataclass(frozen=True)
class Trial:
    """A command in the clone, on a system of `layers`, the lowest last, and what is written goes to `upper`.

    signal: sent after `seconds`, unless the command ended before; "" for never.
    """

    layers: tuple[str, ...]
    upper: str
    command: tuple[str, ...]
    signal: str = ""
    seconds: float = 86400


@dataclass(frozen=True)
class Found:
    """What a trial left: its exit status, whether it ended by itself, and what still works.

    strange: every file, unit, group and sysctl that is new, gone or another, and that no package brings; with
    what it is now, or "gone".
    """

    status: int
    ended_by_itself: bool
    processes: list[str]
    strange: dict[str, str]
    said: str


def carried_out(trial: Trial) -> Found:
    """In a mount namespace that ends with it."""
    argv = ["unshare", "--mount", "--propagation=private", sys.executable, __file__]
    done = subprocess.run(argv, input=json.dumps(asdict(trial)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return Found(**json.loads(done.stdout))


def make_base(root: Path, archives: str, clone_of: Path) -> None:
    """A Debian 12 with git, make and python3, a clone of ours in it, and no service running."""
    packages = "systemd-sysv,udev,dbus,cron,procps,ca-certificates,git,make,python3"
    argv = ["unshare", "--mount", "--propagation=private", "mmdebstrap", "--mode=root", "--variant=minbase"]
    argv += ["--quiet", "--dpkgopt=force-unsafe-io", "--format=directory", f"--include={packages}"]
    subprocess.run([*argv, "bookworm", str(root), "-"], input=archives, text=True, check=True)
    for name in NETWORK_FILES:
        if Path("/", name).exists():
            shutil.copy(Path("/", name), root / name)
    subprocess.run(["git", "clone", "--quiet", str(clone_of), str(root / CLONE)], check=True)


def facts(root: Path) -> dict[str, str]:
    """Files with mode and content or target, enabled units, and sysctls; by name."""
    found = {}
    for top in LOOKED_AT:
        for folder, folders, files in os.walk(root / top):
            for name in (*folders, *files):
                path = Path(folder, name)
                found[f"/{path.relative_to(root)}"] = _what(path)
    argv = ["systemctl", f"--root={root}", "list-unit-files", "--no-legend", "--no-pager"]
    units = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    found |= {f"unit {line.split()[0]}": line.split()[1] for line in units.splitlines()}
    groups = (line.split(":")[0] for line in (root / "etc/group").read_text().splitlines())
    return found | {f"group {name}": "there" for name in groups} | _sysctls()


def _what(path: Path) -> str:
    said = path.lstat()
    if stat.S_ISLNK(said.st_mode):
        return f"-> {path.readlink()}"
    mode = f"{said.st_mode:o} {said.st_uid}:{said.st_gid}"
    return (
        f"{mode} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}" if stat.S_ISREG(said.st_mode) else mode
    )


# What the scripts of packages make, whose names no list of dpkg holds.
BY_SCRIPTS = re.compile(
    r"/etc/(alternatives/.*|(group|gshadow|passwd|shadow)-?|ld\.so\.cache|rc.\.d/.*|modules|"
    r"pam\.d/common-.*|dictionaries-common/.*|fonts/conf\.d/.*)|.*\.dpkg-(new|tmp)"
)


def strange(before: dict[str, str], after: dict[str, str], root: Path) -> dict[str, str]:
    """What Found says of it. A group is a package's where one of its scripts names it."""
    info = root / "var/lib/dpkg/info"
    owned = {line for path in info.glob("*.list") for line in path.read_text().splitlines()}
    owned |= {f"/usr{path}" for path in owned if path.startswith(("/lib/", "/sbin/"))}
    scripts = "".join(path.read_text(errors="replace") for path in info.glob("*.p*inst"))
    scripts += "".join(path.read_text() for path in (root / "usr/lib/sysusers.d").glob("*.conf"))
    found = {}
    for name in sorted(before.keys() | after.keys()):
        kind, _, rest = name.partition(" ")
        is_known = name in owned or BY_SCRIPTS.fullmatch(name) or (kind == "group" and rest in scripts)
        is_off = kind == "unit" and after.get(name) not in ("enabled", "enabled-runtime")
        if before.get(name) != after.get(name) and not is_known and not is_off:
            found[name] = after.get(name, "gone")
    return found


def _sysctls() -> dict[str, str]:
    found = {}
    for path in Path("/proc/sys").rglob("*"):
        name = str(path.relative_to("/proc/sys"))
        try:
            if path.is_file() and not MOVING.match(name):
                found[f"sysctl {name}"] = path.read_text(errors="replace").strip()
        except OSError:
            continue
    return found


def _in_namespace(trial: Trial) -> Found:
    upper = Path(trial.upper)
    merged, work = upper.with_suffix(".merged"), upper.with_suffix(".work")
    for folder in (upper, merged, work):
        folder.mkdir(exist_ok=True)
    options = f"lowerdir={':'.join(trial.layers)},upperdir={upper},workdir={work}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(merged)], check=True)
    subprocess.run(["mount", "--rbind", "/dev", str(merged / "dev")], check=True)
    before = facts(merged)
    passed = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    inner = ["sh", "-c", INNER, "sh", trial.signal or "KILL", str(trial.seconds), *trial.command]
    for name in ("said", "status", "left"):
        (merged / "srv" / name).unlink(missing_ok=True)
    subprocess.run(
        ["unshare", "--pid", "--fork", "--mount", "chroot", str(merged), *inner],
        check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/",
        env={"PATH": path, "HOME": "/srv", "LANG": "C.UTF-8", **passed},
    )  # fmt: skip
    home = merged / "srv"
    status = int((home / "status").read_text())
    return Found(
        status,
        status not in (124, 137),  # timeout's own, and a shell's of KILL
        [line for line in (home / "left").read_text().splitlines() if line.strip()],
        strange(before, facts(merged), merged),
        (home / "said").read_text(errors="replace")[-4000:],
    )


if __name__ == "__main__":
    told = json.load(sys.stdin)
    told = {**told, "layers": tuple(told["layers"]), "command": tuple(told["command"])}
    json.dump(asdict(_in_namespace(Trial(**told))), sys.stdout)
