/* SPDX-License-Identifier: MIT */
/* Between the command line, the workers, what they work in, and the report. */
#ifndef RUNNER_H
#define RUNNER_H

#include "fsload.h"

#include <pthread.h>
#include <signal.h>

struct shared {
	pthread_barrier_t barrier;
	atomic_bool stop;    /* the seconds are over */
	pid_t clock_keeper;  /* who is told that a phase starts; 0 without --seconds */
	atomic_bool begun;   /* and it has: a SIGUSR1 without it is somebody else's */
	struct worker workers[];
};

struct run {
	const struct testcase *test;
	const char *dir;
	long workers;
	bool threads;        /* workers are threads of one process, or of one per container */
	long containers;     /* 0: none */
	long items;          /* LONG_MAX with --seconds */
	double seconds;      /* 0: until the items are done */
	bool pin, latency;
	int first, last;     /* phases, inclusive */
	pid_t pid;
	struct shared *shared;
	struct histogram *histograms; /* a phase's are together, one for each worker */
	char cgroup[PATH_MAX];        /* fsload's own, in which it makes its containers' */
	char controllers[256];        /* of the containers, separated by spaces */
};

static inline long processes_of(const struct run *run)
{
	return !run->threads ? run->workers : run->containers ? run->containers : 1;
}

static inline long groups_of(const struct run *run)
{
	return run->containers ? run->containers : 1;
}

static inline struct histogram *latencies_of(const struct run *run, int phase, long worker)
{
	return &run->histograms[phase * run->workers + worker];
}

/* Makes what the run works in, runs the phases, clears up; 0, or what report_error() returned. */
int run_test(struct run *run);

/* Waits for the processes that were started; the first that fails, or a signal, ends all. */
int watch(struct run *run);
void block_watched_signals(sigset_t *before);
void unblock_watched_signals(const sigset_t *before);
void kill_workers(struct run *run);

int make_directories(const struct run *run);
int remove_directories(const struct run *run);
/* Whatever is in the directories that this run made goes, and they too. */
void undo_directories(const struct run *run);

/* A cgroup v2 for each container, below fsload's own; nothing without containers. */
int make_cgroups(struct run *run);
int enter_cgroup(const struct run *run, int container);
void remove_cgroups(const struct run *run);

int print_run(const struct run *run);

/* Prints one JSON line on stderr and returns status, for `return report_error(1, ...)`. */
int report_error(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
