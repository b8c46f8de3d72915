/* SPDX-License-Identifier: MIT */
/* The processes of a run: their directories, the barrier between them, their end. */
#include "runner.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int fail(struct worker *worker, const char *call)
{
	worker->error = errno;
	worker->failed = call;
	return -1;
}

int remove_items(struct worker *worker)
{
	for (worker->done = 0; worker->done < worker->items; worker->done++)
		if (unlink(item_path(worker, worker->done)))
			return fail(worker, "unlink");
	return 0;
}

const char *item_path(struct worker *worker, long item)
{
	char digits[20];
	char *to = worker->path + worker->name_at;
	int n = 0;

	do
		digits[n++] = (char)('0' + item % 10);
	while (item /= 10);
	while (n)
		*to++ = digits[--n];
	*to = '\0';
	return worker->path;
}

/* The names are mdtest's, so that lookups cost the same. room: left for the item's number. */
static int name_worker(const struct run *run, struct worker *worker, int process)
{
	const int room = 20;
	int length = snprintf(worker->path, sizeof(worker->path),
			      "%s/test-dir.0-0/mdtest_tree.%d.0/file.mdtest.%d.", run->dir, process,
			      process);

	worker->process = process;
	worker->items = run->items;
	worker->name_at = (size_t)length;
	return length < (int)sizeof(worker->path) - room ? 0 : -1;
}

/* level 0: D/test-dir.0-0; level 1: the process's directory in it. */
static const char *directory(struct worker *worker, int level)
{
	static char path[PATH_MAX];

	memcpy(path, worker->path, sizeof(path));
	for (int up = 0; up < 2 - level; up++)
		*strrchr(path, '/') = '\0';
	return path;
}

/* Removes the directories of the first `made` processes and the one above; -1 if one stays. */
static int remove_directories(struct run *run, long made)
{
	int failed = 0;

	while (made--)
		failed |= rmdir(directory(&run->shared->workers[made], 1));
	return failed | rmdir(directory(&run->shared->workers[0], 0));
}

static int make_directories(struct run *run)
{
	struct worker *workers = run->shared->workers;
	const char *path = directory(&workers[0], 0);

	if (mkdir(path, 0775))
		return report_error(1, "cannot make %s: %s%s", path, strerror(errno),
				    errno == EEXIST ? "; remove what an earlier run left" : "");
	for (long p = 0; p < run->processes; p++) {
		path = directory(&workers[p], 1);
		if (mkdir(path, 0775)) {
			int result = report_error(1, "cannot make %s: %s", path, strerror(errno));

			remove_directories(run, p);
			return result;
		}
	}
	return 0;
}

/* A run failed that made its directories: whatever is in them goes. */
static void undo(struct run *run)
{
	for (long p = 0; p < run->processes; p++) {
		DIR *files = opendir(directory(&run->shared->workers[p], 1));
		struct dirent *file;

		while (files && (file = readdir(files)))
			unlinkat(dirfd(files), file->d_name, 0);
		if (files)
			closedir(files);
	}
	remove_directories(run, run->processes);
}

static void work(struct run *run, struct worker *worker)
{
	item_path(worker, 0); /* the shared pages fault in here, not in the timed part */
	for (int p = run->first; p <= run->last; p++) {
		struct timing *timing = &worker->timing[p];

		timing->ready_ns = now_ns();
		pthread_barrier_wait(&run->shared->barrier);
		timing->start_ns = now_ns();
		if (run->test->phases[p].run(worker))
			_exit(1);
		timing->end_ns = now_ns();
		timing->count = worker->done;
	}
	_exit(0);
}

static void kill_workers(struct run *run)
{
	for (long p = 0; p < run->processes; p++)
		if (run->shared->workers[p].pid > 0)
			kill(run->shared->workers[p].pid, SIGKILL);
}

static int explain(struct run *run, pid_t pid, int status)
{
	struct worker *worker = run->shared->workers;

	while (worker->pid != pid)
		worker++;
	if (WIFSIGNALED(status))
		return report_error(1, "process %d was killed by signal %d", worker->process,
				    WTERMSIG(status));
	return report_error(1, "process %d: %s of %s failed: %s", worker->process, worker->failed,
			    worker->path, strerror(worker->error));
}

/* Waits for all; the first that fails ends the others, which would wait at the barrier for ever. */
static int reap(struct run *run)
{
	int result = 0, status;

	for (long left = run->processes; left; left--) {
		pid_t pid = wait(&status);

		if (pid > 0 && status && !result) {
			result = explain(run, pid, status);
			kill_workers(run);
		}
	}
	return result;
}

static int run_workers(struct run *run)
{
	pid_t parent = getpid();

	for (int p = 0; p < run->processes; p++) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() == parent)
				work(run, &run->shared->workers[p]);
			_exit(1);
		}
		if (pid < 0) {
			int result = report_error(1, "cannot start process %d: %s", p, strerror(errno));

			kill_workers(run);
			while (wait(NULL) > 0)
				;
			return result;
		}
		run->shared->workers[p].pid = pid; /* not in the child: it would write 0 here */
	}
	return reap(run);
}

static int set_up(struct run *run)
{
	size_t size = sizeof(struct shared) + (size_t)run->processes * sizeof(struct worker);
	pthread_barrierattr_t shared;

	run->shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->shared == MAP_FAILED)
		return report_error(1, "no memory for %ld processes: %s", run->processes,
				    strerror(errno));
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&run->shared->barrier, &shared, (unsigned)run->processes);
	for (int p = 0; p < run->processes; p++)
		if (name_worker(run, &run->shared->workers[p], p))
			return report_error(2, "the path given with --dir is too long");
	return 0;
}

int run_test(struct run *run)
{
	int result = set_up(run);

	if (!result && run->first == 0)
		result = make_directories(run);
	if (result)
		return result;
	result = run_workers(run);
	if (result) {
		if (run->first == 0)
			undo(run);
		return result;
	}
	if (!run->test->phases[run->last + 1].name && remove_directories(run, run->processes))
		return report_error(1, "%s is not empty after the run: %s",
				    directory(&run->shared->workers[0], 0), strerror(errno));
	return 0;
}
