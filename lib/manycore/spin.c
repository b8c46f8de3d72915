/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops that wait for a cache line with PAUSE, as queued spin locks do: once such a loop repeats itself
 * it is not executed, until one of the lines that it reads is taken. It pays for the time. One that counts
 * its rounds in a register is taken for such a loop, and does not give up before an interrupt.
 */
#include "machine.h"

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
	note_time(cpu);
	cpu->strict = true;
	states_changed();
	cpu->reads = 0;
	cpu->pause_pc = 0;
	machine.spinning &= ~(1ull << (cpu - machine.cpu));
}

/* Nobody runs, and somebody spins: what ends that is a timer. */
void only_spinning(void)
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
	states_changed();
	cpu->strict = true;
	cpu->pause_at = now;
	cpu->reads = 0;
	cpu->wrote = false;
}
