/* SPDX-License-Identifier: MIT */
/*
 * fsynced load DIR DEVICE RECORDS_AT PROCESSES SEED SECONDS
 * fsynced read DIR
 *
 * The load changes files under DIR and records on DEVICE, from byte RECORDS_AT on, what it promised.
 * The reader prints a line a file: process, file, size in bytes, and each block's version, "zero" or
 * "bad". Exit 0, 1 when a call failed, 2 when asked wrongly.
 */
#include "fsynced.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_block(uint32_t process, uint32_t file, uint32_t block, const struct content *found)
{
	static const struct content zero;
	struct content made;

	make_content(&made, process, file, found->version, block);
	if (!memcmp(found, &made, BLOCK))
		printf(" %u", found->version);
	else
		printf(" %s", memcmp(found, &zero, BLOCK) ? "bad" : "zero");
}

static int print_file(int dir, uint32_t process, const char *name)
{
	uint32_t file = (uint32_t)strtoul(name, NULL, 10);
	int fd = openat(dir, name, O_RDONLY);
	struct content found;
	struct stat about;

	if (fd < 0 || fstat(fd, &about))
		return perror(name), 1;
	printf("%u %u %lld", process, file, (long long)about.st_size);
	for (uint32_t block = 0; (off_t)block * BLOCK < about.st_size; block++) {
		memset(&found, 0, sizeof(found));
		if (pread(fd, &found, BLOCK, (off_t)block * BLOCK) < 0)
			return perror(name), 1;
		print_block(process, file, block, &found);
	}
	putchar('\n');
	return close(fd);
}

int read_back(const char *dir)
{
	for (uint32_t process = 0;; process++) {
		struct dirent *entry;
		char name[4096];
		DIR *files;

		snprintf(name, sizeof(name), "%s/%u", dir, process);
		files = opendir(name);
		if (!files)
			return errno == ENOENT ? 0 : (perror(name), 1);
		while (errno = 0, (entry = readdir(files)))
			if (entry->d_name[0] != '.' && !strchr(entry->d_name, '.') &&
			    print_file(dirfd(files), process, entry->d_name))
				return 1;
		if (errno)
			return perror(name), 1;
		closedir(files);
	}
}

/* Whether the text is a whole decimal number up to `most`. */
static bool number(const char *text, uint64_t most, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *value <= most;
}

static bool time_in_s(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return *text >= '0' && *text <= '9' && !*end;
}

int main(int argc, char **argv)
{
	uint64_t records_at, processes, seed;
	double seconds;

	if (argc == 8 && !strcmp(argv[1], "load") && number(argv[4], INT64_MAX, &records_at) &&
	    number(argv[5], UINT32_MAX, &processes) && number(argv[6], UINT64_MAX, &seed) &&
	    time_in_s(argv[7], &seconds))
		return load(argv[2], argv[3], records_at, (uint32_t)processes, seed, seconds);
	if (argc == 3 && !strcmp(argv[1], "read")) {
		const int failed = read_back(argv[2]);

		return fflush(stdout) || ferror(stdout) ? perror("standard output"), 1 : failed;
	}
	fputs("use: fsynced load DIR DEVICE RECORDS_AT PROCESSES SEED SECONDS | fsynced read DIR\n", stderr);
	return 2;
}
