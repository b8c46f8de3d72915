# SPDX-License-Identifier: MIT
"""fsload as its tests run it, and a library that listens to its calls; compiled once."""

import itertools
import os
import subprocess
import time

import pytest
from fsload_process import own_cgroup

from lockscale.tools import fsload

FOREVER = 10**8

# Writes the calls that change a file to $SPY_LOG as lines of `call names-or-numbers`; with SPY_JUMPS set,
# without truncations by one byte. It spoils a run on demand:
# FAKE_CLOCK  time passes only in rename(): the k-th of a process, from 0, takes 1 + (7919 k mod 5003)^2 ns
# SLOW_SIGNAL a process that sends a signal sleeps for that many microseconds
# SLOW_FORK   a process that starts another sleeps for that many microseconds
# NO_ENTRY    a write of one byte fails, which is how a process enters a cgroup
SPY = r"""
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))
static long long fake_ns = 1000000000;
static const char *name_of(const char *path) { return strrchr(path, '/') + 1; }
static void say(const char *format, ...)
{
	static FILE *log;
	va_list values;
	if (!getenv("SPY_LOG"))
		return;
	if (!log)
		log = fopen(getenv("SPY_LOG"), "ae");
	va_start(values, format);
	vfprintf(log, format, values);
	va_end(values);
	fflush(log);
}
int open(const char *path, int flags, ...)
{
	va_list values;
	mode_t mode;
	va_start(values, flags);
	mode = va_arg(values, mode_t);
	va_end(values);
	say("open %s %d\n", name_of(path), flags & O_CREAT ? 1 : 0);
	return REAL(open)(path, flags, mode);
}
int creat(const char *path, mode_t mode)
{
	say("creat %s %o\n", name_of(path), mode);
	return REAL(creat)(path, mode);
}
int ftruncate(int fd, off_t size)
{
	static off_t before;
	if (!getenv("SPY_JUMPS") || size != before - 1)
		say("ftruncate %ld\n", size);
	before = size;
	return REAL(ftruncate)(fd, size);
}
int fallocate(int fd, int mode, off_t at, off_t size)
{
	say("fallocate %d %ld %ld\n", mode, at, size);
	return REAL(fallocate)(fd, mode, at, size);
}
int unlink(const char *path) { say("unlink %s\n", name_of(path)); return REAL(unlink)(path); }
int rename(const char *from, const char *to)
{
	static long k;
	long long root = 7919 * k++ % 5003;
	fake_ns += 1 + root * root;
	say("rename %s %s\n", name_of(from), name_of(to));
	return REAL(rename)(from, to);
}
int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!getenv("FAKE_CLOCK"))
		return REAL(clock_gettime)(clock, now);
	*now = (struct timespec){ fake_ns / 1000000000, fake_ns % 1000000000 };
	return 0;
}
ssize_t write(int fd, const void *bytes, size_t count)
{
	errno = EACCES;
	return getenv("NO_ENTRY") && count == 1 ? -1 : REAL(write)(fd, bytes, count);
}
pid_t fork(void)
{
	pid_t child = REAL(fork)();
	if (child > 0 && getenv("SLOW_FORK"))
		usleep(atoi(getenv("SLOW_FORK")));
	return child;
}
int kill(pid_t pid, int signal)
{
	int result = REAL(kill)(pid, signal);
	if (getenv("SLOW_SIGNAL"))
		usleep(atoi(getenv("SLOW_SIGNAL")));
	return result;
}
"""


@pytest.fixture(scope="session")
def executable(tmp_path_factory):
    return fsload.build(tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="session")
def spy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spy")
    (folder / "spy.c").write_text(SPY)
    argv = ["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", folder / "spy.so", folder / "spy.c", "-ldl"]
    subprocess.run(argv, check=True)
    return folder / "spy.so"


def _files(folder):
    """Of a load, as far as one asks: to list all of a folder that grows may never end."""
    with os.scandir(folder) as entries:
        for one in entries:
            if one.is_dir():
                yield from _files(one.path)
            elif one.name.startswith("file."):
                yield one


@pytest.fixture
def start(executable, tmp_path):
    """Starts a run that lasts until it is ended, once all its workers have their files."""
    processes = []

    def started(test="truncate_orphan", signals="--default-signal", **options):
        if "seconds" not in options:
            options.setdefault("items", FOREVER)
        argv = fsload.command(executable, str(tmp_path), test=test, **options)
        process = subprocess.Popen(
            ["env", signals, *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        workers = options.get("processes") or options["threads"]
        while len(list(itertools.islice(_files(tmp_path), workers))) < workers:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        return process

    yield started
    for process in processes:  # that a failed test left
        if process.poll() is None:
            process.terminate()
        process.communicate()


@pytest.fixture
def cgroups():
    """The cgroup in which fsload makes those of its containers; none of them stays."""
    folder = own_cgroup()
    if not (folder and os.access(folder, os.W_OK)):
        pytest.skip("no cgroup v2 that this user may write: containers cannot be made")
    yield folder
    assert not list(folder.glob("fsload.*"))
