/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock that QEMU sees, by preloading this file: CLOCK_MONOTONIC is the time that all CPUs have
 * reached, and a guest's RDTSC is the time of the CPU that reads it, in nanoseconds. When all CPUs are
 * idle the clock jumps to the next timer, but not while a request to the host is in flight. When a timer
 * is due the CPUs wait until QEMU's main loop has seen to it, so it fires at its virtual time.
 */
#include "machine.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STARVED_NS 5000000000ull /* the main loop did not run for so long while CPUs waited for it */
#define OUTSIDE_PACE 64 /* outside sections idle time passes this much faster than real time */
#define MOST_FDS 2048

_Atomic uint64_t clock_ps = 1000 * MS, deadline_ps = NEVER;
_Atomic uint64_t idle_jumps, held_jumps, late_timers;

static _Atomic int polling; /* counts entries, odd while inside */
static _Atomic int stirred_at = -1; /* `polling` when the vCPU thread last told the main loop something */
static int wake_fd = -1;
static int (*real_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
static ssize_t (*real_write)(int, const void *, size_t);

/* Other libraries may start before this one. */
static void find_real(void)
{
	if (real_write)
		return;
	real_ppoll = dlsym(RTLD_NEXT, "ppoll");
	real_write = dlsym(RTLD_NEXT, "write");
	if (!real_ppoll || !real_write)
		abort();
}

uint64_t real_ns(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

EXPORTED int clock_gettime(clockid_t id, struct timespec *to)
{
	uint64_t ns;

	if (id != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, id, to);
	if (on_vcpu_thread())
		bring_clock_up();
	ns = atomic_load_explicit(&clock_ps, memory_order_relaxed) / 1000;
	to->tv_sec = (time_t)(ns / 1000000000);
	to->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

EXPORTED int gettimeofday(struct timeval *restrict to, void *restrict zone)
{
	return (int)syscall(SYS_gettimeofday, to, zone);
}

/* RDTSC faults everywhere in this process: only a guest's reading is left, the rest asks the kernel. */
static void read_tsc(int number, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *code = (const uint8_t *)reg[REG_RIP];
	const bool rdtsc = code[0] == 0x0f && code[1] == 0x31;
	const bool rdtscp = code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9;
	uint64_t ns;

	(void)info;
	if (!rdtsc && !rdtscp) {
		signal(number, SIG_DFL);
		return;
	}
	ns = atomic_load_explicit(&clock_ps, memory_order_relaxed);
	if (on_vcpu_thread() && machine.current >= 0 && machine.cpu[machine.current].state == RUNS)
		ns = now_of(&machine.cpu[machine.current]);
	ns /= 1000;
	reg[REG_RAX] = (greg_t)(ns & 0xffffffff);
	reg[REG_RDX] = (greg_t)(ns >> 32);
	reg[REG_RIP] += rdtsc ? 2 : 3;
}

__attribute__((constructor)) static void take_over_the_clock(void)
{
	struct sigaction action = { .sa_sigaction = read_tsc, .sa_flags = SA_SIGINFO | SA_NODEFER };

	find_real();
	wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	sigaction(SIGSEGV, &action, NULL);
	if (wake_fd < 0 || prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) {
		fputs("manycore: this system does not let a process have its own clock\n", stderr);
		_exit(1);
	}
}

static void futex(_Atomic int *word, int operation, int value, const struct timespec *limit)
{
	syscall(SYS_futex, word, operation, value, limit, NULL, 0);
}

void wake_main_loop(void)
{
	const uint64_t one = 1;

	real_write(wake_fd, &one, sizeof(one));
}

/* The vCPU thread tells the main loop something (a timer was armed, a queue was kicked) by writing. */
EXPORTED ssize_t write(int fd, const void *from, size_t bytes)
{
	ssize_t done;

	find_real();
	done = real_write(fd, from, bytes);
	if (bytes == 8 && on_vcpu_thread()) {
		atomic_store(&stirred_at, atomic_load(&polling));
		end_turn_soon();
	}
	return done;
}

bool main_loop_is_behind(void)
{
	return atomic_load(&clock_ps) >= atomic_load(&deadline_ps) || atomic_load(&stirred_at) >= 0;
}

/* Wait, in a CPU's turn, until the main loop has seen to what is due and polls again. */
void let_main_loop_run(void)
{
	const uint64_t from = real_ns();
	const struct timespec limit = { 0, 50000000 };

	while (main_loop_is_behind()) {
		const int entered = atomic_load(&polling);

		if (main_loop_waits())
			return;
		if (real_ns() - from > STARVED_NS) {
			atomic_fetch_add(&late_timers, 1);
			atomic_store(&stirred_at, -1);
			atomic_store(&deadline_ps, NEVER);
			return;
		}
		if (entered & 1)
			wake_main_loop();
		futex(&polling, FUTEX_WAIT, entered, &limit);
	}
}

/* Whether another thread of QEMU works: then a request to the host is in flight. */
static bool host_works(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	bool works = false;

	while (tasks && !works && (entry = readdir(tasks))) {
		char path[64], text[128] = "";
		const int id = atoi(entry->d_name);
		const char *state;
		int fd;

		if (!id || id == thread_id() || id == vcpu_thread_id())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", id);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (read(fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		close(fd);
		state = strrchr(text, ')');
		works = state && (state[2] == 'R' || state[2] == 'D');
	}
	if (tasks)
		closedir(tasks);
	return works;
}

/* How long to poll: until something happens, or a while when the clock has to wait for real time. */
static uint64_t may_jump(uint64_t since_real, uint64_t from_ps, uint64_t until_ps)
{
	uint64_t real = real_ns() - since_real, needed;

	if (host_works()) {
		atomic_fetch_add(&held_jumps, 1);
		return 50000;
	}
	needed = machine.priced ? 0 : (until_ps - from_ps) / 1000 / OUTSIDE_PACE;
	return real >= needed ? 0 : needed - real;
}

static uint64_t in_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000ull + (uint64_t)time->tv_nsec;
}

/* The vCPU thread need not wait for the main loop any more, or looks again whether it has to. */
void let_vcpus_go(void)
{
	futex(&polling, FUTEX_WAKE, 1, NULL);
}

static void heard(void)
{
	atomic_store(&stirred_at, -1);
	futex(&polling, FUTEX_WAKE, 1, NULL);
}

/* A word from the vCPU thread is seen to when the main loop, after it, left a poll and polls again. */
static void seen_to(int entered)
{
	const int since = atomic_load(&stirred_at);

	if (since >= 0 && entered >= (since | 1) + 2)
		heard();
	else
		futex(&polling, FUTEX_WAKE, 1, NULL);
}

static int leave_poll(int result)
{
	atomic_fetch_add(&interrupts, 1);
	atomic_fetch_add(&polling, 1);
	return result;
}

static int poll_in_virtual_time(struct pollfd *fds, nfds_t count, const sigset_t *mask)
{
	struct pollfd more[MOST_FDS];
	const uint64_t since = real_ns(), from = atomic_load(&clock_ps);
	const uint64_t until = atomic_load(&deadline_ps);
	struct timespec limit = { 0, 0 };
	bool sure = false; /* nothing was ready after no request was found in flight */

	seen_to(atomic_load(&polling));
	memcpy(more, fds, count * sizeof(*fds));
	more[count] = (struct pollfd){ .fd = wake_fd, .events = POLLIN };
	for (;;) {
		int ready = real_ppoll(more, count + 1, &limit, mask);
		uint64_t drained, wait = 1000000000;

		if (ready < 0)
			return leave_poll(ready);
		if (more[count].revents && ready--)
			while (read(wake_fd, &drained, sizeof(drained)) > 0)
				;
		if (ready) {
			memcpy(fds, more, count * sizeof(*fds));
			return leave_poll(ready);
		}
		heard(); /* its word was for none of these files */
		if (atomic_load(&clock_ps) >= until)
			break;
		if (all_cpus_sleep() && until != NEVER) {
			const bool again = sure;

			wait = may_jump(since, from, until);
			sure = !wait;
			if (!wait && again && all_cpus_sleep()) {
				atomic_store(&clock_ps, until);
				atomic_fetch_add(&idle_jumps, 1);
				break;
			}
		}
		limit = (struct timespec){ (time_t)(wait / 1000000000), (long)(wait % 1000000000) };
	}
	for (nfds_t k = 0; k < count; k++)
		fds[k].revents = 0;
	return leave_poll(0);
}

EXPORTED int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
	const uint64_t want_ns = limit ? in_ns(limit) : NEVER;

	find_real();
	atomic_fetch_add(&interrupts, 1); /* whatever the main loop did since its last poll */
	if (thread_id() != getpid() || !vcpu_thread_id() || !want_ns || count >= MOST_FDS)
		return real_ppoll(fds, count, limit, mask);
	atomic_store(&deadline_ps, want_ns > NEVER / 2000 ? NEVER : atomic_load(&clock_ps) + want_ns * 1000);
	atomic_fetch_add(&polling, 1);
	return poll_in_virtual_time(fds, count, mask);
}
