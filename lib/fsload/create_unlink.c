/* SPDX-License-Identifier: MIT */
/*
 * The pattern of `mdtest -F -C -r -u`: every worker creates empty files in its own directory,
 * then removes them. mdtest's calls for a file are the same: open and close, then unlink.
 */
#include "fsload.h"

#include <fcntl.h>
#include <unistd.h>

static int create_files(struct worker *worker)
{
	start_timing(worker);
	while (more_items(worker)) {
		const char *path = item_path(worker, worker->done);
		int fd;

		begin_item(worker);
		fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0664);
		if (fd < 0)
			return fail(worker, "open");
		if (close(fd))
			return fail(worker, "close");
		end_item(worker);
	}
	stop_timing(worker);
	return 0;
}

const struct testcase create_unlink = {
	.name = "create_unlink",
	.description = "create, then remove, empty files in a directory per worker",
	.phases = { { "create", create_files }, { "remove", remove_items } },
};
