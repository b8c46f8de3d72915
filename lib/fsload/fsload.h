/* SPDX-License-Identifier: MIT */
/*
 * What a test case sees of the runner. A test case is one file: a description and its phases.
 * The runner forks the processes, lines them up at a barrier before each phase, and times the
 * phase's run() in every process with CLOCK_MONOTONIC.
 */
#ifndef FSLOAD_H
#define FSLOAD_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#define FSLOAD_VERSION "0.1.0"
#define MAX_PHASES 4

struct timing {
	int64_t ready_ns; /* at the barrier, before waiting */
	int64_t start_ns;
	int64_t end_ns;
	long count;
};

/* One process. It lives in memory shared with the parent, on cache lines of its own. */
struct worker {
	int process;
	pid_t pid;
	long items;
	long done;          /* items of the phase that is running */
	size_t name_at;     /* where the item's number goes in path */
	int error;          /* errno of the call that failed, 0 when all is well */
	const char *failed; /* that call's name */
	struct timing timing[MAX_PHASES];
	char path[PATH_MAX];
} __attribute__((aligned(128)));

/* Does the work and counts it in worker->done; returns 0, or fail(). No output, no allocation. */
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
	struct phase phases[MAX_PHASES + 1];
};

/* Path of one item in this process's directory; valid until the next call. */
const char *item_path(struct worker *worker, long item);

/* Notes errno and the name of the call that failed; returns -1. */
int fail(struct worker *worker, const char *call);

/* A last phase: unlinks every item of this process. */
int remove_items(struct worker *worker);

extern const struct testcase append_files, create_unlink, fallocate2, truncate_orphan;

#endif
