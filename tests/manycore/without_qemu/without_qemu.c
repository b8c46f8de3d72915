/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The prices and the order of CPUs of lib/manycore without QEMU under it: who calls decides what each CPU
 * does, and asks for its time. The clock's main loop is never behind, and a turn that is refused comes back.
 */
#include "machine.h"

#include <setjmp.h>
#include <string.h>

#define KERNEL 0xffff888000000000ull
#define DEVICE 0xffffffffff100000ull

struct qemu_internals qemu;
_Atomic uint64_t clock_ps, deadline_ps;
static uint64_t counters[MAX_CPUS];
static jmp_buf refused_turn;

bool main_loop_is_behind(void) { return false; }
void let_main_loop_run(void) {}
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t va)
{
	(void)info;
	(void)va;
	return NULL;
}
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *addr) { return !addr; }
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *addr) { return (uint64_t)addr; }

static void let_be(struct CPUState *cpu) { (void)cpu; }
static void leave_turn(struct CPUState *cpu, uintptr_t host_pc)
{
	(void)cpu;
	(void)host_pc;
	longjmp(refused_turn, 1);
}

/* All run at time 0 and hold nothing. */
void begin(unsigned int cpus, unsigned int per_socket, const uint64_t *prices, uint64_t quantum,
	   uint64_t slack, uint64_t live)
{
	static bool made;

	if (!made)
		make_lines();
	made = true;
	memset(&machine, 0, sizeof(machine));
	memcpy(&machine.price, prices, sizeof(machine.price));
	machine.quantum = quantum;
	machine.slack = slack;
	machine.live = live;
	machine.per_socket = per_socket;
	machine.cpus = cpus;
	machine.priced = true;
	machine.current = -1;
	qemu.cpu_exit = let_be;
	qemu.loop_exit = leave_turn;
	for (unsigned int n = 0; n < MAX_CPUS; n++) {
		machine.cpu[n].used = &counters[n];
		counters[n] = 0;
		machine.cpu[n].state = n < cpus ? RUNS : OFF;
		note_time(&machine.cpu[n]);
	}
	atomic_store(&clock_ps, 0);
	atomic_store(&deadline_ps, NEVER);
	atomic_store(&interrupts, 0);
	forget_lines();
	states_changed();
}

uint64_t now(unsigned int n) { return now_of(&machine.cpu[n]); }
uint64_t clock_now(void) { return atomic_load(&clock_ps); }
void timer_at(uint64_t ps) { atomic_store(&deadline_ps, ps); }
int state_of(unsigned int n) { return machine.cpu[n].state; }
int is_strict(unsigned int n) { return machine.cpu[n].strict; }
void without_prices(void) { machine.priced = false; }
void next_section(void) { machine.priced = true; forget_lines(); }

void pass(unsigned int n, uint64_t ps)
{
	add_time(&machine.cpu[n], ps);
	note_time(&machine.cpu[n]);
}

/* What an access to a line costs the CPU. */
uint64_t access_of(unsigned int n, uint64_t line, int writes, int atomic)
{
	const uint64_t before = now(n);

	(writes ? write_kernel : read_kernel)(n, 0, KERNEL + (line << 6), ACCESS(line, atomic));
	note_time(&machine.cpu[n]);
	return now(n) - before;
}

uint64_t device_of(unsigned int n)
{
	const uint64_t before = now(n);

	write_kernel(n, 0, DEVICE, ACCESS(0, 0));
	return now(n) - before;
}

uint64_t spent_of(unsigned int n, unsigned int which)
{
	const struct spent *spent = &machine.cpu[n].spent;
	const uint64_t parts[] = { spent->queue, spent->transfer, spent->atomic, spent->near, spent->far,
				   spent->idle,  spent->yields,   spent->pause };

	return parts[which];
}

/* A turn whose first block costs `price`: how far the CPU may run; 0 where it is refused. */
uint64_t turn(unsigned int n, uint64_t pc, uint64_t price)
{
	static struct block block;

	block = (struct block){ .pc = pc, .price = price };
	machine.cpu[n].base += price; /* translated code has added it */
	if (setjmp(refused_turn))
		return 0;
	take_turn(n, &block);
	return BUDGET_END - *machine.cpu[n].used;
}

void pause_of(unsigned int n) { pause_loop(n, NULL); }
void halt_of(unsigned int n) { machine.current = (int)n; halt(n, NULL); }
uint64_t broken(void) { return broken_waits; }
