/* SPDX-License-Identifier: MIT */
/*
 * What load and reader agree on: the files, their content, and the records of what was promised.
 *
 * Each process has FILES files of at most BLOCKS blocks. A block says whose it is, at which place and of
 * which version, and fills the rest from that: one that is not whole is seen. Before an operation a
 * process writes the state it is about to make (intent), after its fsync the same state (ack), each to
 * a place of its own on the raw device, past the end of the file system. So they lie in one order with
 * the file system's own writes and flushes.
 */
#ifndef FSYNCED_H
#define FSYNCED_H

#include <stdint.h>

#define BLOCK 4096
#define BLOCKS 8
#define FILES 64
#define RECORD_MAGIC 0x31304b43414b534cULL /* "LSKACK01" */
#define CONTENT_MAGIC 0x3130544e434b534cULL /* "LSKCNT01" */

enum operation { CREATE = 1, OVERWRITE, APPEND, TRUNCATE, REPLACE, UNLINK };

/* Little-endian, at the start of a block of zeros. blocks 0 and present 0: the file is not there. */
struct record {
	uint64_t magic;
	uint32_t process, file;
	uint32_t operation, acked; /* acked 0: intent */
	uint32_t version, present;
	uint32_t blocks, unused;
	uint32_t versions[BLOCKS];
};

struct content {
	uint64_t magic;
	uint32_t process, file;
	uint32_t version, block;
	uint64_t fill[(BLOCK - 24) / 8];
};

/* The block's content, the same whenever it is asked for. */
void make_content(struct content *to, uint32_t process, uint32_t file, uint32_t version, uint32_t block);

int load(const char *dir, const char *device, uint64_t records_at, uint32_t processes, uint64_t seed,
	 double seconds);
int read_back(const char *dir);

#endif
