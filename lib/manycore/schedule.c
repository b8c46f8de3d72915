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

#include <dlfcn.h>
#include <stdio.h>

#define LONE_RUN (1000 * US) /* without another CPU and without a timer */
#define LOST_AFTER (64 * MAX_CPUS)

struct machine machine = { .current = -1 };
uint64_t broken_waits;
static struct qemu_internals qemu;
static unsigned int refused; /* turns in a row that no CPU took */
static struct {
	bool known; /* no CPU has run since */
	uint64_t at;
	int cpu;
} slowest;
_Atomic uint64_t interrupts;

bool find_internals(void)
{
	*(void **)&qemu.get_cpu = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
	*(void **)&qemu.cpu_exit = dlsym(RTLD_DEFAULT, "cpu_exit");
	*(void **)&qemu.loop_exit = dlsym(RTLD_DEFAULT, "cpu_loop_exit_restore");
	*(void **)&qemu.set_parallel = dlsym(RTLD_DEFAULT, "tcg_cpu_init_cflags");
	*(void **)&qemu.exec = dlsym(RTLD_DEFAULT, "tcg_cpu_exec");
	*(void **)&qemu.step_atomic = dlsym(RTLD_DEFAULT, "cpu_exec_step_atomic");
	return qemu.get_cpu && qemu.cpu_exit && qemu.loop_exit && qemu.set_parallel && qemu.exec &&
	       qemu.step_atomic;
}

/*
 * With one thread for all CPUs, QEMU would write the number of the CPU that translates a block into the
 * block as a constant (seen in 10.0), and the others run it too. Code for parallel CPUs asks for it.
 */
void translate_for_all(unsigned int number)
{
	qemu.get_cpu_of[number] = qemu.get_cpu((int)number);
	qemu.set_parallel(qemu.get_cpu_of[number], true);
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

/* The time of the slowest CPU that runs, but for one; NEVER without any. */
static uint64_t slowest_but(const struct cpu *but)
{
	uint64_t least = NEVER;

	for (unsigned int n = 0; n < machine.cpus; n++) {
		const struct cpu *cpu = &machine.cpu[n];

		if (cpu != but && cpu->state == RUNS && now_of(cpu) < least)
			least = now_of(cpu);
	}
	return least;
}

struct CPUState *first_cpu(void)
{
	return qemu.get_cpu_of[0];
}

bool is_of_some_cpu(uintptr_t state)
{
	for (unsigned int n = 0; n < machine.cpus; n++)
		if ((uintptr_t)qemu.get_cpu_of[n] == state)
			return true;
	return false;
}

static void find_slowest(void)
{
	slowest.at = NEVER;
	for (unsigned int n = 0; n < machine.cpus; n++) {
		const struct cpu *cpu = &machine.cpu[n];

		if (cpu->state == RUNS && now_of(cpu) < slowest.at) {
			slowest.at = now_of(cpu);
			slowest.cpu = (int)n;
		}
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

static void advance_clock(uint64_t to)
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

void stop_spinning(struct cpu *cpu, uint64_t at)
{
	const uint64_t now = now_of(cpu);
	uint64_t waited = 0;

	if (at > now && cpu->iteration)
		waited = (at - now + cpu->iteration - 1) / cpu->iteration * cpu->iteration;
	cpu->base += waited;
	cpu->at += waited;
	cpu->spent.pause += waited;
	cpu->spent.busy += waited;
	cpu->state = RUNS;
	cpu->strict = true;
	slowest.known = false;
	cpu->reads = 0;
	cpu->pause_pc = 0;
	machine.spinning &= ~(1ull << (cpu - machine.cpu));
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
	slowest.known = false;
}

/* Nobody runs, and somebody spins: what ends that is a timer. */
static void only_spinning(void)
{
	const uint64_t deadline = atomic_load(&deadline_ps);

	if (deadline != NEVER && deadline > atomic_load(&clock_ps)) {
		advance_clock(deadline);
		let_main_loop_run();
		return;
	}
	for (unsigned int n = 0; n < machine.cpus; n++)
		if (machine.cpu[n].state == SPINS)
			stop_spinning(&machine.cpu[n], atomic_load(&clock_ps));
}

/* A CPU that QEMU never offers a turn (it was stopped without a HLT) must not hold the others. */
static void give_up_the_lost(void)
{
	find_slowest();
	if (slowest.at != NEVER)
		machine.cpu[slowest.cpu].state = HALTED;
	broken_waits++;
	refused = 0;
}

static void stop_current(void)
{
	struct cpu *cpu = &machine.cpu[machine.current];
	const uint64_t now = now_of(cpu);

	cpu->spent.busy += now - cpu->at;
	cpu->at = now;
	*cpu->used = BUDGET_END;
	cpu->base = now - BUDGET_END;
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
	slowest.known = false;
	cpu->pause_pc = 0;
	others = slowest_but(NULL);
	advance_clock(others == NEVER ? now_of(cpu) : others);
}

/* Whether the loop has now read the same lines twice between its pauses, and written none. */
static bool repeats(struct cpu *cpu, uint64_t pc)
{
	bool same = pc && cpu->pause_pc == pc && !cpu->wrote && cpu->reads && cpu->reads <= RING &&
		    cpu->reads == cpu->spins_reads;

	for (unsigned int k = 0; same && k < cpu->reads; k++)
		same = cpu->ring[k] == cpu->spins_on[k];
	return same && holds_all(cpu, cpu->ring, cpu->reads); /* or it was taken since it was read */
}

/* PAUSE: a loop that waits for a line to change is not executed until one of its lines is taken. */
void pause_loop(unsigned int number, void *unused)
{
	struct cpu *cpu = &machine.cpu[number];
	const uint64_t now = now_of(cpu);

	(void)unused;
	if (!machine.priced) {
		add_time(cpu, WAITING_STEP);
		return;
	}
	cpu->spent.pause += machine.price.pause;
	cpu->spent.pauses++;
	if (repeats(cpu, cpu->visit_pc)) {
		cpu->iteration = now - cpu->pause_at;
		cpu->state = SPINS;
		machine.spinning |= 1ull << number;
		stop_current();
	} else {
		for (unsigned int k = 0; k < cpu->reads && k < RING; k++)
			cpu->spins_on[k] = cpu->ring[k];
		cpu->spins_reads = cpu->reads;
		cpu->pause_pc = cpu->visit_pc;
		let_run_for(cpu, 0);
	}
	slowest.known = false;
	cpu->strict = true;
	cpu->pause_at = now;
	cpu->reads = 0;
	cpu->wrote = false;
}
