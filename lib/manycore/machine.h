/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine of up to 64 CPUs in virtual time, over QEMU's round-robin TCG (accel tcg,thread=single).
 *
 * Every virtual CPU has its own time, made of prices: each instruction, pause, atomic operation and
 * transfer of a cache line costs some picoseconds. One host thread runs all CPUs in turn; which of them
 * may run, and how far, is decided by their times alone (schedule.c). QEMU's clock is the time that all
 * CPUs have reached (clock.c), so what a guest measures does not depend on how fast or busy the host is.
 *
 * All times are picoseconds unless a name says otherwise. Everything here runs on QEMU's one vCPU thread,
 * but for the clock's side of the main loop.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include "qemu_plugin.h"

#include <stdatomic.h>
#include <stdio.h>

#define MAX_CPUS 64
#define NEVER UINT64_MAX
#define US 1000000ull
#define MS 1000000000ull
/* Outside sections: how far CPUs may be apart, and what one step of a loop that waits costs. */
#define OUTSIDE_QUANTUM (5 * US)
#define WAITING_STEP US

/* What everything costs, in picoseconds; notebooks/targets/manycore.yaml has sources and ranges. */
struct prices {
	uint64_t insn, pause, atomic, near, far, io, tsc, wake;
};

/* Where a CPU's time in a section went. What is left of busy_ps are instructions. */
struct spent {
	uint64_t busy, pause, atomic, transfer, queue, io, idle;
	uint64_t near, far, atomics, pauses, yields;
};

enum state { OFF, RUNS, SPINS, HALTED };

#define FILTER 256 /* lines that a CPU is known to hold; a power of two */
#define RING 8      /* lines that a spinning loop may read */

struct filter {
	uint64_t line; /* 0: none; bit 63 is never set in a line's number */
	uint64_t written;
	bool writable;
};

struct cpu {
	uint64_t base;  /* its time is base + *used: see schedule.c */
	uint64_t *used; /* the counter that translated code adds to */
	uint64_t at;    /* its time when it last stopped running */
	enum state state;
	bool strict;    /* it touched a line that moves: no CPU may be behind it when it goes on */
	uint64_t visit_pc;                /* where its last turn began */
	uint64_t pause_pc, pause_at;      /* its last pause: from which turn, and when */
	uint64_t ring[RING], spins_on[RING];
	unsigned int reads, spins_reads;  /* since its last pause */
	bool wrote;
	uint64_t iteration;               /* one turn of the loop in which it spins */
	uint64_t seen, made_way;          /* `interrupts` when it last looked for one, and left for it */
	struct spent spent;
	struct filter filter[FILTER];
} __attribute__((aligned(128)));

struct machine {
	struct prices price;
	uint64_t quantum, slack, live, per_socket;
	unsigned int cpus;
	bool priced; /* memory is, in a section */
	bool watched; /* code is translated so that it tells of each access */
	uint64_t spinning; /* bit per CPU that is SPINS */
	struct cpu cpu[MAX_CPUS];
	int current; /* the CPU that runs, or -1 */
	uint64_t runs_at[MAX_CPUS]; /* the time of each CPU that RUNS, but of the current one; else NEVER */
};

extern struct machine machine;

static inline uint64_t now_of(const struct cpu *cpu)
{
	return cpu->base + *cpu->used;
}

/* To be called when a CPU's time or state was changed. */
static inline void note_time(const struct cpu *cpu)
{
	machine.runs_at[cpu - machine.cpu] = cpu->state == RUNS ? now_of(cpu) : NEVER;
}

/* A block of translated code. */
struct block {
	uint64_t pc, price;
};

/* schedule.c */
#define BUDGET_END (1ull << 62) /* the count at which translated code calls take_turn() */
void let_run_for(struct cpu *cpu, uint64_t ps);
void add_time(struct cpu *cpu, uint64_t ps);
void take_turn(unsigned int number, void *block);
void halt(unsigned int number, void *unused);
void end_turn_soon(void);
uint64_t bring_clock_up(void);
void settle_all(void);
void before_turn(struct CPUState **current);
uint64_t slowest_but(const struct cpu *but);
void advance_clock(uint64_t to);
void stop_current(void);
void states_changed(void);
extern uint64_t broken_waits;
extern _Atomic uint64_t interrupts; /* how often one may have come */

/* spin.c */
void pause_loop(unsigned int number, void *pc);
void stop_spinning(struct cpu *cpu, uint64_t at);
void only_spinning(void);

/* internals.c */
bool find_internals(void);
void translate_for_all(unsigned int number);
void watch_memory(unsigned int number);
void translate_anew(unsigned int number);
struct CPUState *first_cpu(void);
bool is_of_some_cpu(uintptr_t state);

/* Of a line: transfers after which others had to wait for it, how long they took and waited. */
struct heat {
	uint64_t occupied, queued;
	uint32_t moves;
	uint32_t site; /* the code that moves it: the low half of its address, or 0 for a user's */
	int32_t lead;
};

/* hottest.c */
void note_move(struct heat *heat, uint32_t site, uint64_t occupied, uint64_t queued);
void tell_hottest(FILE *out);

/* What an access's callback is told: the code's site, and whether the instruction is a locked one. */
#define ACCESS(site, atomic) ((void *)((uintptr_t)(site) << 1 | (atomic)))
#define SITE_OF(access) ((uint32_t)((uintptr_t)(access) >> 1))
#define IS_ATOMIC(access) ((uintptr_t)(access) & 1)

/* lines.c */
extern uint64_t lost_lines;
const struct heat *next_moved(size_t *at);
void make_lines(void);
void forget_lines(void);
bool holds_all(const struct cpu *cpu, const uint64_t *numbers, unsigned int count);
void read_kernel(unsigned int number, qemu_plugin_meminfo_t info, uint64_t va, void *access);
void write_kernel(unsigned int number, qemu_plugin_meminfo_t info, uint64_t va, void *access);
void read_user(unsigned int number, qemu_plugin_meminfo_t info, uint64_t va, void *access);
void write_user(unsigned int number, qemu_plugin_meminfo_t info, uint64_t va, void *access);

/* plugin.c */
void take_setting(unsigned int number, unsigned int setting);

/* sections.c */
#define MARKS 24 /* end, begin, no sections, sections again, settings */
#define FIRST_SETTING 4
void take_mark(unsigned int number, void *mark);
bool open_statistics(const char *path);

/* clock.c */
extern _Atomic uint64_t clock_ps;    /* what QEMU sees */
extern _Atomic uint64_t deadline_ps; /* QEMU's next timer */
extern _Atomic uint64_t idle_jumps, held_jumps, late_timers;
bool main_loop_is_behind(void);
void let_main_loop_run(void);
void wake_main_loop(void);
void let_vcpus_go(void);
uint64_t real_ns(void);

/* threads.c */
int thread_id(void);
int vcpu_thread_id(void);
void vcpu_thread_is_this(void);
bool on_vcpu_thread(void);
bool main_loop_waits(void);
bool all_cpus_sleep(void);

#endif
