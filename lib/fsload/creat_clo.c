/* SPDX-License-Identifier: MIT */
/*
 * The calls of reaim's (AIM7's) creat_clo: every worker calls creat() and close() on a file of
 * its own, which only the first creat() makes; all files are in one directory. An item is a
 * creat() with its close(). Each further creat() truncates the empty file, and in ext4 that takes
 * the inode through the orphan list once: ext4_truncate(), which ext4_setattr() calls also when
 * the size stays, adds it and, as it has a name, takes it off.
 */
#include "fsload.h"

#include <fcntl.h>
#include <unistd.h>

static int creat_and_close(struct worker *worker)
{
	const char *path = item_path(worker, 0);

	start_timing(worker);
	while (more_items(worker)) {
		int fd;

		begin_item(worker);
		fd = creat(path, 0777);
		if (fd < 0)
			return fail(worker, "creat");
		if (close(fd))
			return fail(worker, "close");
		end_item(worker);
	}
	stop_timing(worker);
	return worker->done && unlink(path) ? fail(worker, "unlink") : 0;
}

const struct testcase creat_clo = {
	.name = "creat_clo",
	.description = "creat and close a file per worker again and again, all in one directory",
	.one_directory = true,
	.phases = { { "creat", creat_and_close } },
};
