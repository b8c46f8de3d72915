/* SPDX-License-Identifier: MIT */
/*
 * Every worker truncates its own file byte by byte; an item is one truncation. In ext4 with a
 * journal each one, even within a block, takes the inode through the orphan list once, of the
 * super block or of the orphan file: ext4_setattr() calls ext4_orphan_add() whenever the size
 * falls, and ext4_truncate(), which always follows, ends in ext4_orphan_del() while the file has
 * a name. So the file keeps its name (an unlinked one stays an orphan), and it is sparse, so that
 * no block is freed or written back. An empty one is made long again, which is no item.
 */
#include "fsload.h"

#include <fcntl.h>
#include <unistd.h>

#define FULL (1 << 20)

static int truncate_bytes(struct worker *worker)
{
	const long full = worker->items < FULL ? worker->items : FULL;
	const char *path = item_path(worker, 0);
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
	off_t size = 0;

	if (fd < 0)
		return fail(worker, "open");
	start_timing(worker);
	while (more_items(worker)) {
		if (size == 0 && ftruncate(fd, size = full))
			return fail(worker, "ftruncate");
		begin_item(worker);
		if (ftruncate(fd, --size))
			return fail(worker, "ftruncate");
		end_item(worker);
	}
	stop_timing(worker);
	if (close(fd))
		return fail(worker, "close");
	return unlink(path) ? fail(worker, "unlink") : 0;
}

const struct testcase truncate_orphan = {
	.name = "truncate_orphan",
	.description = "truncate a sparse file per worker byte by byte",
	.phases = { { "truncate", truncate_bytes } },
};
