/* SPDX-License-Identifier: MIT */
/* The processes and threads of a run: what they share, their start, what is left of them. */
#include "runner.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CPUS 8192 /* no architecture's CONFIG_NR_CPUS is greater */

static int fail_at_start(struct worker *worker, const char *what)
{
	worker->error = errno;
	worker->failed = what;
	return -1;
}

static int keep_on_cpu(int cpu)
{
	cpu_set_t cpus[MAX_CPUS / CPU_SETSIZE];

	CPU_ZERO_S(sizeof(cpus), cpus);
	CPU_SET_S(cpu, sizeof(cpus), cpus);
	return sched_setaffinity(0, sizeof(cpus), cpus);
}

/* Whatever a phase touches is touched here, so that no page faults in its timed part. */
static void begin_phase(struct worker *worker, int phase)
{
	static const atomic_bool never;
	const struct run *run = worker->run;
	const bool first = phase == run->first;

	worker->timing = &worker->timings[phase];
	worker->stop = first ? &run->shared->stop : &never;
	worker->items = first || !run->seconds ? run->items : worker->timings[run->first].count;
	worker->done = 0;
	if (run->latency) {
		worker->latency = latencies_of(run, phase, worker->number);
		memset(worker->latency, 0, sizeof(*worker->latency));
	}
	item_path(worker, 0);
}

/* A failure ends the process: what the others of it do is worth nothing now. */
static void *work(void *argument)
{
	struct worker *worker = argument;
	const struct run *run = worker->run;

	if (worker->cpu >= 0 && keep_on_cpu(worker->cpu)) {
		fail_at_start(worker, "sched_setaffinity");
		_exit(1);
	}
	for (int phase = run->first; phase <= run->last; phase++) {
		begin_phase(worker, phase);
		if (run->test->phases[phase].run(worker))
			_exit(1);
	}
	return NULL;
}

static void run_threads(struct worker *workers, long count)
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));

	for (long t = 0; t < count; t++) {
		errno = threads ? pthread_create(&threads[t], NULL, work, &workers[t]) : ENOMEM;
		if (errno) {
			fail_at_start(&workers[t], "pthread_create");
			_exit(1);
		}
	}
	for (long t = 0; t < count; t++)
		pthread_join(threads[t], NULL);
	free(threads);
}

/* A process of its own: its first worker, and with --threads those that follow. */
static void run_process(struct worker *first)
{
	const struct run *run = first->run;

	if (run->containers && enter_cgroup(run, first->container)) {
		fail_at_start(first, "the write to cgroup.procs");
		_exit(1);
	}
	if (run->threads)
		run_threads(first, run->workers / processes_of(run));
	else
		work(first);
	_exit(0);
}

static int run_workers(struct run *run)
{
	const long each = run->workers / processes_of(run);

	for (struct worker *first = run->shared->workers;
	     first < &run->shared->workers[run->workers]; first += each) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() == run->pid)
				run_process(first);
			_exit(1);
		}
		if (pid < 0) {
			int result = report_error(1, "cannot start process %d: %s", first->number,
						  strerror(errno));

			kill_workers(run);
			while (wait(NULL) > 0)
				;
			return result;
		}
		for (long w = 0; w < each; w++)
			first[w].pid = pid; /* not in the child: it would write 0 here */
	}
	return watch(run);
}

/* room: left for the item's number. */
static int set_up_worker(const struct run *run, int number, int cpu)
{
	const int room = 20;
	const int in_group = (int)(run->workers / groups_of(run));
	struct worker *worker = &run->shared->workers[number];
	int length;

	worker->run = run;
	worker->number = number;
	worker->cpu = cpu;
	worker->container = number / in_group;
	worker->home = run->test->one_directory ? worker->container * in_group : number;
	length = snprintf(worker->path, sizeof(worker->path),
			  "%s/test-dir.%d-0/mdtest_tree.%d.0/file.mdtest.%d.", run->dir,
			  worker->container, worker->home, number);
	worker->name_at = (size_t)length;
	return length < (int)sizeof(worker->path) - room ? 0 : -1;
}

/* --pin: worker k has the k-th of the CPUs that fsload may use, again from the first if need be. */
static int set_up_workers(const struct run *run)
{
	cpu_set_t cpus[MAX_CPUS / CPU_SETSIZE];
	int cpu = -1;

	if (run->pin && sched_getaffinity(0, sizeof(cpus), cpus))
		return report_error(1, "cannot read which CPUs may be used: %s", strerror(errno));
	for (int w = 0; w < run->workers; w++) {
		if (run->pin)
			do
				cpu = (cpu + 1) % MAX_CPUS;
			while (!CPU_ISSET_S(cpu, sizeof(cpus), cpus));
		if (set_up_worker(run, w, cpu))
			return report_error(2, "the path given with --dir is too long");
	}
	return 0;
}

static int set_up(struct run *run)
{
	const size_t workers = (size_t)run->workers;
	const size_t fixed = sizeof(struct shared) + workers * sizeof(struct worker);
	const size_t bins = run->latency ? MAX_PHASES * workers * sizeof(struct histogram) : 0;
	pthread_barrierattr_t shared;

	run->pid = getpid();
	run->shared = mmap(NULL, fixed + bins, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			   -1, 0);
	if (run->shared == MAP_FAILED)
		return report_error(1, "no memory for %ld workers: %s", run->workers,
				    strerror(errno));
	run->histograms = (struct histogram *)(run->shared->workers + workers);
	run->shared->clock_keeper = run->seconds ? run->pid : 0;
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&run->shared->barrier, &shared, (unsigned)run->workers);
	return set_up_workers(run);
}

static int run_in_directories(struct run *run)
{
	int result = run->first == 0 ? make_directories(run) : 0;

	if (result)
		return result;
	result = run_workers(run);
	if (result && run->first == 0)
		undo_directories(run);
	if (!result && !run->test->phases[run->last + 1].name)
		result = remove_directories(run);
	return result;
}

int run_test(struct run *run)
{
	sigset_t before;
	int result = set_up(run);

	if (result)
		return result;
	block_watched_signals(&before);
	result = make_cgroups(run);
	if (!result) {
		result = run_in_directories(run);
		remove_cgroups(run);
	}
	unblock_watched_signals(&before);
	return result;
}
