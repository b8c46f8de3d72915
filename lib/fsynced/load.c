/* SPDX-License-Identifier: MIT */
/*
 * The load: every process changes its own files for a time, each change fsynced before it is acked.
 * An overwrite changes no metadata that its fdatasync must commit: on ext4 only blkdev_issue_flush()
 * makes it durable. The last files unlinked stay open, so that a cut leaves orphans.
 */
#include "fsynced.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HELD 16

struct process {
	uint32_t number;
	int dir, device;
	uint64_t records_at, random;
	struct record states[FILES];
	int held[HELD];
	unsigned int unlinked;
	unsigned char *sector; /* aligned for O_DIRECT */
};

static uint64_t next(uint64_t *state) /* splitmix64: Steele, Lea and Flood, OOPSLA 2014 */
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

void make_content(struct content *to, uint32_t process, uint32_t file, uint32_t version, uint32_t block)
{
	uint64_t state = ((uint64_t)process << 48) ^ ((uint64_t)file << 40) ^ ((uint64_t)block << 32) ^ version;

	*to = (struct content){ CONTENT_MAGIC, process, file, version, block, { 0 } };
	for (size_t i = 0; i < sizeof(to->fill) / sizeof(*to->fill); i++)
		to->fill[i] = next(&state);
}

static int record(struct process *me, const struct record *state, uint32_t acked)
{
	struct record said = *state;
	uint64_t place = (me->number * FILES + state->file) * 2 + acked;

	said.acked = acked;
	memset(me->sector, 0, BLOCK);
	memcpy(me->sector, &said, sizeof(said));
	return pwrite(me->device, me->sector, BLOCK, (off_t)(me->records_at + place * BLOCK)) == BLOCK ? 0 : -1;
}

static int write_blocks(int fd, const struct record *state, uint32_t from)
{
	struct content content;

	for (uint32_t block = from; block < state->blocks; block++) {
		make_content(&content, state->process, state->file, state->versions[block], block);
		if (pwrite(fd, &content, BLOCK, (off_t)block * BLOCK) != BLOCK)
			return -1;
	}
	return 0;
}

static enum operation choose(struct process *me, const struct record *was)
{
	static const enum operation often[] = { OVERWRITE, OVERWRITE, OVERWRITE, APPEND, APPEND, TRUNCATE,
						TRUNCATE,  REPLACE,   UNLINK,	 UNLINK };
	enum operation chosen = often[next(&me->random) % (sizeof(often) / sizeof(*often))];

	if (!was->present)
		return CREATE;
	if (chosen == APPEND && was->blocks == BLOCKS)
		return TRUNCATE;
	if (chosen == TRUNCATE && was->blocks == 1)
		return OVERWRITE;
	return chosen;
}

/* The state after the operation. */
static struct record plan(struct process *me, const struct record *was, enum operation operation)
{
	struct record then = *was;
	uint32_t from = 0;

	then.operation = operation;
	then.version++;
	then.present = operation != UNLINK;
	if (operation == UNLINK)
		then.blocks = 0;
	else if (operation == CREATE || operation == REPLACE)
		then.blocks = 1 + (uint32_t)(next(&me->random) % BLOCKS);
	else if (operation == TRUNCATE)
		from = then.blocks = 1 + (uint32_t)(next(&me->random) % (was->blocks - 1));
	else if (operation == APPEND) {
		from = was->blocks;
		then.blocks += 1 + (uint32_t)(next(&me->random) % (BLOCKS - was->blocks));
	}
	for (uint32_t block = from; block < BLOCKS; block++)
		then.versions[block] = block < then.blocks ? then.version : 0;
	return then;
}

static int carry_out(struct process *me, const struct record *was, const struct record *then)
{
	char name[32], other[32];
	int fd, failed;

	snprintf(name, sizeof(name), "%u", then->file);
	snprintf(other, sizeof(other), "%u.new", then->file);
	if (then->operation == UNLINK) {
		int *held = &me->held[me->unlinked++ % HELD];

		if (*held >= 0)
			close(*held);
		*held = openat(me->dir, name, O_RDWR);
		return *held < 0 || unlinkat(me->dir, name, 0) || fsync(me->dir);
	}
	if (then->operation == REPLACE)
		fd = openat(me->dir, other, O_CREAT | O_TRUNC | O_RDWR, 0644);
	else
		fd = openat(me->dir, name, then->operation == CREATE ? O_CREAT | O_EXCL | O_RDWR : O_RDWR, 0644);
	if (fd < 0)
		return -1;
	if (then->operation == TRUNCATE)
		failed = ftruncate(fd, (off_t)then->blocks * BLOCK) || fsync(fd);
	else
		failed = write_blocks(fd, then, then->operation == APPEND ? was->blocks : 0) ||
			 (then->operation == OVERWRITE ? fdatasync(fd) : fsync(fd));
	if (!failed && then->operation == REPLACE)
		failed = renameat(me->dir, other, me->dir, name) || fsync(me->dir);
	return close(fd) || failed;
}

static int run(struct process *me, double seconds)
{
	struct timespec now, start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		struct record *was = &me->states[next(&me->random) % FILES];
		struct record then = plan(me, was, choose(me, was));

		if (record(me, &then, 0) || carry_out(me, was, &then) || record(me, &then, 1)) {
			fprintf(stderr, "process %u, file %u, operation %u: %s\n", me->number, then.file,
				then.operation, strerror(errno));
			return 1;
		}
		*was = then;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 < seconds);
	return 0;
}

static int one_process(const char *dir, const char *device, uint64_t records_at, uint32_t number,
		       uint64_t seed, double seconds)
{
	struct process me = { .number = number, .records_at = records_at, .random = seed * 1000003 + number };
	char name[4096];

	for (uint32_t file = 0; file < FILES; file++)
		me.states[file] = (struct record){ .magic = RECORD_MAGIC, .process = number, .file = file };
	memset(me.held, -1, sizeof(me.held));
	snprintf(name, sizeof(name), "%s/%u", dir, number);
	if (mkdir(name, 0755) && errno != EEXIST)
		return perror(name), 1;
	me.dir = open(name, O_RDONLY | O_DIRECTORY);
	me.device = open(device, O_RDWR | O_DIRECT);
	if (me.dir < 0 || me.device < 0 || posix_memalign((void **)&me.sector, BLOCK, BLOCK))
		return perror(me.dir < 0 ? name : device), 1;
	if (fsync(me.dir))
		return perror(name), 1;
	return run(&me, seconds);
}

int load(const char *dir, const char *device, uint64_t records_at, uint32_t processes, uint64_t seed,
	 double seconds)
{
	int failed = 0, status;

	for (uint32_t number = 0; number < processes; number++) {
		pid_t pid = fork();

		if (pid < 0)
			return perror("fork"), 1;
		if (!pid)
			_exit(one_process(dir, device, records_at, number, seed, seconds));
	}
	while (wait(&status) > 0)
		failed |= status;
	return failed ? 1 : 0;
}
