/* SPDX-License-Identifier: MIT */
/*
 * Every worker renames its own file in its own directory, to a second name and back; an item is
 * one rename(). It is what FxMark calls MWRL: no directory or file is shared, so what does not
 * scale is the journal, or the locks that rename() takes for the whole file system.
 */
#include "fsload.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rename_to_and_fro(struct worker *worker)
{
	char names[2][PATH_MAX];

	for (int i = 0; i < 2; i++)
		strcpy(names[i], item_path(worker, i));
	if (create_file(worker, 0, 0600))
		return -1;
	start_timing(worker);
	while (more_items(worker)) {
		const bool back = worker->done % 2;

		begin_item(worker);
		if (rename(names[back], names[!back]))
			return fail(worker, "rename");
		end_item(worker);
	}
	stop_timing(worker);
	return unlink(names[worker->done % 2]) ? fail(worker, "unlink") : 0;
}

const struct testcase rename_own_dir = {
	.name = "rename_own_dir",
	.description = "rename a file per worker to and fro in a directory per worker",
	.phases = { { "rename", rename_to_and_fro } },
};
