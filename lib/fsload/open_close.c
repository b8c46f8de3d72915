/* SPDX-License-Identifier: MIT */
/*
 * The calls of will-it-scale's open1: every worker opens and closes its own file, which is there.
 * An item is an open() with its close(). Nothing of the file system changes: this is the floor
 * of paths, file descriptors and the system calls themselves.
 */
#include "fsload.h"

#include <fcntl.h>
#include <unistd.h>

static int open_and_close(struct worker *worker)
{
	const char *path = item_path(worker, 0);

	if (create_file(worker, 0, 0600))
		return -1;
	start_timing(worker);
	while (more_items(worker)) {
		int fd;

		begin_item(worker);
		fd = open(path, O_RDWR);
		if (fd < 0)
			return fail(worker, "open");
		if (close(fd))
			return fail(worker, "close");
		end_item(worker);
	}
	stop_timing(worker);
	return unlink(path) ? fail(worker, "unlink") : 0;
}

const struct testcase open_close = {
	.name = "open_close",
	.description = "open and close a file per worker again and again",
	.phases = { { "open", open_and_close } },
};
