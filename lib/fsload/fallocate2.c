/* SPDX-License-Identifier: MIT */
/*
 * The calls of will-it-scale's fallocate2: every worker appends 8 KiB by fallocate() to its own
 * file, truncates it at 1 MiB, and begins again. An item is one fallocate(), and every 128th has
 * the truncation in it, as there: the slowest 0.8% of the latencies are those. The file is
 * unlinked at once, as there: its truncations find it among the orphans already, so that what
 * remains is the allocation and the freeing of blocks.
 */
#include "fsload.h"

#include <fcntl.h>
#include <unistd.h>

#define STEP (8 << 10)
#define FULL (1 << 20)

static int append_and_truncate(struct worker *worker)
{
	const char *path = item_path(worker, 0);
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
	off_t size = 0;

	if (fd < 0)
		return fail(worker, "open");
	if (unlink(path))
		return fail(worker, "unlink");
	start_timing(worker);
	while (more_items(worker)) {
		begin_item(worker);
		if (fallocate(fd, 0, size, STEP))
			return fail(worker, "fallocate");
		size = (size + STEP) % FULL;
		if (size == 0 && ftruncate(fd, 0))
			return fail(worker, "ftruncate");
		end_item(worker);
	}
	stop_timing(worker);
	return close(fd) ? fail(worker, "close") : 0;
}

const struct testcase fallocate2 = {
	.name = "fallocate2",
	.description = "append 8 KiB to a file per worker up to 1 MiB, truncate it, repeat",
	.phases = { { "fallocate", append_and_truncate } },
};
