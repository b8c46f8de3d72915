/* SPDX-License-Identifier: MIT */
/* Between the command line (fsload.c) and the processes (runner.c). */
#ifndef RUNNER_H
#define RUNNER_H

#include "fsload.h"

#include <pthread.h>

struct shared {
	pthread_barrier_t barrier;
	struct worker workers[];
};

struct run {
	const struct testcase *test;
	const char *dir;
	long processes;
	long items;
	int first, last; /* phases, inclusive */
	struct shared *shared;
};

int64_t now_ns(void);

/* Prints one JSON line on stderr and returns status, for `return report_error(1, ...)`. */
int report_error(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes the directories, runs the phases, clears up; 0, or what report_error() returned. */
int run_test(struct run *run);

#endif
