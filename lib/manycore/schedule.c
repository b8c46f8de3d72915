/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lock step: whose turn it is. QEMU offers each CPU a turn in round-robin order; a CPU takes it only if
 * it is not ahead of the slowest running one by more than the quantum, and leaves again before it has
 * executed anything otherwise. One that touched a cache line that moves between CPUs goes on only
 * when it is the slowest itself, so CPUs that contend are ordered by their times, not by the quantum.
 *
 * Translated code adds the price of its instructions to *used and calls take_turn() once that is at
 * BUDGET_END. So a budget is given by the distance to it; base makes up for that.
 */
#include "machine.h"

#define LONE_RUN (1000 * US) /* without another CPU and without a timer */
#define LOST_AFTER (64 * MAX_CPUS)

struct machine machine = { .current = -1 };
uint64_t broken_waits;
static unsigned int refused; /* turns in a row that no CPU took */
static struct {
	bool known; /* no CPU has run since, and none has begun or ceased to */
	uint64_t at;
	int cpu;
} slowest;
_Atomic uint64_t interrupts;

void states_changed(void)
{
	slowest.known = false;
}

void let_run_for(struct cpu *cpu, uint64_t ps)
{
	const uint64_t now = now_of(cpu);

	*cpu->used = BUDGET_END - ps;
	cpu->base = now - *cpu->used;
}

void add_time(struct cpu *cpu, uint64_t ps)
{
	*cpu->used += ps;
}

/* Out of the code whose price was just added, before its first instruction. */
static void leave(unsigned int number, const struct block *block, uintptr_t host_pc)
{
	struct CPUState *cpu = qemu.get_cpu_of[number];

	machine.cpu[number].base -= block->price;
	machine.cpu[number].seen = atomic_load_explicit(&interrupts, memory_order_relaxed);
	qemu.cpu_exit(cpu);
	qemu.loop_exit(cpu, host_pc);
}

static void note_current(void)
{
	if (machine.current >= 0)
		note_time(&machine.cpu[machine.current]);
}

/* The time of the slowest CPU that runs, but for one; NEVER without any. */
uint64_t slowest_but(const struct cpu *but)
{
	uint64_t kept = NEVER, least = NEVER;

	note_current();
	if (but) {
		kept = machine.runs_at[but - machine.cpu];
		machine.runs_at[but - machine.cpu] = NEVER;
	}
	for (unsigned int n = 0; n < MAX_CPUS; n++)
		least = machine.runs_at[n] < least ? machine.runs_at[n] : least;
	if (but)
		machine.runs_at[but - machine.cpu] = kept;
	return least;
}

static void find_slowest(void)
{
	slowest.at = slowest_but(NULL);
	for (unsigned int n = 0; slowest.at != NEVER && n < MAX_CPUS; n++)
		if (machine.runs_at[n] == slowest.at) {
			slowest.cpu = (int)n;
			break;
		}
	slowest.known = true;
}

static uint64_t quantum(void)
{
	return machine.priced ? machine.quantum : OUTSIDE_QUANTUM;
}

/* Whether a CPU at `now` is too far ahead of the slowest other one. */
static bool ahead(const struct cpu *cpu, uint64_t now, uint64_t others)
{
	return others != NEVER && now > others + (cpu->strict ? machine.slack : quantum());
}

/*
 * In a section QEMU's order of turns would be a round of all CPUs for each that may run. So the slowest
 * runs here, again and again, in the place of the one that is offered a turn. Whenever an interrupt may
 * have come, a whole round of QEMU's own comes first, as halted CPUs and spinning ones are not run here.
 */
#define TURNS_AHEAD 200

static void run_the_slowest(struct CPUState **current, unsigned int offered)
{
	static uint64_t round_of;
	static unsigned int round_left;
	struct CPUState *const back = *current;

	if (round_of != atomic_load_explicit(&interrupts, memory_order_relaxed)) {
		round_of = atomic_load_explicit(&interrupts, memory_order_relaxed);
		round_left = machine.cpus;
	}
	if (round_left) {
		round_left--;
		return;
	}
	for (unsigned int k = 0; k < TURNS_AHEAD && machine.priced; k++) {
		find_slowest();
		if (slowest.at == NEVER || slowest.cpu == (int)offered ||
		    round_of != atomic_load_explicit(&interrupts, memory_order_relaxed))
			break;
		*current = qemu.get_cpu_of[slowest.cpu];
		if (qemu.exec(*current) == EXCP_ATOMIC)
			qemu.step_atomic(*current);
	}
	*current = back;
	slowest.known = false;
}

/*
 * QEMU is about to offer a CPU a turn. One that would leave at once is told to before it looks for its
 * code, unless it spins and an interrupt may have come.
 */
void before_turn(struct CPUState **current)
{
	static unsigned int next;
	struct CPUState *const offered = *current;
	const struct cpu *cpu;

	for (unsigned int k = 0; k < machine.cpus; k++, next = (next + 1) % machine.cpus)
		if (qemu.get_cpu_of[next] == offered)
			break;
	cpu = &machine.cpu[next];
	if (machine.priced)
		run_the_slowest(current, next);
	if (!slowest.known)
		find_slowest();
	if (slowest.at == NEVER || slowest.cpu == (int)next)
		return;
	if (cpu->state == RUNS ? ahead(cpu, now_of(cpu), slowest.at) :
				 cpu->state == SPINS && cpu->seen == atomic_load_explicit(&interrupts, memory_order_relaxed))
		qemu.cpu_exit(offered);
}

void advance_clock(uint64_t to)
{
	if (to != NEVER && to > atomic_load_explicit(&clock_ps, memory_order_relaxed))
		atomic_store(&clock_ps, to);
}

/* A device asks for the time in a CPU's turn, or somebody wakes up in it. */
uint64_t bring_clock_up(void)
{
	advance_clock(slowest_but(NULL));
	return atomic_load_explicit(&clock_ps, memory_order_relaxed);
}

static void wake(struct cpu *cpu)
{
	const uint64_t slept = now_of(cpu);
	uint64_t at = bring_clock_up() + machine.price.wake;

	if (cpu->state == HALTED) {
		if (at < slept)
			at = slept;
		cpu->spent.idle += at - slept;
	}
	cpu->base = at - *cpu->used;
	cpu->at = at;
	cpu->state = RUNS;
	note_time(cpu);
	slowest.known = false;
}

/* A CPU that QEMU never offers a turn (it was stopped without a HLT) must not hold the others. */
static void give_up_the_lost(void)
{
	find_slowest();
	if (slowest.at != NEVER) {
		machine.cpu[slowest.cpu].state = HALTED;
		note_time(&machine.cpu[slowest.cpu]);
	}
	broken_waits++;
	refused = 0;
}

void stop_current(void)
{
	struct cpu *cpu = &machine.cpu[machine.current];
	const uint64_t now = now_of(cpu);

	cpu->spent.busy += now - cpu->at;
	cpu->at = now;
	*cpu->used = BUDGET_END;
	cpu->base = now - BUDGET_END;
	note_time(cpu);
}

void settle_all(void)
{
	for (unsigned int n = 0; n < machine.cpus; n++) {
		struct cpu *cpu = &machine.cpu[n];

		if (cpu->state == RUNS) {
			cpu->spent.busy += now_of(cpu) - cpu->at;
			cpu->at = now_of(cpu);
		}
	}
}

void end_turn_soon(void)
{
	if (machine.current >= 0)
		let_run_for(&machine.cpu[machine.current], 0);
}

/* How far a CPU may run that is about to execute a block; 0: not at all. */
static uint64_t budget_of(struct cpu *cpu, const struct block *block)
{
	const uint64_t others = slowest_but(cpu), now = now_of(cpu) - block->price;
	uint64_t until = others == NEVER ? now + LONE_RUN : others + quantum();

	advance_clock(now < others ? now : others);
	if (main_loop_is_behind())
		let_main_loop_run();
	if (ahead(cpu, now, others))
		return 0;
	if (others == NEVER && atomic_load(&deadline_ps) < until)
		until = atomic_load(&deadline_ps);
	return until > now ? until - now : 1;
}

/* The first code of a CPU's turn, or the end of its budget. */
void take_turn(unsigned int number, void *code)
{
	struct cpu *cpu = &machine.cpu[number];
	const struct block *block = code;
	uint64_t budget;

	if (machine.current == (int)number) {
		slowest.known = false;
	} else {
		if (machine.current >= 0)
			stop_current();
		machine.current = (int)number;
		cpu->at = now_of(cpu) - block->price;
	}
	if (cpu->state == SPINS && cpu->visit_pc == block->pc) {
		if (slowest_but(NULL) == NEVER)
			only_spinning();
		if (cpu->state == SPINS)
			leave(number, block, (uintptr_t)__builtin_return_address(0));
	} else if (cpu->state == SPINS) {
		stop_spinning(cpu, bring_clock_up()); /* an interrupt */
	} else if (cpu->state != RUNS) {
		wake(cpu);
	}
	if (cpu->made_way != atomic_load_explicit(&interrupts, memory_order_relaxed)) {
		/* a halted CPU may have been sent one: QEMU has to offer each a turn */
		cpu->made_way = atomic_load_explicit(&interrupts, memory_order_relaxed);
		leave(number, block, (uintptr_t)__builtin_return_address(0));
	}
	budget = budget_of(cpu, block);
	if (!budget && ++refused < LOST_AFTER) {
		cpu->spent.yields++;
		leave(number, block, (uintptr_t)__builtin_return_address(0));
	}
	if (!budget)
		give_up_the_lost();
	refused = 0;
	slowest.known = false;
	cpu->strict = false;
	cpu->visit_pc = block->pc;
	let_run_for(cpu, budget);
}

void halt(unsigned int number, void *unused)
{
	struct cpu *cpu = &machine.cpu[number];
	uint64_t others;

	(void)unused;
	stop_current();
	cpu->state = HALTED;
	note_time(cpu);
	slowest.known = false;
	cpu->pause_pc = 0;
	others = slowest_but(NULL);
	advance_clock(others == NEVER ? now_of(cpu) : others);
}
