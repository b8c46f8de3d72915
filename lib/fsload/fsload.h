/* SPDX-License-Identifier: MIT */
/*
 * What a test case sees of the runner. A test case is one file: a description and its phases,
 * each a function that every worker (a process or a thread) runs:
 *
 *	prepare what is not timed
 *	start_timing(worker);
 *	while (more_items(worker)) {
 *		begin_item(worker);
 *		the calls that make up an item
 *		end_item(worker);
 *	}
 *	stop_timing(worker);
 *	clear up what is not timed
 *
 * No output and no allocation between start_timing() and stop_timing().
 */
#ifndef FSLOAD_H
#define FSLOAD_H

#include "histogram.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define FSLOAD_VERSION "0.2.0"
#define MAX_PHASES 4

struct run;

struct timing {
	int64_t ready_ns; /* at the barrier, before waiting */
	int64_t start_ns;
	int64_t end_ns;
	long count;
};

/* It lives in memory shared with the parent, on cache lines of its own. */
struct worker {
	int number;
	int container;
	int home;           /* the worker in whose directory this one has its files */
	int cpu;            /* the one it is kept on, or -1 */
	pid_t pid;          /* of its process, 0 once that has ended */
	const struct run *run;
	struct timing *timing;     /* of the phase that is running */
	struct histogram *latency; /* likewise; NULL without --latency */
	const atomic_bool *stop;
	long items;         /* to do in the phase that is running */
	long done;
	int64_t began_ns;   /* the item that is running */
	size_t name_at;     /* where the item's number goes in path */
	int error;          /* errno of the call that failed, 0 when all is well */
	const char *failed; /* that call's name, or a phrase */
	bool failed_on_path;
	struct timing timings[MAX_PHASES];
	char path[PATH_MAX];
} __attribute__((aligned(128)));

/* Returns 0, or fail(). */
struct phase {
	const char *name;
	int (*run)(struct worker *worker);
};

/*
 * phases[] ends with a nameless one. The directories are made before the first phase and removed
 * after the last, so a last phase leaves no file.
 */
struct testcase {
	const char *name;
	const char *description;
	bool one_directory; /* for all workers of a container, instead of one for each */
	struct phase phases[MAX_PHASES + 1];
};

/* Waits until all workers are here. */
void start_timing(struct worker *worker);
void stop_timing(struct worker *worker);

/* Path of one file of this worker; valid until the next call. */
const char *item_path(struct worker *worker, long item);

/* Notes errno and the name of the call that failed on item_path()'s file; returns -1. */
int fail(struct worker *worker, const char *call);

/* Creates an empty file of this worker, which was not there; 0, or fail(). */
int create_file(struct worker *worker, long item, mode_t mode);

/* A last phase: unlinks every item of this worker. */
int remove_items(struct worker *worker);

static inline int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whether the phase goes on: there are items left, and time where --seconds limits it. */
static inline bool more_items(const struct worker *worker)
{
	return worker->done < worker->items &&
	       !atomic_load_explicit(worker->stop, memory_order_relaxed);
}

static inline void begin_item(struct worker *worker)
{
	if (worker->latency)
		worker->began_ns = now_ns();
}

static inline void end_item(struct worker *worker)
{
	if (worker->latency)
		count_latency(worker->latency, now_ns() - worker->began_ns);
	worker->done++;
}

extern const struct testcase append_files, creat_clo, create_unlink, fallocate2, open_close,
	rename_own_dir, truncate_orphan;

#endif
