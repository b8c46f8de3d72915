/* SPDX-License-Identifier: MIT */
/* The parent while its workers run: it sleeps until one ends, a signal comes, or time is up. */
#include "runner.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* Those that end a run are not watched where the caller ignores them, as nohup does. */
static void watched_signals(sigset_t *signals)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGUSR2, SIGALRM, SIGTERM };
	struct sigaction action;

	sigemptyset(signals);
	sigaddset(signals, SIGCHLD);
	sigaddset(signals, SIGUSR1); /* start_timing(): count the seconds from here */
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (!sigaction(ends[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(signals, ends[i]);
}

void block_watched_signals(sigset_t *before)
{
	sigset_t signals;

	signal(SIGCHLD, SIG_DFL); /* else the processes of one who ignores it leave no status */
	signal(SIGPIPE, SIG_IGN); /* else nothing is cleared up when nobody reads the error */
	watched_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, before);
}

void unblock_watched_signals(const sigset_t *before)
{
	signal(SIGUSR1, SIG_IGN); /* else one from outside, come late, ends fsload unheard */
	sigprocmask(SIG_SETMASK, before, NULL);
}

/* The next watched signal, or 0 at the deadline; no deadline is 0. */
static int next_signal(int64_t deadline_ns)
{
	int64_t left = deadline_ns ? deadline_ns - now_ns() : 0;
	struct timespec wait = { .tv_sec = 0 };
	sigset_t signals;
	int signal;

	if (left > 0)
		wait = (struct timespec){ left / 1000000000, left % 1000000000 };
	watched_signals(&signals);
	do
		signal = sigtimedwait(&signals, NULL, deadline_ns ? &wait : NULL);
	while (signal < 0 && errno == EINTR);
	return signal < 0 ? 0 : signal;
}

void kill_workers(struct run *run)
{
	for (long w = 0; w < run->workers; w++)
		if (run->shared->workers[w].pid > 0)
			kill(run->shared->workers[w].pid, SIGKILL);
}

/* Of the process's workers the one that failed, else the first; NULL where the process is not of the run. */
static const struct worker *culprit(const struct run *run, pid_t pid)
{
	const struct worker *found = NULL;

	for (long w = run->workers - 1; w >= 0; w--) {
		const struct worker *worker = &run->shared->workers[w];

		if (worker->pid == pid && (!found || worker->failed || !found->failed))
			found = worker;
	}
	return found;
}

static int explain(const struct run *run, pid_t pid, int status)
{
	const struct worker *worker = culprit(run, pid);
	const char *what = run->threads ? "thread" : "process";

	if (WIFSIGNALED(status))
		return report_error(1, "%s %d was killed by signal %d", what, worker->number,
				    WTERMSIG(status));
	return report_error(1, "%s %d: %s%s%s failed: %s", what, worker->number,
			    worker->failed ? worker->failed : "starting",
			    worker->failed_on_path ? " of " : "",
			    worker->failed_on_path ? worker->path : "", strerror(worker->error));
}

/*
 * Takes the status of every process that has ended, off `left`. A shell that starts others and then execs
 * fsload leaves it children that are not of the run.
 */
static int reap(struct run *run, long *left, int result)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (!culprit(run, pid))
			continue;
		if (status && !result) {
			result = explain(run, pid, status);
			kill_workers(run);
		}
		for (long w = 0; w < run->workers; w++)
			if (run->shared->workers[w].pid == pid)
				run->shared->workers[w].pid = 0;
		--*left;
	}
	return result;
}

int watch(struct run *run)
{
	long left = processes_of(run);
	int64_t deadline_ns = 0;
	int result = 0;

	while (left) {
		int signal = next_signal(deadline_ns);

		if (signal == SIGCHLD) {
			result = reap(run, &left, result);
		} else if (signal == SIGUSR1) {
			/* Not si_pid: the kernel drops a worker's while one from outside waits. */
			if (atomic_exchange(&run->shared->begun, false)) {
				run->shared->clock_keeper = 0;
				deadline_ns = now_ns() + (int64_t)(run->seconds * 1e9);
			}
		} else if (signal == 0) {
			atomic_store(&run->shared->stop, true);
			deadline_ns = 0;
		} else if (!result) {
			result = report_error(1, "interrupted by signal %d", signal);
			kill_workers(run);
		}
	}
	return result;
}
