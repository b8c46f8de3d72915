/* SPDX-License-Identifier: MIT */
/*
 * D/test-dir.<container>-0/mdtest_tree.<home>.0/file.mdtest.<worker>.<item>: the names are
 * mdtest's, so that lookups cost the same.
 */
#include "runner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The worker's path without its last `levels` names. */
static const char *above(const struct worker *worker, int levels)
{
	static char path[PATH_MAX];

	memcpy(path, worker->path, sizeof(path));
	while (levels--)
		*strrchr(path, '/') = '\0';
	return path;
}

/* The containers' directories, then the workers'; NULL for a worker that has none of its own. */
static const char *nth_directory(const struct run *run, long n)
{
	const struct worker *workers = run->shared->workers;
	const long groups = groups_of(run);

	if (n < groups)
		return above(&workers[n * (run->workers / groups)], 2);
	n -= groups;
	return workers[n].home == workers[n].number ? above(&workers[n], 1) : NULL;
}

/* Removes the first `made`; the path of one that stays, else NULL. */
static const char *remove_first(const struct run *run, long made)
{
	while (made--) {
		const char *path = nth_directory(run, made);

		if (path && rmdir(path))
			return path;
	}
	return NULL;
}

int make_directories(const struct run *run)
{
	for (long n = 0; n < groups_of(run) + run->workers; n++) {
		const char *path = nth_directory(run, n);

		if (path && mkdir(path, 0775)) {
			int result = report_error(
				1, "cannot make %s: %s%s", path, strerror(errno),
				errno == EEXIST ? "; remove what an earlier run left" : "");

			remove_first(run, n);
			return result;
		}
	}
	return 0;
}

int remove_directories(const struct run *run)
{
	const char *left = remove_first(run, groups_of(run) + run->workers);

	if (!left)
		return 0;
	return report_error(1, "cannot remove %s after the run: %s", left, strerror(errno));
}

void undo_directories(const struct run *run)
{
	for (long n = groups_of(run); n < groups_of(run) + run->workers; n++) {
		const char *path = nth_directory(run, n);
		DIR *files = path ? opendir(path) : NULL;
		struct dirent *file;

		while (files && (file = readdir(files)))
			unlinkat(dirfd(files), file->d_name, 0);
		if (files)
			closedir(files);
	}
	remove_first(run, groups_of(run) + run->workers);
}
