/* SPDX-License-Identifier: MIT */
/*
 * Loads whose rate theory knows: theory KIND CPUS ITERATIONS WORK, a process on each of the CPUs (1,2,5).
 * Prints nanoseconds from the common start until the last has ended, divided by the operations of all.
 */
#include "section.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE __attribute__((aligned(128)))

struct shared {
	LINE atomic_long ready;
	LINE atomic_long start_ns;
	LINE atomic_long counter;
	LINE atomic_long next;
	LINE atomic_long serving;
	LINE atomic_long turn;
	struct {
		LINE long end_ns;
	} worker[64];
};

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Two instructions a round, and nothing else. */
static void work(long rounds)
{
	if (rounds)
		__asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds));
}

static void private_work(struct shared *all, long rounds)
{
	(void)all;
	work(rounds);
}

static void add(struct shared *all, long rounds)
{
	(void)rounds;
	atomic_fetch_add_explicit(&all->counter, 1, memory_order_relaxed);
}

/* A ticket lock: FIFO. */
static void critical_section(struct shared *all, long rounds)
{
	const long mine = atomic_fetch_add(&all->next, 1);

	while (atomic_load_explicit(&all->serving, memory_order_acquire) != mine)
		__asm__ volatile("pause");
	work(rounds);
	atomic_store_explicit(&all->serving, mine + 1, memory_order_release);
}

static int me, of;

static void ping_pong(struct shared *all, long rounds)
{
	(void)rounds;
	while (atomic_load_explicit(&all->turn, memory_order_acquire) != me)
		;
	atomic_store_explicit(&all->turn, (me + 1) % of, memory_order_release);
}

static void run(struct shared *all, int cpu, void (*one)(struct shared *, long), long times, long rounds)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	if (sched_setaffinity(0, sizeof(only), &only))
		_exit(1);
	if (atomic_fetch_add(&all->ready, 1) + 1 == of)
		atomic_store(&all->start_ns, now_ns() + 1000000);
	while (!atomic_load(&all->start_ns))
		sched_yield();
	begin_section();
	while (now_ns() < atomic_load(&all->start_ns))
		;
	for (long k = 0; k < times; k++)
		one(all, rounds);
	all->worker[me].end_ns = now_ns();
	end_section();
	_exit(0);
}

int main(int argc, char **argv)
{
	const struct {
		const char *name;
		void (*one)(struct shared *, long);
	} kinds[] = {
		{ "private", private_work }, { "counter", add },
		{ "section", critical_section }, { "ping-pong", ping_pong },
	};
	struct shared *all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int cpus[64];
	long last = 0;

	for (char *word = argc == 5 ? strtok(argv[2], ",") : NULL; word; word = strtok(NULL, ","))
		cpus[of++] = atoi(word);
	for (size_t k = 0; of && k < sizeof(kinds) / sizeof(*kinds); k++)
		if (!strcmp(kinds[k].name, argv[1]))
			for (me = 0; me < of; me++)
				if (!fork())
					run(all, cpus[me], kinds[k].one, atol(argv[3]), atol(argv[4]));
	for (int k = 0; k < of; k++) {
		int status;

		if (wait(&status) < 0 || status)
			return 1;
	}
	for (int k = 0; k < of; k++)
		if (all->worker[k].end_ns > last)
			last = all->worker[k].end_ns;
	printf("%.4f\n", (double)(last - all->start_ns) / ((double)atol(argv[3]) * of));
	return 0;
}
