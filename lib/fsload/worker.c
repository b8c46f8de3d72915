/* SPDX-License-Identifier: MIT */
/* What test cases call; see fsload.h. */
#include "runner.h"
#include "section.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

void start_timing(struct worker *worker)
{
	struct shared *shared = worker->run->shared;
	const pid_t keeper = shared->clock_keeper; /* once: it becomes 0, to which kill() means the whole group */

	worker->timing->ready_ns = now_ns();
	if (pthread_barrier_wait(&shared->barrier) == PTHREAD_BARRIER_SERIAL_THREAD && keeper) {
		atomic_store(&shared->begun, true);
		kill(keeper, SIGUSR1);
	}
	begin_section();
	worker->timing->start_ns = now_ns();
}

void stop_timing(struct worker *worker)
{
	worker->timing->end_ns = now_ns();
	end_section();
	worker->timing->count = worker->done;
}

int fail(struct worker *worker, const char *call)
{
	worker->error = errno;
	worker->failed = call;
	worker->failed_on_path = true;
	return -1;
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

int create_file(struct worker *worker, long item, mode_t mode)
{
	int fd = open(item_path(worker, item), O_CREAT | O_EXCL | O_WRONLY, mode);

	if (fd < 0)
		return fail(worker, "open");
	return close(fd) ? fail(worker, "close") : 0;
}

int remove_items(struct worker *worker)
{
	start_timing(worker);
	while (more_items(worker)) {
		const char *path = item_path(worker, worker->done);

		begin_item(worker);
		if (unlink(path))
			return fail(worker, "unlink");
		end_item(worker);
	}
	stop_timing(worker);
	return 0;
}
