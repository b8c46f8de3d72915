/* SPDX-License-Identifier: MIT */
/*
 * A container is a cgroup v2 and a directory of its own; it has no namespace and no limit. The
 * cgroups are made in fsload's own and have the controllers that this one passes on, which the
 * report names: start fsload in the root cgroup to have those of the machine.
 */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool find_mount(char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	const struct mntent *mount;
	bool found = false;

	while (mounts && !found && (mount = getmntent(mounts)))
		if (!strcmp(mount->mnt_type, "cgroup2"))
			found = snprintf(path, size, "%s", mount->mnt_dir) < (int)size;
	if (mounts)
		endmntent(mounts);
	return found;
}

/* Where fsload is below the mount: the line "0::/PATH". */
static bool find_own(char *path, size_t size)
{
	FILE *groups = fopen("/proc/self/cgroup", "r");
	char line[PATH_MAX];
	bool found = false;

	while (groups && !found && fgets(line, sizeof(line), groups)) {
		if (strncmp(line, "0::/", 4))
			continue;
		line[strcspn(line, "\n")] = '\0';
		found = snprintf(path, size, "%s%s", line[4] ? "/" : "", line + 4) < (int)size;
	}
	if (groups)
		fclose(groups);
	return found;
}

static const char *cgroup(const struct run *run, long container, const char *file)
{
	static char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/fsload.%d.%ld%s", run->cgroup, (int)run->pid, container, file);
	return path;
}

static void read_controllers(struct run *run)
{
	FILE *file = fopen(cgroup(run, 0, "/cgroup.controllers"), "r");

	if (file && fgets(run->controllers, sizeof(run->controllers), file))
		run->controllers[strcspn(run->controllers, "\n")] = '\0';
	if (file)
		fclose(file);
}

static void remove_first(const struct run *run, long made)
{
	while (made--)
		rmdir(cgroup(run, made, ""));
}

int make_cgroups(struct run *run)
{
	size_t length;

	if (!run->containers)
		return 0;
	if (!find_mount(run->cgroup, sizeof(run->cgroup)))
		return report_error(1, "--containers needs cgroup v2, which is not mounted here");
	length = strlen(run->cgroup);
	if (!find_own(run->cgroup + length, sizeof(run->cgroup) - length))
		return report_error(1, "--containers needs cgroup v2, in which fsload is not");
	for (long made = 0; made < run->containers; made++)
		if (mkdir(cgroup(run, made, ""), 0755)) {
			int result = report_error(1,
						  "cannot make the cgroup %s: %s; run as root, or "
						  "in a cgroup that is yours",
						  cgroup(run, made, ""), strerror(errno));

			remove_first(run, made);
			return result;
		}
	read_controllers(run);
	return 0;
}

int enter_cgroup(const struct run *run, int container)
{
	int fd = open(cgroup(run, container, "/cgroup.procs"), O_WRONLY);
	bool entered = fd >= 0 && write(fd, "0", 1) == 1;
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return entered ? 0 : -1;
}

void remove_cgroups(const struct run *run)
{
	remove_first(run, run->containers);
}
