/* SPDX-License-Identifier: MIT */
/*
 * Every process truncates its own file byte by byte; an item is one truncation. In ext4 with a
 * journal each one, even within a block, takes the inode through the orphan list once, of the
 * super block or of the orphan file: ext4_setattr() calls ext4_orphan_add() whenever the size
 * falls, and ext4_truncate(), which always follows, ends in ext4_orphan_del() while the file has
 * a name. So the file keeps its name (an unlinked one stays an orphan), and it is sparse, so that
 * no block is freed or written back.
 */
#include "fsload.h"

#include <fcntl.h>
#include <unistd.h>

static int truncate_bytes(struct worker *worker)
{
	const char *path = item_path(worker, 0);
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);

	if (fd < 0)
		return fail(worker, "open");
	if (ftruncate(fd, worker->items))
		return fail(worker, "ftruncate");
	for (worker->done = 0; worker->done < worker->items; worker->done++)
		if (ftruncate(fd, worker->items - worker->done - 1))
			return fail(worker, "ftruncate");
	if (close(fd))
		return fail(worker, "close");
	return unlink(path) ? fail(worker, "unlink") : 0;
}

const struct testcase truncate_orphan = {
	.name = "truncate_orphan",
	.description = "truncate a sparse file per process byte by byte",
	.phases = { { "truncate", truncate_bytes } },
};
