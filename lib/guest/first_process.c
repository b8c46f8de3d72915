/* SPDX-License-Identifier: MIT */
/*
 * The first process of a guest, until it starts virtme-ng's; and, by other names, two commands that it runs.
 *
 * virtme-ng asks udev about every device that the kernel has found, 700 of them with 64 CPUs, and lets
 * systemd-tmpfiles make the folders of services that no guest runs: half of a boot under emulation. So
 * udevadm here asks about few subsystems, and systemd-tmpfiles does nothing. Both names are in the folder
 * that virtme-ng's first process searches before others, and are gone once udev is done.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEARCHED_FIRST "/run/current-system/sw/bin"
/* From a folder below /run, virtme-ng's process mounts no /run over ours. */
#define TOOLS "/run/virtme/guesttools"
#define UDEVADM SEARCHED_FIRST "/udevadm"
#define TMPFILES SEARCHED_FIRST "/systemd-tmpfiles"
#define MOST_WORDS 32

/* Of devices that get a name, an owner or a mode from udev, in a guest that has no terminal. */
static const char *const subsystems[] = {
	"--subsystem-match=block",
	"--subsystem-match=virtio-ports",
	"--subsystem-match=misc",
	"--subsystem-match=mem",
	"--subsystem-match=net",
};

static void fail(const char *what)
{
	fprintf(stderr, "first-process: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void make_folders(const char *path)
{
	char part[PATH_MAX];

	for (const char *end = strchr(path + 1, '/');; end = strchr(end + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", end ? (int)(end - path) : (int)strlen(path), path);
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			fail(part);
		if (!end)
			return;
	}
}

/* Of virtme-ng's PATH the folders behind ours. */
static void search_no_more_here(void)
{
	const char *path = getenv("PATH");

	if (path && !strncmp(path, SEARCHED_FIRST ":", strlen(SEARCHED_FIRST ":")))
		setenv("PATH", path + strlen(SEARCHED_FIRST ":"), 1);
}

static int udevadm(int argc, char **argv)
{
	char *words[MOST_WORDS + sizeof(subsystems) / sizeof(subsystems[0]) + 1] = {0};
	const char *verb = argc > 1 ? argv[1] : "";
	int count = 0;

	for (; count < argc && count < MOST_WORDS; count++) {
		if (!strcmp(argv[count], "--type=subsystems"))
			return 0;
		words[count] = argv[count];
	}
	if (!strcmp(verb, "trigger"))
		for (size_t i = 0; i < sizeof(subsystems) / sizeof(subsystems[0]); i++)
			words[count++] = (char *)subsystems[i];
	if (!strcmp(verb, "settle")) {
		unlink(UDEVADM);
		unlink(TMPFILES);
	}
	search_no_more_here();
	execvp("udevadm", words);
	fail("udevadm");
	return 1;
}

static int start_virtme_ng(const char *self)
{
	const char *init = getenv("lockscale_init"); /* ".../guest/bin/virtme-ng-init" */
	const char *bin = init ? strstr(init, "/bin/virtme-ng-init") : NULL;
	char tools[PATH_MAX];

	if (getpid() != 1 || !bin) {
		fputs("first-process: the kernel starts it in a guest, with lockscale_init=.../bin/virtme-ng-init\n",
		      stderr);
		return 1;
	}
	snprintf(tools, sizeof(tools), "%.*s", (int)(bin - init), init);
	if (mount("run", "/run", "tmpfs", 0, "mode=0755") < 0)
		fail("/run");
	make_folders(SEARCHED_FIRST);
	make_folders(TOOLS);
	make_folders("/run/lock");
	if (mount(tools, TOOLS, NULL, MS_BIND, NULL) < 0)
		fail(tools);
	if (symlink(self, UDEVADM) < 0 || symlink(self, TMPFILES) < 0)
		fail(SEARCHED_FIRST);
	execl(TOOLS "/bin/virtme-ng-init", TOOLS "/bin/virtme-ng-init", (char *)NULL);
	fail(TOOLS "/bin/virtme-ng-init");
	return 1;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');

	name = name ? name + 1 : argv[0];
	if (!strcmp(name, "systemd-tmpfiles"))
		return 0;
	return strcmp(name, "udevadm") ? start_virtme_ng(argv[0]) : udevadm(argc, argv);
}
