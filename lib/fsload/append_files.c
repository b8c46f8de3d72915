/* SPDX-License-Identifier: MIT */
/*
 * Every worker grows its own files, one after the other, to 1 MiB by fallocate() of 8 KiB, then
 * removes them; an item is a file. What lies where after the first phase shows what a block
 * allocator does to locality when many workers allocate at once.
 */
#include "fsload.h"

#include <fcntl.h>
#include <unistd.h>

#define STEP (8 << 10)
#define FULL (1 << 20)

static int append_to_files(struct worker *worker)
{
	start_timing(worker);
	while (more_items(worker)) {
		const char *path = item_path(worker, worker->done);
		int fd;

		begin_item(worker);
		fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
		if (fd < 0)
			return fail(worker, "open");
		for (off_t size = 0; size < FULL; size += STEP)
			if (fallocate(fd, 0, size, STEP))
				return fail(worker, "fallocate");
		if (close(fd))
			return fail(worker, "close");
		end_item(worker);
	}
	stop_timing(worker);
	return 0;
}

const struct testcase append_files = {
	.name = "append_files",
	.description = "grow files of a directory per worker to 1 MiB each, then remove them",
	.phases = { { "append", append_to_files }, { "remove", remove_items } },
};
